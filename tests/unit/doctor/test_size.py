"""A student that outgrows its teacher is found, by itself or by its words."""

from collections.abc import Callable
from typing import Any

import pytest

from limbeck.doctor.known import NotThere
from limbeck.doctor.reading import size

Make = Callable[..., Any]
WORDS = {"tokens": 1_000, "width": 100, "budget": 30_000}


def test_a_smaller_student_is_fine(make_known: Make, make_student_of: Make) -> None:
    student = make_student_of([], parameters=150_000)

    assert size(make_known(teacher_parameters=200_000, students=[student], vocabulary=WORDS)) == []


def test_a_student_as_big_as_its_teacher_is_found(make_known: Make, make_student_of: Make) -> None:
    student = make_student_of([], parameters=200_000)

    (finding,) = size(make_known(teacher_parameters=200_000, students=[student], vocabulary=WORDS))

    assert finding.level == "warning"
    assert finding.evidence == "200,000 parameters, the teacher has 200,000"


def test_word_vectors_alone_can_be_too_many(make_known: Make) -> None:
    (finding,) = size(make_known(teacher_parameters=100_000, vocabulary={"tokens": 1_000, "width": 100}))

    assert finding.evidence.startswith("1,000 words × 100 = 100,000 numbers, the teacher has 100,000 parameters")


def test_word_vectors_with_a_rank_have_as_many_numbers_as_that(make_known: Make) -> None:
    words = {"tokens": 1_000, "width": 100}

    assert size(make_known({"student": {"vector_rank": 50}}, teacher_parameters=100_000, vocabulary=words)) == []


@pytest.mark.parametrize(("tokens", "levels"), [(500, ["note"]), (499, [])])
def test_a_vocabulary_that_was_cut_is_reported(make_known: Make, tokens: int, levels: list[str]) -> None:
    words = {"tokens": tokens, "width": 100, "budget": 500}

    findings = size(make_known(teacher_parameters=100_000, vocabulary=words))

    assert [finding.level for finding in findings] == levels


def test_a_teacher_without_a_size_cannot_be_compared(make_known: Make) -> None:
    with pytest.raises(NotThere):
        size(make_known(vocabulary=WORDS))


@pytest.mark.parametrize(("before", "levels"), [(2_001, ["note"]), (2_000, [])])
def test_a_limit_of_megabytes_that_took_most_words_is_reported(
    make_known: Make, before: int, levels: list[str]
) -> None:
    words = {**WORDS, "max_size_mb": 0.5, "tokens_without_limit": before}

    findings = size(make_known(teacher_parameters=200_000, vocabulary=words))

    assert [finding.level for finding in findings] == levels
    assert all("1,000 of 2,001 tokens are left in 0.5 MB" in finding.evidence for finding in findings)
