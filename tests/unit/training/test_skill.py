"""Accuracy, the score that decides, and skill over guessing."""

import numpy as np
import numpy.typing as npt
import pytest

from limbeck.training.skill import NEAR_CHANCE, guessing, judged, predicted, skill


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


def test_uneven_classes_are_scored_by_macro_f1_over_the_classes_of_dev() -> None:
    labels = np.array([0] * 8 + [1] * 2)
    always = judged(logits_for([0] * 10, count=3), labels, by_macro_f1=True)
    better = judged(logits_for([0] * 7 + [1] * 3, count=3), labels, by_macro_f1=True)

    assert always["dev_accuracy"] == 0.8
    assert always["dev_score"] == always["dev_macro_f1"] == pytest.approx((2 * 8 / 18 + 0) / 2)  # no third class
    assert better["dev_score"] == pytest.approx((2 * 7 / 15 + 2 * 2 / 5) / 2)


NAMES = ["no", "yes"]


def test_one_answer_for_every_row_is_guessing_however_accurate() -> None:
    labels = np.array([0] * 390 + [1] * 10)
    nearly = [0] * 390 + [1] + [0] * 9

    assert guessing(logits_for([0] * 400), labels, names=NAMES) == "it answers 'no' for 400 of 400 dev rows"
    assert guessing(logits_for(nearly), labels, names=NAMES) == ""  # one right answer of ten is a kappa of 0.18
    assert guessing(logits_for([0] * 400), np.array([0] * 396 + [1] * 4), names=NAMES) == ""  # 4 rows may be bad luck
    assert guessing(logits_for([0] * 400), np.zeros(400, dtype=np.int64), names=NAMES) == ""  # nothing to tell apart


def test_answers_that_have_nothing_to_do_with_the_labels_are_guessing_if_there_are_enough_of_them() -> None:
    labels, answers = np.tile([0, 1], 150), np.tile([0, 0, 1, 1], 75)

    assert guessing(logits_for(answers.tolist()), labels, names=NAMES) == "Cohen's kappa on dev is 0.00 (guessing: 0)"
    assert guessing(logits_for(answers[:80].tolist()), labels[:80], names=NAMES) == ""
    assert guessing(logits_for([0] * 50), labels[:50], names=NAMES) == ""


def test_several_labels_of_which_none_is_found_are_guessing() -> None:
    labels = np.zeros((100, 2), dtype=np.int64)
    labels[:20, 0] = 1
    blind = np.full((100, 2), -5, dtype=np.float32)
    finds_one = blind.copy()
    finds_one[0, 0] = 5

    assert guessing(blind, labels, names=NAMES) == "it finds none of the 20 labels of the dev rows"
    assert guessing(finds_one, labels, names=NAMES) == ""
    assert guessing(blind, np.where(np.arange(100)[:, None] < 2, labels, 0), names=NAMES) == ""


def test_the_noise_of_an_accuracy_is_its_standard_error() -> None:
    logits = np.array([[1, 0], [1, 0], [0, 1], [1, 0]], dtype=np.float32)

    found = judged(logits, np.array([0, 0, 1, 1]))

    assert found["dev_accuracy"] == 0.75
    assert found["dev_noise"] == pytest.approx((0.75 * 0.25 / 4) ** 0.5)


def test_the_noise_of_macro_f1_grows_with_rare_classes_and_is_none_where_all_is_right() -> None:
    even, rare = np.repeat([0, 1], 50), np.repeat([0, 1], [96, 4])
    wrong = np.zeros(100, dtype=bool)
    wrong[[0, 98]] = True

    def noise(labels: npt.NDArray[np.int64], answers: npt.NDArray[np.int64]) -> float:
        return judged(np.eye(2, dtype=np.float32)[answers], labels, by_macro_f1=True)["dev_noise"]

    assert noise(even, even) == 0
    assert 0 < noise(even, np.where(wrong, 1 - even, even)) < 0.03
    assert noise(rare, np.where(wrong, 1 - rare, rare)) > 0.1
