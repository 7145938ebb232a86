"""Students that are to be teachers, with whatever facts a test needs, and rows of the classes that they know."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LABELS = ("negative", "neutral", "positive")


@pytest.fixture
def student_with(make_student: Callable[..., Any]) -> Callable[..., Path]:
    """student_with(folder, pair=False, multi_label=False, **facts): a student's folder that says this of itself.

    Another order of `labels` is another order of its logits.
    """

    def make(folder: Path, *, pair: bool = False, multi_label: bool = False, **facts: Any) -> Path:
        from limbeck.artifacts.manifest import Key, write_manifest

        make_student(folder, pair=pair, multi_label=multi_label)
        said = json.loads((folder / "student.json").read_text(encoding="utf-8"))
        (folder / "student.json").write_text(json.dumps({**said, **facts}), encoding="utf-8")
        write_manifest(folder, kind="student", key=Key(section={}, inputs={}))
        return folder

    return make


@pytest.fixture
def rows_of_three(toy_rows: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    """Toy texts, each with one of the three classes that the students know, at random."""
    dice = random.Random(5)
    return [(text, dice.choice(LABELS)) for text, _ in toy_rows]
