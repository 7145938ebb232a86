"""A student that was best early and worse at the end is found, with the remedies that its recipe has not taken."""

from collections.abc import Callable
from typing import Any

import pytest

from limbeck.doctor.training import is_falling, overfitting

Row = tuple[str, str]
Make = Callable[..., Any]
FALLING, STEADY = (0.7, 0.9, 0.8, 0.8), (0.7, 0.8, 0.9, 0.9)


def history_of(*scores: float) -> list[dict[str, Any]]:
    return [{"epoch": number, "dev_accuracy": score} for number, score in enumerate(scores, start=1)]


@pytest.mark.parametrize(
    ("scores", "rows", "falling"),
    [
        ((0.70, 0.90, 0.85, 0.80), 1000, True),
        ((0.70, 0.80, 0.90, 0.80), 1000, False),  # best in the second half
        ((0.900, 0.894), 1000, True),
        ((0.900, 0.896), 1000, False),  # four rows, but no half a point
        ((0.90, 0.80), 20, False),  # two rows
        ((0.95, 0.80), 20, True),  # three
        ((0.90, 0.70, 0.90, 0.90), 1000, False),  # it came back
        ((0.90,), 1000, False),  # one epoch tells nothing
        ((), 1000, False),
    ],
)
def test_falling_is_worse_at_the_end_by_more_than_chance(scores: tuple[float, ...], rows: int, falling: bool) -> None:
    assert is_falling(history_of(*scores), rows=rows) == falling


def test_a_student_that_learned_by_heart_is_found(
    make_corpus_of: Make, make_known: Make, make_student_of: Make, hundred: list[Row]
) -> None:
    corpus = make_corpus_of(train=hundred[:50], dev=hundred[50:])
    students = [make_student_of(history_of(*STEADY), seed=0), make_student_of(history_of(*FALLING), seed=1)]

    (finding,) = overfitting(make_known(corpus=corpus, students=students))

    assert finding.level == "note"
    assert finding.what == "the student was, in 1 of 2 seeds, best early in its training, and worse at the end"
    assert finding.evidence == "90.0% on dev after epoch 2, 80.0% after epoch 4; the best was kept"
    assert finding.advice == (
        "It overfits train: give it unlabelled text ([transfer]), or freeze its word vectors "
        "(student.tune_vectors = false) and train longer, or raise student.dropout."
    )


@pytest.mark.parametrize(
    ("tables", "advice"),
    [
        (
            {"transfer": {"files": ["more.txt"]}, "student": {"tune_vectors": False}},
            "It overfits train: raise student.dropout.",
        ),
        (
            {"transfer": {"files": ["more.txt"]}, "student": {"word_vectors": "random"}},
            "It overfits train: raise student.dropout.",
        ),
        (
            {"transfer": {"files": ["more.txt"]}, "student": {"kind": "transformer"}},
            "It overfits train: train for fewer epochs.",
        ),
    ],
)
def test_what_the_recipe_has_done_already_is_not_advised(
    tables: dict[str, Any],
    advice: str,
    make_corpus_of: Make,
    make_known: Make,
    make_student_of: Make,
    hundred: list[Row],
) -> None:
    corpus = make_corpus_of(train=hundred[:50], dev=hundred[50:])
    students = [make_student_of(history_of(*FALLING), seed=0)]

    (finding,) = overfitting(make_known(tables, corpus=corpus, students=students))

    assert finding.what == "the student was best early in its training, and worse at the end"
    assert finding.advice == advice


def test_students_that_had_come_to_rest_are_left_alone(
    make_corpus_of: Make, make_known: Make, make_student_of: Make, hundred: list[Row]
) -> None:
    corpus = make_corpus_of(train=hundred[:50], dev=hundred[50:])

    assert overfitting(make_known(corpus=corpus, students=[make_student_of(history_of(*STEADY), seed=0)])) == []
