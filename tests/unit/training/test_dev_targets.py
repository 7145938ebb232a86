"""What models are compared by on dev: labels, and the teacher's probabilities where labels are few."""

import math

import numpy as np
import pytest
from sklearn.metrics import f1_score

from limbeck.training.dev_targets import (
    TEACHER_ROWS,
    credibility,
    cross_entropy,
    dev_targets,
    expected_correct,
    expected_macro_f1,
    probabilities,
    teacher_share,
)

LABELS = np.array([0, 1, 1, 2])
RIGHT = np.eye(3)[LABELS] * 4.0  # logits


def test_without_a_teacher_the_targets_are_the_labels() -> None:
    np.testing.assert_array_equal(dev_targets(LABELS, teacher=None, models=[RIGHT]), np.eye(3)[LABELS])


def test_the_teacher_counts_as_a_hundred_rows() -> None:
    """Four rows: a share of 100 / 104. Fewer than 30 rows have no temperature: the probabilities are its own."""
    teacher = np.eye(3)[LABELS] * math.log(2)  # 0.5, 0.25, 0.25

    targets = dev_targets(LABELS, teacher=teacher, models=[RIGHT])

    assert teacher_share(LABELS, teacher=teacher, models=[RIGHT]) == pytest.approx(100 / 104)
    assert targets[0] == pytest.approx([4 / 104 + 100 / 104 * 0.5, 100 / 104 * 0.25, 100 / 104 * 0.25])
    assert targets.sum(axis=1) == pytest.approx(np.ones(4))
    many = np.tile(LABELS, 25 * TEACHER_ROWS)
    assert teacher_share(many, teacher=np.eye(3)[many], models=[]) == pytest.approx(1 / 101)
    assert teacher_share(LABELS, teacher=None, models=[RIGHT]) == 0


def test_a_teacher_that_is_worse_than_a_model_does_not_count() -> None:
    labels = np.tile([0, 1], 50)
    good, bad = np.eye(2)[labels] * 2.0, np.eye(2)[1 - labels] * 2.0

    np.testing.assert_array_equal(dev_targets(labels, teacher=bad, models=[good]), np.eye(2)[labels])
    assert not np.isin(dev_targets(labels, teacher=good, models=[bad]), (0, 1)).all()


@pytest.mark.parametrize(("wrong", "counts"), [(3, True), (5, False)])
def test_a_teacher_counts_within_two_standard_errors_of_the_best(wrong: int, counts: bool) -> None:
    """Of 100 rows, 3 that only the model has right are 0.03 with an error of 0.017, and 5 are 0.05 with 0.022."""
    labels = np.tile([0, 1], 50)
    model, teacher = np.eye(2)[labels] * 2.0, np.eye(2)[labels] * 2.0
    teacher[:wrong] = -teacher[:wrong]

    targets = dev_targets(labels, teacher=teacher, models=[model])

    assert (not np.isin(targets, (0, 1)).all()) == counts


def test_a_teacher_counts_less_the_clearer_it_is_behind() -> None:
    """One of 100 rows that only the model has right is 1.0 standard errors: erfc(1 / √2) is 0.317."""
    labels = np.tile([0, 1], 50)
    model = np.eye(2)[labels] * 2.0

    def behind_by(rows: int) -> float:
        return credibility(np.concatenate([-model[:rows], model[rows:]]), [model], labels)

    assert behind_by(0) == 1
    assert behind_by(1) == pytest.approx(0.317, abs=0.001)
    assert 1 > behind_by(1) > behind_by(2) > behind_by(3) > behind_by(5) == 0
    assert credibility(model, [-model], labels) == 1  # and no more for a teacher that is ahead
    share = teacher_share(labels, teacher=np.concatenate([-model[:1], model[1:]]), models=[model])
    assert share == pytest.approx(0.317 / 2, abs=0.001)


def test_several_labels_per_row_are_mixed_class_by_class() -> None:
    labels = np.array([[1, 0], [0, 1]])
    teacher = np.array([[0.0, -20.0], [-20.0, 0.0]])

    targets = dev_targets(labels, teacher=teacher, models=[np.where(labels == 1, -1.0, -2.0)])

    assert targets == pytest.approx(np.array([[2 + 50, 0], [0, 2 + 50]]) / 102, abs=1e-6)


def test_the_cross_entropy_by_hand() -> None:
    logits, targets = np.array([[math.log(3), 0.0]]), np.array([[0.5, 0.5]])  # probabilities 0.75 and 0.25

    assert cross_entropy(logits, targets, multi_label=False) == pytest.approx(-0.5 * math.log(0.75 * 0.25))
    assert cross_entropy(logits, targets, multi_label=False, temperature=1e9) == pytest.approx(math.log(2))
    by_class = -0.5 * math.log(0.75 * 0.25) + math.log(2)
    assert cross_entropy(logits, targets, multi_label=True) == pytest.approx(by_class)
    assert cross_entropy(logits, targets, multi_label=False, weights=np.array([2.0])) == pytest.approx(
        -math.log(0.75 * 0.25)
    )


def test_with_labels_as_targets_the_expected_scores_are_the_usual_ones() -> None:
    predicted = np.array([0, 1, 2, 2])

    assert expected_correct(predicted, np.eye(3)[LABELS]).tolist() == [1, 1, 0, 1]
    assert expected_macro_f1(predicted, np.eye(3)[LABELS]) == pytest.approx(
        f1_score(LABELS, predicted, average="macro")
    )


def test_of_several_labels_every_class_counts() -> None:
    predicted, targets = np.array([[1, 0], [1, 1]]), np.array([[0.8, 0.4], [0.0, 1.0]])

    assert expected_correct(predicted, targets) == pytest.approx([(0.8 + 0.6) / 2, 0.5])
    assert expected_macro_f1(predicted, targets) == pytest.approx((2 * 0.8 / (0.8 + 2) + 2 * 1.0 / (1.4 + 1)) / 2)


def test_expected_scores_by_hand() -> None:
    """Two rows, both predicted as the first class, which is 0.8 and 0.4 likely: F1 = 2 · 1.2 / (1.2 + 2), and 0."""
    predicted, targets = np.array([0, 0]), np.array([[0.8, 0.2], [0.4, 0.6]])

    assert expected_correct(predicted, targets).tolist() == [0.8, 0.4]
    assert expected_macro_f1(predicted, targets) == pytest.approx((2 * 1.2 / 3.2 + 0) / 2)


def test_probabilities_are_a_softmax_or_sigmoids() -> None:
    assert probabilities(np.array([[0.0, math.log(3)]]), multi_label=False)[0] == pytest.approx([0.25, 0.75])
    assert probabilities(np.array([[0.0, math.log(3)]]), multi_label=True)[0] == pytest.approx([0.5, 0.75])
