"""What students may start from, and how long it stays in memory."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.pipeline import teachers
from limbeck.pipeline.one_student import TrainingInputs, _student_and_origins
from limbeck.pipeline.teachers import OpenedOnce, Teachers
from limbeck.recipe.load import parse_recipe

LAYERS = [{"kind": "hidden_mse"}, {"kind": "soft_targets"}]
LOGITS = [{"kind": "soft_targets"}]


class Encoder(TeacherFolder):
    """An encoder without files."""

    @property
    def is_encoder(self) -> bool:
        return True


@pytest.mark.parametrize(("losses", "openings"), [(LAYERS, 1), (LOGITS, 2)])
def test_a_teacher_that_is_started_from_stays_open_only_if_it_reads_along(
    losses: list[dict[str, Any]], openings: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[TeacherFolder] = []

    def open_teacher(folder: TeacherFolder, section: Any) -> Any:
        assert section is None
        opened.append(folder)
        return SimpleNamespace(model="weights")

    monkeypatch.setattr(teachers, "opened", open_teacher)
    raw = {
        "corpus": {"train": "train.csv"},
        "student": {"kind": "transformer"},
        "distillation": {"losses": losses},
    }
    folder = Encoder(tmp_path)
    staff = Teachers(folder, {"teacher": OpenedOnce(folder)})

    recipe, nothing = parse_recipe(raw, recipe="toy"), cast(Any, None)
    inputs = TrainingInputs(recipe, nothing, nothing, nothing, nothing, staff, nothing)

    _, origins = _student_and_origins(inputs, alone=False)
    assert origins.start_from is not None
    found = [origins.start_from() for _ in range(2)]

    assert found == ["weights", "weights"]
    assert len(opened) == openings
    assert (origins.teacher is not None) == (losses is LAYERS)
