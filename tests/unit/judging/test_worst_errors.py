"""Which rows are shown to a person, and what is said of them."""

import numpy as np
import pytest

from limbeck.artifacts.rows import FIRST_UNKNOWN, Rows
from limbeck.judging.answers import ModelAnswers, TeacherAnswers
from limbeck.judging.run import MOST_CHARACTERS, worst_errors

ROWS = Rows.of(ids=list("abcd"), texts=["one", "two", "three", "four"], labels=[1, 1, 0, 0])
# The student says 0, 1, 1, 1 and is surest of the last row; the teacher says 1, 1, 0, 0.
STUDENT = ModelAnswers(ROWS.labels, np.array([[[1, 0], [0, 9], [0, 2], [0, 3]]], dtype=np.float32), temperatures=(1.0,))
TEACHER = ModelAnswers(ROWS.labels, np.array([[[0, 1], [0, 1], [4, 0], [1, 0]]], dtype=np.float32))


def known(places: list[int], answers: ModelAnswers = TEACHER) -> TeacherAnswers:
    """A teacher that answered the rows at these places."""
    return TeacherAnswers(places=np.array(places, dtype=np.int64), answers=answers.at(np.array(places, dtype=np.int64)))


def test_rows_of_disagreement_come_surest_student_first() -> None:
    found = worst_errors(ROWS, student=STUDENT, teacher=known([0, 1, 2, 3]), names=["no", "yes"])

    assert [row["text"] for row in found] == ["four", "three", "one"]
    assert found[1] == {
        "text": "three",
        "pair": None,
        "label": "no",
        "student": "yes",
        "teacher": "no",
        "student_probability": pytest.approx(1 / (1 + np.exp(-2))),
        "teacher_probability": pytest.approx(1 / (1 + np.exp(-4))),
    }


def test_no_more_are_shown_than_asked_for_and_none_the_teacher_did_not_answer() -> None:
    some = worst_errors(ROWS, student=STUDENT, teacher=known([0, 2]), names=["no", "yes"])

    assert [row["text"] for row in some] == ["three", "one"]
    assert len(worst_errors(ROWS, student=STUDENT, teacher=known([0, 2]), names=["no", "yes"], most=1)) == 1
    assert worst_errors(ROWS, student=STUDENT, teacher=known([]), names=["no", "yes"]) == []


def test_a_label_that_train_does_not_have_is_shown_by_its_name() -> None:
    labels = np.array([FIRST_UNKNOWN - 1, 1, 0, 0])
    student = ModelAnswers(labels, STUDENT.logits, temperatures=(1.0,))

    (found,) = worst_errors(ROWS, student=student, teacher=known([0]), names=["no", "yes"], unknown=["so so", "mixed"])

    assert found["label"] == "mixed (not in train)"


def test_equally_sure_rows_keep_their_order() -> None:
    student = ModelAnswers(ROWS.labels, np.array([[[5, 0], [5, 0], [0, 5], [0, 5]]], dtype=np.float32))

    found = worst_errors(ROWS, student=student, teacher=known([0, 1, 2, 3]), names=["no", "yes"])

    assert [row["text"] for row in found] == ["one", "two", "three", "four"]


def test_the_students_probability_is_the_calibrated_one() -> None:
    hot = ModelAnswers(STUDENT.labels, STUDENT.logits, temperatures=(2.0,))

    found = worst_errors(ROWS, student=hot, teacher=known([2]), names=["no", "yes"])

    assert found[0]["student_probability"] == pytest.approx(1 / (1 + np.exp(-1)))


def test_long_texts_are_cut_and_second_texts_are_shown() -> None:
    rows = Rows.of(ids=["a"], texts=["long " * 1000], pairs=["other"], labels=[1])
    student, teacher = (ModelAnswers(rows.labels, np.array([[one]], dtype=np.float32)) for one in ([1, 0], [0, 1]))

    (found,) = worst_errors(rows, student=student, teacher=known([0], teacher), names=["no", "yes"])

    assert found["text"].startswith("long long")
    assert found["text"].endswith("long…")
    assert len(found["text"]) <= MOST_CHARACTERS + 1
    assert found["pair"] == "other"


def test_sets_of_labels_are_shown_as_lists() -> None:
    sets = np.array([[1, 1], [0, 1]])
    rows = Rows.of(ids=["a", "b"], texts=["one", "two"], labels=sets)
    student = ModelAnswers(sets, np.array([[[1, 2], [-1, -1]]], dtype=np.float32))
    teacher = ModelAnswers(sets, np.array([[[1, 2], [-1, 3]]], dtype=np.float32))

    (found,) = worst_errors(rows, student=student, teacher=known([0, 1], teacher), names=["joy", "anger"])

    assert (found["text"], found["label"], found["student"], found["teacher"]) == ("two", ["anger"], [], ["anger"])
    assert found["student_probability"] == pytest.approx((1 / (1 + np.exp(-1))) ** 2)
