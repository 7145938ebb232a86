"""The student where it is sure, the teacher where it is not, on rows few enough to be counted by hand."""

import numpy as np
import pytest

from limbeck.judging.answers import ModelAnswers, TeacherAnswers
from limbeck.judging.cascade import MOST_POINTS, PairedAnswers, cascade, curve


def paired(confidence: list[float], *, student: list[int], teacher: list[int]) -> PairedAnswers:
    """Rows in any order; 1 is right."""
    return PairedAnswers(np.array(confidence), np.array(student, dtype=bool), np.array(teacher, dtype=bool))


# By rising confidence the student is wrong, wrong, right, wrong, right; the teacher right, wrong, right, right, right.
FIVE = paired([0.9, 0.6, 0.8, 0.5, 0.7], student=[1, 0, 0, 0, 1], teacher=[1, 0, 1, 1, 1])


def test_every_way_to_part_the_rows_is_a_point() -> None:
    found = cascade(FIVE, student_ms=2.0, teacher_ms=10.0)

    assert [point["asked_share"] for point in found["points"]] == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    assert [point["accuracy"] for point in found["points"]] == pytest.approx([0.4, 0.6, 0.6, 0.6, 0.8, 0.8])
    assert [point["threshold"] for point in found["points"]] == pytest.approx([0, 0.55, 0.65, 0.75, 0.85, 1])
    assert [point["ms"] for point in found["points"]] == pytest.approx([2, 4, 6, 8, 10, 12])
    assert (found["rows"], found["student_accuracy"], found["teacher_accuracy"]) == (5, 0.4, 0.8)


def test_the_cheapest_point_asks_least_and_is_as_accurate_as_the_teacher() -> None:
    found = cascade(FIVE)

    assert found["cheapest"]["asked_share"] == pytest.approx(0.8)
    assert found["cheapest"] in found["points"]
    assert found["cheapest_in_hindsight"] == found["cheapest"]


def test_a_student_as_good_as_the_teacher_never_asks() -> None:
    found = cascade(paired([0.6, 0.9], student=[1, 0], teacher=[0, 1]))

    assert (found["cheapest"]["threshold"], found["cheapest"]["asked_share"]) == (0.0, 0.0)


def test_a_student_whose_confidence_means_nothing_asks_always() -> None:
    found = cascade(paired([0.6, 0.9], student=[1, 0], teacher=[1, 1]))

    assert (found["cheapest"]["threshold"], found["cheapest"]["asked_share"]) == (1.0, 1.0)
    assert found["cheapest"]["accuracy"] == found["teacher_accuracy"] == 1.0


def test_together_they_can_be_better_than_either() -> None:
    found = cascade(paired([0.6, 0.9], student=[0, 1], teacher=[1, 0]))

    assert max(point["accuracy"] for point in found["points"]) == 1.0
    assert (found["student_accuracy"], found["teacher_accuracy"]) == (0.5, 0.5)


def test_rows_of_one_confidence_are_asked_about_together() -> None:
    found = cascade(paired([0.7, 0.7, 0.7, 0.9], student=[0, 1, 0, 1], teacher=[1, 1, 1, 1]))

    assert [point["asked_share"] for point in found["points"]] == [0.0, 0.75, 1.0]
    assert [point["accuracy"] for point in found["points"]] == [0.5, 1.0, 1.0]


def test_without_the_teachers_time_there_is_none() -> None:
    assert {point["ms"] for point in cascade(FIVE, student_ms=2.0)["points"]} == {None}


def test_the_threshold_is_chosen_on_dev_and_its_numbers_are_those_of_the_judged_rows() -> None:
    dev = paired([0.6, 0.72, 0.99], student=[0, 1, 1], teacher=[1, 1, 1])  # on dev, asking below 0.66 is enough

    found = cascade(FIVE, dev=dev, student_ms=2.0, teacher_ms=10.0)

    assert found["cheapest"] == pytest.approx({"threshold": 0.66, "asked_share": 0.4, "accuracy": 0.6, "ms": 6.0})
    assert found["cheapest"] in found["points"]
    assert found["cheapest_in_hindsight"]["asked_share"] == pytest.approx(0.8)


@pytest.mark.parametrize(("threshold", "asked"), [(0.0, 0), (0.5, 1), (0.52, 1), (0.59, 1), (0.6, 2), (0.95, 5)])
def test_a_threshold_from_elsewhere_asks_about_all_rows_up_to_it(threshold: float, asked: int) -> None:
    whole = curve(FIVE)

    assert whole.asked[whole.at(threshold)] == asked == int((FIVE.confidence <= threshold).sum())


def test_many_points_are_thinned_evenly_and_keep_the_ends_and_the_cheapest() -> None:
    dice = np.random.default_rng(0)
    confidence = dice.uniform(0.5, 1, 5000)
    many = PairedAnswers(confidence, dice.uniform(size=5000) < confidence, dice.uniform(size=5000) < 0.9)

    found = cascade(many, dev=FIVE)

    shares = [point["asked_share"] for point in found["points"]]
    assert 90 < len(shares) <= MOST_POINTS
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert max(np.diff(shares)) < 0.02
    assert shares == sorted(shares)
    assert found["cheapest"] in found["points"]
    assert found["cheapest_in_hindsight"] in found["points"]
    thresholds = [point["threshold"] for point in found["points"]]
    assert thresholds == sorted(thresholds)


def test_rows_that_the_teacher_did_not_answer_are_left_out() -> None:
    labels = np.array([1, 1, 0])
    student = ModelAnswers(labels, np.array([[[0, 2], [1, 0], [0, 4]]], dtype=np.float32), temperatures=(2.0,))
    teacher = ModelAnswers(labels[[0, 2]], np.array([[[0, 1], [1, 0]]], dtype=np.float32))

    found = PairedAnswers.between(student, TeacherAnswers(places=np.array([0, 2]), answers=teacher))

    assert found is not None
    assert found.confidence == pytest.approx(1 / (1 + np.exp([-1.0, -2.0])))  # of the calibrated probabilities
    assert found.student_right.tolist() == [True, False]
    assert found.teacher_right.tolist() == [True, True]


def test_a_silent_teacher_takes_part_in_no_cascade() -> None:
    student = ModelAnswers(np.array([1]), np.array([[[0, 2]]], dtype=np.float32))
    nothing = np.array([], dtype=np.int64)

    assert PairedAnswers.between(student, TeacherAnswers(places=nothing, answers=student.at(nothing))) is None


def test_sets_of_labels_are_right_as_a_whole_and_as_sure_as_all_their_answers() -> None:
    labels = np.array([[1, 0], [1, 1]])
    student = ModelAnswers(labels, np.array([[[2, -1], [3, -3]]], dtype=np.float32), temperatures=(1.0,))

    found = PairedAnswers.between(student, TeacherAnswers(places=np.array([0, 1]), answers=student))

    assert found is not None
    sigmoid = 1 / (1 + np.exp(-np.array([2.0, 1.0, 3.0])))
    assert found.confidence == pytest.approx([sigmoid[0] * sigmoid[1], sigmoid[2] ** 2])
    assert found.student_right.tolist() == [True, False]
