"""Who only wants --help or a prediction does not wait for torch: what a fresh process loads."""

import subprocess
import sys

import pytest

HEAVY = ("torch", "transformers", "pyarrow", "onnx", "scipy", "sklearn", "datasets", "matplotlib")
RUNTIME = ("numpy", "onnxruntime", "tokenizers", "pydantic")  # of the base install, each some 20 to 60 ms to load
HELP = "import sys; sys.argv = ['limbeck', '--help']; from limbeck.cli import main; main()"
MOST_MODULES = 60  # of the standard library and of Limbeck: 34 when this was written


def heavy_modules_after(code: str, names: tuple[str, ...] = HEAVY) -> str:
    """The heavy packages that a fresh interpreter has loaded once it ran the code."""
    return last_line_after(code, f"print('loaded:', [name for name in {names!r} if name in sys.modules])")


def last_line_after(code: str, report: str) -> str:
    """What a fresh interpreter reports last once it ran the code."""
    report = f"import sys\n{report}"
    script = f"try:\n    exec({code!r})\nexcept SystemExit as stop:\n    assert not stop.code, stop.code\n{report}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_heavy_modules_are_noticed() -> None:
    assert heavy_modules_after("import pyarrow") == "loaded: ['pyarrow']"


def test_importing_limbeck_loads_nothing_heavy() -> None:
    assert heavy_modules_after("import limbeck") == "loaded: []"


def test_importing_limbeck_loads_no_other_package_and_few_modules() -> None:
    code = "import sys; before = set(sys.modules); import limbeck; added = set(sys.modules) - before"
    roots = "{name.partition('.')[0] for name in added} - set(sys.stdlib_module_names)"

    assert last_line_after(code, f"print({roots})") == "{'limbeck'}"
    assert int(last_line_after(code, "print(len(added))")) <= MOST_MODULES


def test_help_loads_nothing_heavy() -> None:
    assert heavy_modules_after(HELP) == "loaded: []"


def test_help_loads_nothing_that_only_models_and_recipes_need() -> None:
    assert heavy_modules_after(HELP, RUNTIME) == "loaded: []"


def test_reading_rows_loads_no_recipe() -> None:
    code = "import limbeck.runtime.stream, limbeck.tables"

    assert heavy_modules_after(code, ("pydantic", "onnxruntime", "typer", "rich")) == "loaded: []"


def test_loading_the_classifier_does_not_load_what_only_one_engine_or_a_recipe_needs() -> None:
    rest = ("onnxruntime", "pydantic", "typer", "rich")

    assert heavy_modules_after("import limbeck; limbeck.load", rest) == "loaded: []"


@pytest.mark.parametrize(
    "module",
    [
        *("recipe.load", "artifacts.model_folder", "artifacts.atomic_folder", "runtime.classifier", "runtime.stream"),
        *("judging.evaluate", "serving.run", "timing.bench", "text", "tables"),
    ],
)
def test_light_rooms_load_nothing_heavy(module: str) -> None:
    assert heavy_modules_after(f"import limbeck.{module}") == "loaded: []"
