"""Exported models to time, made once per session, and a worker that takes no time at all."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.export import export_student
from limbeck.progress import SilentReporter
from limbeck.recipe.export import Export

ToyRows = tuple[tuple[str, str], ...]

FAKE_WORKER = """
import sys
from limbeck.timing.worker import Opened, serve

def opened(request):
    def predict(rows):
        with open(sys.argv[1], "a") as log:
            log.write(f"{request['folder']} {len(rows)} {request['threads']} {rows[0]}\\n")
        return ["yes"] * len(rows)
    return Opened(predict, engine="fake")

serve(sys.stdin, sys.stdout, opened=opened)
"""


class Notes(SilentReporter):
    """Keeps what is noted."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str, *, style: str = "") -> None:
        del style
        self.lines.append(text)


@pytest.fixture
def notes() -> Notes:
    """A reporter whose `lines` are what was noted."""
    return Notes()


@pytest.fixture
def fake_worker(tmp_path: Path) -> tuple[list[str], Callable[[], list[list[str]]]]:
    """The command of a worker whose models only write down how they were called; and what they wrote, in words:
    folder, rows, threads, first text."""
    script, log = tmp_path / "fake_worker.py", tmp_path / "calls"
    script.write_text(FAKE_WORKER, encoding="utf-8")

    def calls() -> list[list[str]]:
        return [line.split(" ", 3) for line in log.read_text(encoding="utf-8").splitlines()]

    return [sys.executable, str(script), str(log)], calls


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory, make_student: Any, toy_rows: ToyRows) -> Path:
    """An exported model of single texts. Shared: read it, don't write to it."""
    return _exported(tmp_path_factory.mktemp("single") / "small", make_student, toy_rows, pair=False)


@pytest.fixture(scope="session")
def pair_model(tmp_path_factory: pytest.TempPathFactory, make_student: Any, toy_rows: ToyRows) -> Path:
    """An exported model of pairs of texts. Shared: read it, don't write to it."""
    return _exported(tmp_path_factory.mktemp("pair") / "of-pairs", make_student, toy_rows, pair=True)


def _exported(folder: Path, make_student: Any, toy_rows: ToyRows, *, pair: bool) -> Path:
    texts = [text for text, _ in toy_rows[:20]]
    return export_student(
        Export(),
        student=make_student(folder.parent / "student", pair=pair),
        rows=Rows.of(ids=texts, texts=texts, pairs=texts[::-1] if pair else None),
        precision="fp32",
        out=folder,
        key=Key(section={}, inputs={}),
        reporter=SilentReporter(),
    ).folder
