"""How many students are trained at once, and what is passed to another process."""

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from limbeck.artifacts.chosen_rows import ChosenRows
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.artifacts.transfer_text import TransferText
from limbeck.artifacts.vocabulary_folder import VocabularyFolder
from limbeck.pipeline import several_students
from limbeck.pipeline.extra_text import ChosenText
from limbeck.pipeline.one_student import TrainingInputs
from limbeck.pipeline.several_students import how_many_at_once, how_many_together
from limbeck.pipeline.teachers import OpenedOnce, Teachers
from limbeck.recipe.distillation import Distillation
from limbeck.recipe.load import parse_recipe
from limbeck.training.tracks import Tracks

STAGES = [{"losses": [{"kind": "hidden_mse"}]}, {"losses": [{"kind": "soft_targets"}]}]


@pytest.mark.parametrize(
    ("asked", "gpus", "cores", "students", "expected"),
    [
        (None, 0, 16, 6, 1),
        (None, 1, 16, 6, 4),
        (None, 2, 16, 6, 6),
        (None, 1, 2, 6, 2),
        (None, 1, 16, 1, 1),
        (2, 0, 16, 6, 2),
        (8, 1, 2, 6, 6),
        (1, 1, 16, 6, 1),
    ],
)
def test_how_many_depends_on_recipe_gpus_and_cores(
    asked: int | None, gpus: int, cores: int, students: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(several_students, "available_cores", lambda: cores)

    assert how_many_at_once(Distillation(at_once=asked), students=students, rows=lambda: 10**6) == expected


@pytest.mark.parametrize(("asked", "expected"), [(None, 1), (3, 3)])
def test_few_rows_are_no_reason_to_start_processes_unless_somebody_asks(
    asked: int | None, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(several_students, "available_cores", lambda: 16)

    assert how_many_at_once(Distillation(at_once=asked), students=6, rows=lambda: 9_000) == expected


@pytest.mark.parametrize(
    ("call", "expected"), [("__main__:focal", 1), ("made_in_memory:focal", 1), ("torch.nn.functional:mse_loss", 4)]
)
def test_a_loss_that_no_other_process_could_find_stays_in_its_own(
    call: str, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "made_in_memory", ModuleType("made_in_memory"))
    losses: Any = [{"kind": "custom", "call": call}]
    section = Distillation(at_once=4, losses=losses)

    assert how_many_at_once(section, students=6, rows=lambda: 10**6) == expected


@pytest.mark.parametrize("has_extra", [True, False])
def test_another_process_finds_everything_where_it_is(has_extra: bool, tmp_path: Path) -> None:
    raw: dict[str, Any] = {
        "corpus": {"train": "train.csv"},
        "student": {"kind": "transformer"},
        "distillation": {"stages": STAGES, "seeds": [3, 4]},
    }
    parts = {"transfer": TransferText(tmp_path / "transfer")} if has_extra else {}
    member = TeacherFolder(tmp_path / "teachers" / "one")
    room = TrainingInputs(
        recipe=parse_recipe(raw, recipe="toy"),
        corpus=Corpus(tmp_path / "corpus"),
        chosen_text=ChosenText(parts, ChosenRows(tmp_path / "chosen") if has_extra else None),
        labels=TeacherLabels(tmp_path / "labels"),
        vocabulary=VocabularyFolder(tmp_path / "vocabulary"),
        teachers=Teachers(TeacherFolder(tmp_path / "teacher"), {"one": OpenedOnce(member)}),
        tracks=Tracks(["tensorboard"], "toys", tmp_path / "tracking"),
    )

    found = TrainingInputs.from_json(json.loads(json.dumps(room.as_json())))

    assert (found.recipe, found.corpus, found.chosen_text) == (room.recipe, room.corpus, room.chosen_text)
    assert (found.labels, found.vocabulary, found.tracks) == (room.labels, room.vocabulary, room.tracks)
    assert found.teachers.teacher == room.teachers.teacher
    assert {name: opened.folder for name, opened in found.teachers.members.items()} == {"one": member}


class Led:
    """A group of four that torchrun has started."""

    size = 4

    def run(self, function: str, job: Any) -> None:
        """Nothing is trained here."""


@pytest.mark.parametrize(
    ("asked", "is_led", "expected"), [(None, False, 1), (3, False, 3), (None, True, 4), (2, True, 4), (1, True, 1)]
)
def test_several_processes_for_one_student_are_asked_for_or_started_by_torchrun(
    asked: int | None, is_led: bool, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limbeck.training.processes.LEADERS", [Led()] if is_led else [])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(several_students, "available_cores", lambda: 16)
    section = Distillation(processes=asked)

    assert how_many_together(section) == expected
    at_once = how_many_at_once(section, students=6, rows=lambda: 10**6)
    assert at_once == (6 if expected == 1 else 1)  # then they are side by side on the GPUs of this machine


def test_a_loss_of_this_process_alone_is_not_shared_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "made_in_memory", ModuleType("made_in_memory"))
    losses: Any = [{"kind": "custom", "call": "made_in_memory:focal"}]

    assert how_many_together(Distillation(processes=4, losses=losses)) == 1
