"""The door table of the house: which room may import which, and which rooms work without the heavy packages."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import limbeck

SRC = Path(str(limbeck.__file__)).parent
MODULES = sorted(SRC.rglob("*.py"))

STAGES = {
    "corpus",
    "transfer",
    "augmentation",
    "pretraining",
    "general",
    "teacher",
    "labeling",
    "distillation",
    "export",
    "judging",
}
OPEN_TO_ALL = {"cores", "errors", "kinds", "progress", "tasks", "telemetry"}
SHARED = {"recipe", "artifacts", "text", "tables", "models", "training", "runtime"}
MAY_IMPORT: dict[str, set[str]] = {
    **{room: set() for room in OPEN_TO_ALL},
    "recipe": {"tables"},
    "text": set(),
    "artifacts": {"text"},
    "runtime": {"artifacts", "text", "tables"},
    "models": {"recipe", "text"},
    "tables": {"recipe"},
    "training": {"recipe"},
    **{stage: SHARED for stage in STAGES},
    "timing": {*SHARED, "judging"},
    "report": {"recipe", "artifacts", "text"},
    "drafting": {"recipe", "artifacts", "text", "tables", "corpus"},
    "serving": {"recipe", "artifacts", "text", "runtime"},
    "pipeline": {"recipe", "artifacts", "text", "training", "timing", "report", "drafting", *STAGES},
    "doctor": {"recipe", "artifacts", "text", "training", "pipeline", *STAGES},
    "search": {"recipe", "artifacts", "pipeline", "runtime", "timing", "report"},
    "review": {
        *("recipe", "artifacts", "models", "training", "runtime"),
        *("corpus", "transfer", "teacher", "pipeline", "report"),
    },
    "annotation": {
        *("recipe", "artifacts", "models", "tables"),
        *("drafting", "teacher", "labeling", "pipeline"),
    },
    "demo": {"recipe", "artifacts", "pipeline", "runtime", "report"},
    "estimator": {"recipe", "artifacts", "runtime", "drafting", "pipeline"},
    "publishing": {"artifacts", "runtime"},
    "mlflow": {"artifacts", "runtime"},
    "sbom": {"artifacts"},
    "packaging": {"artifacts", "text", "runtime"},
    "cluster": {"recipe", "artifacts", "tables", "runtime", "labeling"},
    "cli": {
        *("recipe", "artifacts", "pipeline", "doctor", "drafting", "report", "serving", "timing", "runtime", "demo"),
        *("search", "review", "teacher", "augmentation", "judging", "sbom", "publishing", "packaging", "annotation"),
        *("cluster", "training"),
    },
}
ONLY_THESE = {  # doors that lead to one file of the room
    ("cli", "augmentation"): "limbeck.augmentation.show",
    ("cli", "judging"): "limbeck.judging.evaluate",
    ("cli", "teacher"): "limbeck.teacher.import_tf",
    ("cli", "training"): "limbeck.training.torchrun",  # for processes that do nothing but train
    ("cluster", "labeling"): "limbeck.labeling.source",
    ("cluster", "recipe"): "limbeck.recipe.calls",
    ("models", "text"): "limbeck.text.tokenizer_limits",  # a checkpoint's tokenizer may be anybody's
    ("recipe", "tables"): "limbeck.tables.formats",  # the names of formats, which a recipe may ask for
    ("tables", "recipe"): "limbeck.recipe.files",  # whether the hub may be asked
}

TORCH = {"torch", "transformers", "accelerate"}
TORCH_FREE = {
    *(*OPEN_TO_ALL, "recipe", "artifacts", "text", "tables", "runtime", "serving", "corpus", "transfer"),
    *("drafting", "report", "sbom", "cli", "publishing", "mlflow", "packaging", "cluster"),
}
# What the base install does not bring may be imported there only inside the function that needs it.
EXTRAS = {
    *("datasets", "jieba", "jinja2", "matplotlib", "onnx", "pyarrow", "safetensors", "scipy", "sklearn"),
    *("optuna", "ray", "tensorboard", "tensorflow"),
    *("anyio", "httptools", "prometheus_client", "starlette", "uvicorn"),
}
BASE_INSTALL = {*OPEN_TO_ALL, "recipe", "text", "tables", "runtime", "sbom", "publishing", "cli", "packaging"}
BASE_INSTALL_FILES = {
    *("artifacts/manifest.py", "artifacts/model_folder.py", "artifacts/model_json.py", "artifacts/model_profile.py"),
    "artifacts/atomic_folder.py",
    *("judging/calibration.py", "judging/evaluate.py", "judging/labelled_file.py", "judging/metrics.py"),
    *("judging/significance.py", "judging/slices.py"),
    *("artifacts/dev_sketch.py", "artifacts/model_profile.py"),
}


def imports(tree: ast.AST, *, inside_functions: bool = True) -> Iterator[tuple[int, str]]:
    """Line and full dotted name of everything that is imported; `from a import b` is a.b."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports are absolute"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
        elif inside_functions or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from imports(node, inside_functions=inside_functions)


