"""Sections are typed, frozen and documented, and their defaults belong to nobody else."""

from contextlib import nullcontext
from typing import Any, get_args

import pytest
from pydantic import BaseModel, ValidationError

from limbeck.recipe.base import Section
from limbeck.recipe.corpus import CorpusSection
from limbeck.recipe.distillation import Distillation
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.student import BiLstm, Transformer
from limbeck.recipe.student_vocabulary import NgramVocabulary
from limbeck.recipe.teacher import EncoderTeacher


def sections_in(annotation: Any) -> set[type[BaseModel]]:
    """Every section that an annotation can hold, at any depth."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        inner = [sections_in(field.annotation) for field in annotation.model_fields.values()]
        return {annotation}.union(*inner)
    return set().union(*(sections_in(part) for part in get_args(annotation)))


SECTIONS = sorted(sections_in(Recipe), key=lambda section: section.__name__)


def test_all_sections_are_looked_at() -> None:
    assert len(SECTIONS) >= 12


def test_every_section_and_every_key_is_documented() -> None:
    silent = [
        f"{section.__name__}.{name}"
        for section in SECTIONS
        for name, field in section.model_fields.items()
        if not field.description
    ]

    assert silent == []
    assert [section.__name__ for section in SECTIONS if not section.__doc__] == []
    assert [section.__name__ for section in SECTIONS if not issubclass(section, Section)] == []


def test_a_section_cannot_be_changed() -> None:
    section = BiLstm()

    with pytest.raises(ValidationError, match="frozen"):
        section.hidden_size = 300  # type: ignore[misc]  # the very thing that must not be possible


def test_a_mutable_default_is_not_shared() -> None:
    first, second = CorpusSection(train="a"), CorpusSection(train="b")

    first.label_names["0"] = "negative"

    assert second.label_names == {}
    assert Distillation().seeds is not Distillation().seeds


def test_a_seed_is_no_negative_number() -> None:
    """numpy refuses one, after the teacher has been loaded."""
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        Distillation(seeds=[0, -1])
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        EncoderTeacher(seed=-1)


def test_a_rank_and_a_second_channel_do_not_go_together() -> None:
    with pytest.raises(ValidationError, match="choose one"):
        BiLstm(vector_rank=64, static_channel=True)


def test_a_limit_of_size_needs_a_transformer_whose_tokens_can_be_left_out() -> None:
    pieces = {"kind": "pieces"}

    assert Transformer.model_validate({"kind": "transformer", "max_size_mb": 4, "vocabulary": pieces}).max_size_mb == 4
    with pytest.raises(ValidationError, match="pieces"):
        Transformer.model_validate({"kind": "transformer", "max_size_mb": 4})


@pytest.mark.parametrize(
    ("kind", "pair", "is_refused"), [("bag", "other", True), ("bag", None, False), ("bilstm", "other", False)]
)
def test_a_bag_of_pairs_has_no_rank(kind: str, pair: str | None, is_refused: bool) -> None:
    raw = {"corpus": {"train": "a", "pair": pair}, "student": {"kind": kind, "vector_rank": 64}}

    if is_refused:
        with pytest.raises(ValidationError, match="vector_rank"):
            Recipe.model_validate(raw)
    else:
        assert Recipe.model_validate(raw).student.kind == kind


@pytest.mark.parametrize(
    ("teacher", "length"),
    [
        ({"max_length": 384}, 384),
        ({"max_length": 384, "seeds": [0, 1]}, 384),
        ({"kind": "ensemble", "members": [{"max_length": 64}, {"max_length": 256, "seed": 1}, {}]}, 256),
        ({}, 128),
        ({"kind": "ensemble", "members": [{}, {"seed": 1}]}, 128),
    ],
)
def test_a_transformer_reads_as_far_as_its_teacher(teacher: dict[str, Any], length: int) -> None:
    tables = {"corpus": {"train": "rows.csv"}, "teacher": teacher, "student": {"kind": "transformer"}}

    assert Recipe.model_validate(tables).student.max_length == length


def test_a_length_that_is_given_is_kept_and_a_word_student_has_its_own() -> None:
    tables = {"corpus": {"train": "rows.csv"}, "teacher": {"max_length": 384}}

    said = Recipe.model_validate({**tables, "student": {"kind": "transformer", "max_length": 32}})

    assert said.student.max_length == 32
    assert Recipe.model_validate({**tables, "student": {"kind": "bilstm"}}).student.max_length == 256
    assert tables == {"corpus": {"train": "rows.csv"}, "teacher": {"max_length": 384}}, "nothing of it was changed"


@pytest.mark.parametrize("wrong", [2, "long", True, 12.5])
def test_a_wrong_length_of_the_teacher_is_reported_of_the_teacher_alone(wrong: object) -> None:
    tables = {"corpus": {"train": "rows.csv"}, "teacher": {"max_length": wrong}, "student": {"kind": "transformer"}}

    with pytest.raises(ValidationError) as caught:
        Recipe.model_validate(tables)

    assert {problem["loc"][0] for problem in caught.value.errors()} == {"teacher"}


@pytest.mark.parametrize(("shortest", "longest", "is_refused"), [(3, 2, True), (3, 3, False), (3, 0, False)])
def test_parts_of_words_have_a_possible_length(shortest: int, longest: int, is_refused: bool) -> None:
    with pytest.raises(ValidationError, match="longest must be") if is_refused else nullcontext():
        NgramVocabulary(shortest=shortest, longest=longest)


@pytest.mark.parametrize("name", [".", "..", ".label-store", "a/b", "", "a\n"])
def test_a_name_that_would_lead_out_of_the_folder_of_the_run_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="name"):
        Recipe.model_validate({"name": name, "corpus": {"train": "a.csv"}})


@pytest.mark.parametrize("name", ["toy", "toy.v2", "_toy", "-1", "戏"])
def test_other_names_are_taken(name: str) -> None:
    assert Recipe.model_validate({"name": name, "corpus": {"train": "a.csv"}}).name == name
