"""Mistakes that the shapes of both models tell, before anything runs."""

from pathlib import Path
from typing import Any

import pytest

from limbeck.distillation.foreseen import refuse_the_impossible
from limbeck.errors import CustomLossUnusable, HeadsDiffer, LayerMapImpossible, LimbeckError, RelationHeadsImpossible
from limbeck.recipe.load import parse_recipe

TRANSFORMER = {"kind": "transformer", "layers": 1}


def recipe_of(teacher: Path, losses: list[dict[str, Any]], student: dict[str, Any] | None = None) -> Any:
    raw = {
        "corpus": {"train": "train.csv"},
        "teacher": {"checkpoint": str(teacher)},
        "student": student or TRANSFORMER,
        "distillation": {"losses": losses},
    }
    return parse_recipe(raw, recipe="toy")


@pytest.mark.parametrize(
    ("loss", "student", "error"),
    [
        ({"kind": "attention_mse"}, {**TRANSFORMER, "heads": 4}, HeadsDiffer),
        ({"kind": "hidden_mse", "layers": [[1, 3]]}, TRANSFORMER, LayerMapImpossible),
        ({"kind": "minilm_v2", "relation_heads": 5}, TRANSFORMER, RelationHeadsImpossible),
        ({"kind": "minilm_v2", "relation_heads": 4, "teacher_layer": 9}, TRANSFORMER, LayerMapImpossible),
        ({"kind": "custom", "call": "nowhere.at_all:loss"}, {"kind": "bag"}, CustomLossUnusable),
        ({"kind": "logit_mse"}, {**TRANSFORMER, "teacher_layers": [7]}, LimbeckError),
    ],
)
def test_what_cannot_be_is_refused(
    tiny_teacher_folder: Path, loss: dict[str, Any], student: dict[str, Any], error: type[LimbeckError]
) -> None:
    with pytest.raises(error):
        refuse_the_impossible(recipe_of(tiny_teacher_folder, [loss], student))


@pytest.mark.parametrize(
    "loss",
    [{"kind": "attention_mse"}, {"kind": "hidden_mse"}, {"kind": "minilm_v2", "relation_heads": 4}, {"kind": "spkd"}],
)
def test_what_can_be_passes(tiny_teacher_folder: Path, loss: dict[str, Any]) -> None:
    refuse_the_impossible(recipe_of(tiny_teacher_folder, [loss]))


def test_a_student_of_words_needs_no_look_at_the_teacher() -> None:
    refuse_the_impossible(recipe_of(Path("not/there"), [{"kind": "spkd"}, {"kind": "logit_mse"}], {"kind": "bag"}))
