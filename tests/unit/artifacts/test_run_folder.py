"""The run's folder: taken by one process, says what is reused and why not, and remembers how long things took."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.run_folder import Run, RunBusy, RunFolder, open_run
from limbeck.errors import PathUnusable
from limbeck.progress import SilentReporter

FACTS = {"name": "toy", "seeds": [0]}


class Notes(SilentReporter):
    """Remembers the lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str, *, style: str = "") -> None:
        del style
        self.lines.append(text)

    def stage(self, name: str, text: str, *, is_reused: bool = False) -> None:
        self.lines.append(f"{'✓' if is_reused else '▸'} {name}  {text}")


def make(folder: Path, key: Key) -> None:
    with written_atomically(folder, kind="corpus", key=key) as scratch:
        (scratch / "rows.txt").write_text(str(key.section), encoding="utf-8")


def step(run: RunFolder, name: str = "corpus", **section: Any) -> Path:
    return run.step(name, kind="corpus", key=Key(section=section, inputs={}), load=Path, make=make)


def stages_of(folder: Path) -> dict[str, dict[str, Any]]:
    stages: dict[str, dict[str, Any]] = json.loads((folder / "run.json").read_text(encoding="utf-8"))["stages"]
    return stages


def test_a_second_run_in_the_same_process_is_refused_too(tmp_path: Path) -> None:
    with (
        open_run(tmp_path / "run", reporter=SilentReporter(), facts=FACTS),
        pytest.raises(RunBusy),
        open_run(tmp_path / "run", reporter=SilentReporter(), facts=FACTS),
    ):
        pass
    with open_run(tmp_path / "run", reporter=SilentReporter(), facts=FACTS):
        pass  # it is free again


def test_on_windows_the_lock_is_that_of_a_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []

    def locking(_handle: int, mode: int, count: int) -> None:
        if held:
            raise PermissionError(13, "Permission denied")
        held.append(count + mode)

    monkeypatch.setattr("limbeck.artifacts.file_lock.sys.platform", "win32")
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(locking=locking, LK_NBLCK=2))

    with open_run(tmp_path / "run", reporter=SilentReporter(), facts=FACTS), pytest.raises(RunBusy):
        open_run(tmp_path / "run", reporter=SilentReporter(), facts=FACTS).__enter__()

    assert held == [3]


def test_a_second_process_is_refused_while_the_first_works(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from limbeck.artifacts.run_folder import open_run; from limbeck.progress import SilentReporter\n"
        "with open_run(Path(sys.argv[1]), reporter=SilentReporter(), facts={}): pass"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "run")]

    with open_run(tmp_path / "run", reporter=SilentReporter(), facts=FACTS):
        during = subprocess.run(command, capture_output=True, text=True, check=False)
    after = subprocess.run(command, capture_output=True, text=True, check=False)

    assert during.returncode == 1
    assert "RunBusy" in during.stderr
    assert after.returncode == 0, after.stderr


def test_the_folder_is_free_again_after_an_error(tmp_path: Path) -> None:
    def fail_inside() -> None:
        with open_run(tmp_path / "run", reporter=SilentReporter(), facts=FACTS):
            raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match="inside"):
        fail_inside()

    with open_run(tmp_path / "run", reporter=SilentReporter(), facts=FACTS) as run:
        assert run.stages == {}


def test_the_same_process_is_refused_a_second_time_too(tmp_path: Path) -> None:
    with (
        open_run(tmp_path / "run", reporter=SilentReporter(), facts=FACTS),
        pytest.raises(RunBusy, match="run"),
        open_run(tmp_path / "run", reporter=SilentReporter(), facts=FACTS),
    ):
        pass


def test_a_step_is_made_once_then_reused_then_made_again_with_the_reason(tmp_path: Path) -> None:
    notes = Notes()

    for max_rows in (5, 5, 6):
        with open_run(tmp_path / "run", reporter=notes, facts=FACTS) as run:
            assert step(run, max_rows=max_rows) == tmp_path / "run" / "corpus"

    assert "not made yet" in notes.lines[0]
    assert "reused" in notes.lines[1]
    assert "max_rows: 5 → 6" in notes.lines[2]
    assert [line.split("  ")[0] for line in notes.lines] == ["▸ corpus", "✓ corpus", "▸ corpus"]


def test_a_reason_is_shown_as_it_is_and_not_read_as_markup(tmp_path: Path) -> None:
    notes = Notes()

    for value in ("a", "[/red]"):
        with open_run(tmp_path / "run", reporter=notes, facts=FACTS) as run:
            step(run, quoting=value)

    assert '→ "[/red]"' in notes.lines[1]


def test_run_json_holds_the_facts_and_how_long_each_stage_took_also_when_it_is_reused(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", reporter=SilentReporter(), facts=FACTS) as run:
        step(run, "corpus")
        step(run, "teacher")
    first = stages_of(tmp_path / "run")
    first["corpus"]["seconds"] = 12.5  # as if it had been slow
    (tmp_path / "run" / "run.json").write_text(json.dumps({"stages": first}), encoding="utf-8")

    with open_run(tmp_path / "run", reporter=SilentReporter(), facts={**FACTS, "seeds": [0, 1]}) as run:
        step(run, "corpus")

    second = stages_of(tmp_path / "run")
    assert first["corpus"]["reused"] is False
    assert second["corpus"] == {"seconds": 12.5, "reused": True}
    assert second["teacher"] == first["teacher"]  # a run that ends earlier forgets nothing
    assert json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))["seeds"] == [0, 1]


@pytest.mark.parametrize("damaged", ["", "{", "[]", "null", '{"stages": []}', '{"stages": {"corpus": 3}}'])
def test_a_damaged_run_json_costs_the_timings_and_nothing_else(tmp_path: Path, damaged: str) -> None:
    with open_run(tmp_path / "run", reporter=SilentReporter(), facts=FACTS) as run:
        step(run)
    (tmp_path / "run" / "run.json").write_text(damaged, encoding="utf-8")

    with open_run(tmp_path / "run", reporter=SilentReporter(), facts=FACTS) as run:
        step(run)

    assert stages_of(tmp_path / "run")["corpus"]["reused"] is True


def test_what_an_earlier_recipe_shipped_does_not_pass_for_this_ones(tmp_path: Path) -> None:
    notes = Notes()
    with open_run(tmp_path / "run", reporter=notes, facts=FACTS) as run:
        for name in ("models/bilstm", "models/bilstm-int8", "exports/bilstm-int8"):
            step(run, name)
        (tmp_path / "run" / "models" / "notes of mine").mkdir()
        run.keep_only("models", ["bilstm"])

    assert "bilstm-int8" not in Run(tmp_path / "run").models
    assert sorted(path.name for path in (tmp_path / "run" / "models").iterdir()) == ["bilstm", "notes of mine"]
    assert (tmp_path / "run" / "exports" / "bilstm-int8").is_dir()
    assert "models/bilstm-int8" not in stages_of(tmp_path / "run")
    assert "models/bilstm-int8" in notes.lines[-1]


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()

    with (
        pytest.raises(PathUnusable, match=r"other files in it \(corpus\)"),
        open_run(tmp_path, reporter=Notes(), facts=FACTS),
    ):
        pytest.fail("it was accepted")

    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


def test_an_empty_folder_is_accepted(tmp_path: Path) -> None:
    with open_run(tmp_path, reporter=Notes(), facts=FACTS) as run:
        step(run)

    assert (tmp_path / "corpus").is_dir()
