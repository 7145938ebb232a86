"""Mistakes that the shapes of both models tell, before anything runs."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from limbeck.distillation.refuse_impossible import ClassesUnlearned, TeacherReadsApart, refuse_the_impossible
from limbeck.distillation.terms.custom import CustomLossUnusable
from limbeck.distillation.terms.layers import HeadsDiffer, LayerMapImpossible, RelationHeadsImpossible
from limbeck.errors import LimbeckError, TeacherTokensUnsupported
from limbeck.models.transformer_start import TeacherLayersMissing
from limbeck.recipe.load import parse_recipe
from limbeck.teacher.loading import load_encoder

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


@pytest.mark.parametrize(
    ("student", "reason"),
    [
        ({"start": "random"}, "random"),
        ({"width": 16}, "the width of"),
        ({"family": "distilbert"}, "different classifiers"),
    ],
)
def test_a_classifier_that_would_stay_random_is_refused(
    tiny_teacher_folder: Path, student: dict[str, Any], reason: str
) -> None:
    layers, classes = {"kind": "hidden_mse"}, {"kind": "soft_targets"}

    with pytest.raises(ClassesUnlearned, match=reason):
        refuse_the_impossible(recipe_of(tiny_teacher_folder, [layers], {**TRANSFORMER, **student}))
    refuse_the_impossible(recipe_of(tiny_teacher_folder, [layers, classes], {**TRANSFORMER, **student}))


def test_the_first_encoder_of_an_ensemble_is_looked_at(tiny_teacher_folder: Path) -> None:
    recipe = recipe_of(tiny_teacher_folder, [{"kind": "logit_mse"}], {**TRANSFORMER, "teacher_layers": [7]})
    members = {"members": [recipe.teacher, recipe.teacher.model_copy(update={"seed": 1})]}
    raw = {**recipe.model_dump(exclude={"teacher"}, exclude_none=True), "teacher": {"kind": "ensemble", **members}}

    with pytest.raises(TeacherLayersMissing):
        refuse_the_impossible(type(recipe).model_validate(raw))


def test_tokens_that_cannot_be_reused_are_refused_before_the_teacher_is_trained(
    tiny_teacher_folder: Path, tmp_path: Path
) -> None:
    teacher = Path(shutil.copytree(tiny_teacher_folder, tmp_path / "teacher"))
    state = json.loads((teacher / "tokenizer.json").read_text(encoding="utf-8"))
    state["post_processor"] = {  # as XLNet's: nothing before a text
        "type": "TemplateProcessing",
        "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]}},
    }
    (teacher / "tokenizer.json").write_text(json.dumps(state), encoding="utf-8")

    with pytest.raises(TeacherTokensUnsupported, match="before a text"):
        refuse_the_impossible(recipe_of(teacher, [{"kind": "logit_mse"}]))
    pieces = {**TRANSFORMER, "vocabulary": {"kind": "pieces"}}
    refuse_the_impossible(recipe_of(teacher, [{"kind": "logit_mse"}], pieces))


@pytest.mark.parametrize("family", ["teacher", "bert"])
def test_a_student_cannot_start_from_layers_of_a_checkpoint_that_reads_texts_separately(
    tiny_teacher_folder: Path, tmp_path: Path, family: str
) -> None:
    load_encoder(tiny_teacher_folder, max_length=16, arithmetic="fp32", labels=["a", "b"], apart=True).save(tmp_path)

    with pytest.raises(TeacherReadsApart, match=r'student\.kind = "bilstm"'):
        refuse_the_impossible(recipe_of(tmp_path, [{"kind": "logit_mse"}], {**TRANSFORMER, "family": family}))


def test_a_student_of_words_needs_no_look_at_the_teacher() -> None:
    refuse_the_impossible(recipe_of(Path("not/there"), [{"kind": "spkd"}, {"kind": "logit_mse"}], {"kind": "bag"}))
