"""Accuracy, the score that decides, and skill over guessing."""

import numpy as np
import pytest

from limbeck.training.skill import NEAR_CHANCE, judged, predicted, skill


def logits_for(classes: list[int], *, count: int = 2) -> np.ndarray:
    """Sure of these classes."""
    return (4.0 * np.eye(count)[classes]).astype(np.float32)


def test_one_label_a_row_is_judged_by_accuracy() -> None:
    found = judged(logits_for([0, 1, 1, 1]), np.array([0, 1, 1, 0]))

    assert found["dev_accuracy"] == found["dev_score"] == 0.75


def test_several_labels_a_row_are_right_only_all_together_and_judged_by_macro_f1() -> None:
    logits = np.array([[5, 5], [5, -5], [-5, -5]], dtype=np.float32)
    labels = np.array([[1, 1], [1, 1], [0, 0]])

    found = judged(logits, labels)

    assert found["dev_accuracy"] == pytest.approx(2 / 3)
    assert found["dev_score"] == pytest.approx((1.0 + 2 / 3) / 2)  # F1 of the classes: 1, and 2·1·½/(1+½)
    assert found["dev_loss"] == pytest.approx((np.log1p(np.exp(-5)) * 5 + np.log1p(np.exp(5))) / 6, rel=1e-4)


def test_a_single_class_that_a_row_may_have_or_not_is_scored_by_its_own_f1() -> None:
    found = judged(np.array([[5], [5], [-5]], dtype=np.float32), np.array([[1], [0], [0]]))

    assert found["dev_score"] == pytest.approx(2 / 3)  # one right, two predicted, one true


def test_a_class_is_predicted_from_a_probability_of_one_half_on() -> None:
    assert predicted(np.array([[0.0, -0.1, 0.1]], dtype=np.float32), multi_label=True).tolist() == [[1, 0, 1]]


def test_skill_worked_by_hand() -> None:
    labels = np.array([0, 0, 0, 1, 1, 1])
    answers = logits_for([0, 0, 1, 1, 1, 0])

    assert skill(answers, labels) == pytest.approx((4 / 6 - 0.5) / (1 - 0.5))


def test_a_teacher_that_always_predicts_the_frequent_class_has_no_skill_however_accurate() -> None:
    labels = np.array([0] * 95 + [1] * 5)

    assert judged(logits_for([0] * 100), labels)["dev_accuracy"] == 0.95
    assert skill(logits_for([0] * 100), labels) == 0.0 < NEAR_CHANCE


def test_swapped_labels_show_as_negative_skill() -> None:
    assert skill(logits_for([1, 1, 0, 0]), np.array([0, 0, 1, 1])) == -1.0


def test_skill_with_several_labels_is_the_mean_over_classes_that_vary() -> None:
    labels = np.array([[1, 0, 1], [0, 1, 1], [1, 0, 1], [0, 0, 1]])  # every row has the last class
    logits = (8.0 * labels - 4.0).astype(np.float32)
    logits[:, 1] = 4.0  # always predicts the second
    logits[:, 2] = -4.0  # never predicts the last, for which kappa is undefined

    assert skill(logits, labels) == pytest.approx((1.0 + 0.0) / 2)


def test_rare_classes_that_are_never_predicted_do_not_make_a_good_teacher_a_guessing_one() -> None:
    labels = np.zeros((200, 30), dtype=np.int64)
    labels[::2, :3] = 1
    for number in range(3, 30):
        labels[number, number] = 1  # each rare class on one row
    logits = np.full((200, 30), -4.0, dtype=np.float32)
    logits[::2, :3] = 4.0

    assert skill(logits, labels) > 0.8  # type: ignore[operator]  # it is a number here


def test_rows_with_the_same_labels_have_no_skill() -> None:
    assert skill(logits_for([1, 1, 1]), np.array([1, 1, 1])) is None
    assert skill(np.full((4, 2), 3.0, dtype=np.float32), np.ones((4, 2), dtype=np.int64)) is None
