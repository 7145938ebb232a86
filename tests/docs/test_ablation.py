"""The ablation's settings: each can be asked for by name, and several are measured side by side without losing any."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Forked when the imports are done: those take seconds, and the writers are to write at the same time.
MERGE = """
import json, os, sys
from pathlib import Path
from benchmarks.table_runs import merge_line

def write(name):
    for number in range(20):
        merge_line(Path(sys.argv[1]), "ablation", f"{name}:{number}", {"command": name})
    os._exit(0)

writers = [os.fork() or write(name) for name in "abc"]
print(json.dumps([os.waitpid(writer, 0)[1] for writer in writers]))
"""
MOST_AT_ONCE = """
import os, sys
from pathlib import Path
here = Path(sys.argv[1])
(here / f"{os.getpid()}.running").touch()
print(len(list(here.glob("*.running"))))
(here / f"{os.getpid()}.running").unlink()
sys.exit(int(sys.argv[2]))
"""


@pytest.fixture(autouse=True)
def _processes_find_them_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def module(name: str) -> ModuleType:
    """A script of benchmarks/, which is no part of the package."""
    return import_module(f"benchmarks.{name}")


def asked(*words: str) -> Any:
    return module("ablation").options().parse_args(list(words))


def lines(*words: str) -> list[Any]:
    return list(module("ablation").lines_of(asked(*words)))


def test_every_setting_can_be_asked_for_by_itself() -> None:
    everything = lines()

    for line in everything:
        assert lines("--only", line.plain_name) == [line]
    assert [line.name for line in lines("--only", "rows:10000,averaging")][:2] == ["rows:10,000", "averaging:none"]


def test_a_process_of_its_own_measures_the_setting_that_is_meant() -> None:
    words = ["--seeds", "2", "--rows", "50", "--set", "student.hidden_size=300", "--runs", "r", "--results", "n.json"]
    for line in lines(*words):
        program, script, *rest = module("ablation").again(asked(*words), [line])

        assert (program, Path(script).name) == (sys.executable, "ablation.py")
        assert lines(*rest) == [line]
        assert asked(*rest).results == Path("n.json")
        assert asked(*rest).side_by_side == 1


def test_processes_that_write_down_numbers_at_the_same_time_lose_none(tmp_path: Path) -> None:
    results = tmp_path / "numbers" / "ablation.json"

    command = [sys.executable, "-c", MERGE, str(results)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)

    assert json.loads(done.stdout) == [0, 0, 0]
    found = json.loads(results.read_text(encoding="utf-8"))["lines"]
    assert set(found) == {f"{name}:{number}" for name in "abc" for number in range(20)}
    assert [path.name for path in results.parent.iterdir()] == ["ablation.json"]


def test_no_more_run_at_once_than_are_asked_for_and_failures_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    commands = {
        f"set:{number}": [sys.executable, "-c", MOST_AT_ONCE, str(here), str(int(number == 2))] for number in range(5)
    }

    failed = module("side_by_side").run_side_by_side(commands, most=2, logs=tmp_path / "logs")

    assert failed == ["set:2"]
    logs = sorted((tmp_path / "logs").iterdir())
    assert [log.name for log in logs] == [f"set-{number}.log" for number in range(5)]
    assert all(int(log.read_text(encoding="utf-8")) <= 2 for log in logs)
    assert "set:2  failed with status 1" in capsys.readouterr().err


def test_a_setting_that_stands_for_several_is_run_once_and_one_that_fails_has_no_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ablation, results = module("ablation"), tmp_path / "ablation.json"
    began: list[list[str]] = []

    def pretend(commands: dict[str, list[str]], *, most: int, logs: Path) -> list[str]:
        assert (most, logs) == (4, tmp_path / "runs")
        *measured, last = commands
        for name in measured:
            module("table_runs").merge_line(results, "ablation", name, {"command": name})
        began.append(list(commands))
        return [last]

    monkeypatch.setattr(ablation, "run_side_by_side", pretend)
    monkeypatch.setattr(subprocess, "run", lambda words, **_: began.append(words))
    words = ["--only", "averaging,copies", "--results", str(results), "--runs", str(tmp_path / "runs")]
    options = asked(*words, "--side-by-side", "4")

    with pytest.raises(SystemExit, match="failed: copies:2"):
        ablation.measure_side_by_side(options, lines(*words), known={})

    prepared, run = began
    assert prepared[-2:] == ["--until", "labeling"]
    assert run == ["averaging:none", "averaging:0.99", "averaging:0.997", "averaging:0.999", "copies:1", "copies:2"]
    found = json.loads(results.read_text(encoding="utf-8"))["lines"]
    assert set(found) == {*run, "copies:0"} - {"copies:2"}
    assert found["copies:0"] == {"command": "averaging:none"}  # both are the recipe as it is


@pytest.mark.parametrize(
    ("accuracies", "said"),
    [
        ((91.0, 90.3, 88.0), "Best, and less than a point apart: a, b; behind: c −3.0."),
        ((91.0, 89.9, 88.0), "Best: a; behind: b −1.1, c −3.0."),
        ((91.0, 90.8, 90.5), "Best, and less than a point apart: a, b, c."),
    ],
)
def test_what_lies_within_the_noise_is_not_called_worse(accuracies: tuple[float, ...], said: str) -> None:
    page, lines = import_module("benchmarks.ablation_page"), import_module("benchmarks.ablation_lines")
    measured_as = import_module("benchmarks.results_pictures").Measured
    named = next(one for one in lines.ABLATIONS if not one.is_number)
    measured = [measured_as(name, 0, accuracy, 0.3) for name, accuracy in zip("abc", accuracies, strict=True)]

    assert page.lesson(named, measured) == said