def room_of(place: str) -> str:
    """The first step of a path inside the package: a folder, or a file that is a room of its own."""
    return place.partition("/")[0].removesuffix(".py")


def closed_doors(place: str, source: str) -> list[str]:
    """Every import in a file that the door table does not allow."""
    room = room_of(place)
    found = []
    for line, name in imports(ast.parse(source)):
        package, _, inner = name.partition(".")
        target = inner.partition(".")[0]
        if package != "limbeck" or target in {room, "__version__", *OPEN_TO_ALL}:
            continue
        only = ONLY_THESE.get((room, target))
        if target not in MAY_IMPORT[room] or (only and not f"{name}.".startswith(f"{only}.")):
            wall = f"anything of {target} but {only}" if only else target
            found.append(f"{place}:{line} imports {name}; {room} may not import {wall}")
    return found


def heavy_imports(place: str, source: str) -> list[str]:
    """Every import in a file of the light half of the house that only the heavy half can carry out."""
    room = room_of(place)
    tree = ast.parse(source)
    found = []
    if room in TORCH_FREE:
        found += [(line, name) for line, name in imports(tree) if name.partition(".")[0] in TORCH]
    if room in BASE_INSTALL or place in BASE_INSTALL_FILES:
        at_import = imports(tree, inside_functions=False)
        found += [(line, name) for line, name in at_import if name.partition(".")[0] in EXTRAS]
    return [f"{place}:{line} imports {name}; {room} must work without it" for line, name in found]


def sources() -> list[tuple[str, str]]:
    """(path inside the package, source) of every module; the package's own front door is tested by what it loads."""
    places = [(path.relative_to(SRC).as_posix(), path) for path in MODULES]
    return [(place, path.read_text(encoding="utf-8")) for place, path in places if "/" in place or path.stem[0] != "_"]


def test_every_module_is_in_a_room_of_the_plan() -> None:
    assert [place for place, _ in sources() if room_of(place) not in MAY_IMPORT] == []


def test_imports_go_through_the_doors_of_the_plan() -> None:
    assert [line for place, source in sources() for line in closed_doors(place, source)] == []


def test_light_rooms_import_nothing_heavy() -> None:
    assert [line for place, source in sources() for line in heavy_imports(place, source)] == []


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("teacher/run.py", "from limbeck.labeling.run import label"),
        ("teacher/run.py", "import limbeck.labeling"),
        ("teacher/run.py", "from limbeck import pipeline"),
        ("text/vocabulary.py", "def late():\n    from limbeck.recipe.student import BiLstm"),
        ("cli.py", "from limbeck.judging.metrics import accuracy"),
        ("cli.py", "from limbeck.evaluation import run"),
        ("cli.py", "from limbeck.teacher.run import prepare_teacher"),
    ],
)
def test_a_forbidden_door_is_noticed(place: str, source: str) -> None:
    assert len(closed_doors(place, source)) == 1


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("teacher/run.py", "from limbeck.errors import DataError\nfrom limbeck.teacher.encoder import fine_tune"),
        ("cli.py", "from limbeck.report.tables import table\nfrom limbeck.report import tables"),
        ("runtime/load.py", "from limbeck.artifacts.model_folder import open_model\nimport numpy"),
    ],
)
def test_an_open_door_is_open(place: str, source: str) -> None:
    assert closed_doors(place, source) == []
    assert heavy_imports(place, source) == []


@pytest.mark.parametrize(
    ("place", "source", "count"),
    [
        ("serving/run.py", "def late():\n    import torch.nn", 1),
        ("corpus/run.py", "from transformers import AutoTokenizer", 1),
        ("cli.py", "try:\n    import pyarrow.csv\nexcept ImportError:\n    pass", 1),
        ("cli.py", "import uvicorn", 1),
        ("artifacts/atomic_folder.py", "import pyarrow", 1),
        ("artifacts/rows.py", "import pyarrow", 0),
        ("text/segmenters.py", "def late():\n    import jieba", 0),
        ("distillation/run.py", "import torch", 0),
    ],
)
def test_a_heavy_import_is_noticed_where_it_must_not_be(place: str, source: str, count: int) -> None:
    assert len(heavy_imports(place, source)) == count
