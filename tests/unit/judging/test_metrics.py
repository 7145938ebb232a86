"""Every metric against a value worked out by hand."""

import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    classification_report,
    confusion_matrix,
    f1_score,
    precision_recall_fscore_support,
    roc_auc_score,
)
from sklearn.metrics import hamming_loss as sklearn_hamming_loss

from limbeck.judging import metrics

# Four rows that may have three labels. Right in all labels: the second (no label at all) and the fourth.
SETS = np.array([[1, 1, 0], [0, 0, 0], [0, 1, 0], [1, 0, 0]])
SAID = np.array([[1, 0, 0], [0, 0, 0], [1, 1, 0], [1, 0, 0]])


def test_share_equal_counts_the_rows_that_agree() -> None:
    assert metrics.share_equal(np.array([0, 1, 2, 1]), np.array([0, 1, 1, 1])) == 0.75


def test_macro_f1_is_the_mean_of_the_classes() -> None:
    labels = np.array([0, 0, 0, 1])
    predicted = np.array([0, 0, 1, 1])

    # class 0: precision 1, recall 2/3, F1 4/5; class 1: precision 1/2, recall 1, F1 2/3
    assert metrics.macro_f1(labels, predicted) == pytest.approx((4 / 5 + 2 / 3) / 2)


def test_a_class_that_is_never_predicted_gives_zero_and_no_warning() -> None:
    assert metrics.macro_f1(np.array([0, 1]), np.array([0, 0])) == pytest.approx((2 / 3 + 0) / 2)


def test_a_row_of_no_class_is_wrong_everywhere_and_no_class_of_its_own() -> None:
    labels, predicted = np.array([0, 0, 1, -2, -3]), np.array([0, 0, 1, 1, 1])

    # class 0: F1 1; class 1: precision 1/3, recall 1, F1 1/2
    assert metrics.share_equal(labels, predicted) == 0.6
    assert metrics.macro_f1(labels, predicted) == pytest.approx(0.75)
    assert metrics.confusion(labels, predicted, classes=2) == [[2, 0], [0, 1]]
    assert [row["support"] for row in metrics.per_class(labels, [predicted], names=["a", "b"])] == [2, 1]
    assert metrics.per_class(labels, [predicted], names=["a", "b"])[1]["precision"] == pytest.approx(1 / 3)
    assert metrics.averages(labels, [predicted], weighted=False)["recall"] == 1.0
    scores = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.1, 0.9], [0.1, 0.9]])
    assert metrics.roc_auc(labels, np.log(scores)) == 1.0


def test_spread_is_the_sample_standard_deviation() -> None:
    assert metrics.spread([0.90, 0.92, 0.94]) == pytest.approx(0.02)
    assert metrics.spread([0.9]) == 0.0


@pytest.mark.parametrize(("rows", "unsure"), [(50, 0.07135), (5_000, 0.00076776)])
def test_the_interval_of_a_model_that_is_always_right_or_wrong_is_wilsons(rows: int, unsure: float) -> None:
    """1.96² / (50 + 1.96²) = 3.8416 / 53.8416 = 0.07135; 3.8416 / 5003.8416 = 0.00076776."""
    right = np.ones((2, rows), dtype=bool)

    assert metrics.accuracy_interval(right, samples=200) == pytest.approx((1 - unsure, 1.0), abs=1e-5)
    assert metrics.accuracy_interval(~right, samples=200) == pytest.approx((0.0, unsure), abs=1e-5)


def test_rows_on_which_seeds_disagree_count_half() -> None:
    correct = np.array([[True] * 40, [False] * 40])

    assert metrics.accuracy_interval(correct, samples=200) == (0.5, 0.5)


def test_the_interval_has_the_width_of_the_binomial() -> None:
    correct = np.arange(400)[np.newaxis] < 320  # 80 % of 400 rows: standard error 0.02

    low, high = metrics.accuracy_interval(correct, samples=5000)

    assert low == pytest.approx(0.8 - 1.96 * 0.02, abs=0.004)
    assert high == pytest.approx(0.8 + 1.96 * 0.02, abs=0.004)


def test_the_interval_is_the_same_every_time() -> None:
    correct = np.arange(100)[np.newaxis] % 3 > 0

    assert metrics.accuracy_interval(correct, samples=300) == metrics.accuracy_interval(correct, samples=300)


def test_the_gain_is_paired_by_row() -> None:
    """Both are right on the same half of the rows: unpaired resampling would give an interval around zero."""
    half = np.arange(200)[np.newaxis] % 2 == 0

    assert metrics.gain_interval(half, half.copy(), samples=200) == (0.0, 0.0)


def test_a_student_that_is_always_right_gains_everything_over_one_that_never_is() -> None:
    right, wrong = np.ones((1, 30), dtype=bool), np.zeros((1, 30), dtype=bool)

    assert metrics.gain_interval(right, wrong, samples=100) == (1.0, 1.0)


def test_a_lucky_seed_widens_the_interval_of_the_gain() -> None:
    student = np.array([[True] * 60, [False] * 60])  # one seed perfect, one hopeless
    baseline = np.zeros((1, 60), dtype=bool)

    assert metrics.gain_interval(student, baseline, samples=300) == (0.0, 1.0)


def test_per_class_numbers_follow_the_names() -> None:
    labels = np.array([0, 0, 1])
    seeds = [np.array([0, 0, 1]), np.array([0, 1, 1])]

    rows = metrics.per_class(labels, seeds, names=["no", "yes", "maybe"])

    assert [row["label"] for row in rows] == ["no", "yes", "maybe"]
    assert [row["support"] for row in rows] == [2, 1, 0]
    assert rows[0]["recall"] == pytest.approx((1 + 1 / 2) / 2)
    assert rows[1]["precision"] == pytest.approx((1 + 1 / 2) / 2)
    assert rows[2]["f1"] == 0.0


def test_a_row_of_several_labels_is_right_if_all_of_them_are() -> None:
    assert metrics.rows_equal(SETS, SAID).tolist() == [False, True, False, True]
    assert metrics.share_equal(SETS, SAID) == 0.5


def test_f1_of_several_labels_hand_worked() -> None:
    # class 0: 2 right, 3 said, 2 there: F1 4/5; class 1: 1 right, 1 said, 2 there: F1 2/3; class 2: nobody, 0
    assert metrics.macro_f1(SETS, SAID) == pytest.approx((4 / 5 + 2 / 3 + 0) / 3)
    assert metrics.micro_f1(SETS, SAID) == pytest.approx(2 * 3 / (4 + 4))
    assert metrics.hamming_loss(SETS, SAID) == pytest.approx(2 / 12)


def test_where_nothing_is_there_and_nothing_said_micro_f1_is_zero_and_no_warning() -> None:
    assert metrics.micro_f1(np.zeros((2, 3), dtype=np.int64), np.zeros((2, 3), dtype=np.int64)) == 0.0


def test_a_single_class_that_a_row_has_or_has_not_is_judged_as_that_class() -> None:
    """scikit-learn would take such a column for two classes, yes and no."""
    assert metrics.macro_f1(SETS[:, :1], SAID[:, :1]) == pytest.approx(4 / 5)


def test_numbers_of_several_labels_are_those_of_scikit_learn() -> None:
    dice = np.random.default_rng(3)
    labels, said = dice.integers(0, 2, (2, 60, 5))

    rows = metrics.per_class(labels, [said], names=list("abcde"))

    precision, recall, f1, support = precision_recall_fscore_support(labels, said)
    for key, expected in (("precision", precision), ("recall", recall), ("f1", f1), ("support", support)):
        assert [row[key] for row in rows] == pytest.approx(expected)
    assert metrics.share_equal(labels, said) == pytest.approx(accuracy_score(labels, said))
    assert metrics.macro_f1(labels, said) == pytest.approx(f1_score(labels, said, average="macro"))
    assert metrics.micro_f1(labels, said) == pytest.approx(f1_score(labels, said, average="micro"))
    assert metrics.hamming_loss(labels, said) == pytest.approx(sklearn_hamming_loss(labels, said))


def test_the_averages_are_those_of_a_classification_report() -> None:
    dice = np.random.default_rng(1)
    labels, said = dice.integers(0, 4, 90), dice.integers(0, 4, 90)

    report = classification_report(labels, said, output_dict=True, zero_division=0)

    for weighted, name in ((False, "macro avg"), (True, "weighted avg")):
        found = metrics.averages(labels, [said], weighted=weighted)
        expected = [report[name][key] for key in ("precision", "recall", "f1-score")]
        assert list(found.values()) == pytest.approx(expected)
    assert metrics.averages(labels, [said], weighted=False)["f1"] == pytest.approx(metrics.macro_f1(labels, said))


def test_the_averages_of_several_labels_are_those_of_a_classification_report() -> None:
    dice = np.random.default_rng(2)
    labels, said = dice.integers(0, 2, (2, 60, 3))

    report = classification_report(labels, said, output_dict=True, zero_division=0)

    for weighted, name in ((False, "macro avg"), (True, "weighted avg")):
        found = metrics.averages(labels, [said], weighted=weighted)
        assert list(found.values()) == pytest.approx([report[name][key] for key in ("precision", "recall", "f1-score")])


def test_averages_hand_worked() -> None:
    labels, said = np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])

    # class 0 (3 rows): precision 1, recall 2/3, F1 4/5; class 1 (1 row): precision 1/2, recall 1, F1 2/3
    macro = metrics.averages(labels, [said], weighted=False)
    weighted = metrics.averages(labels, [said], weighted=True)

    assert macro == pytest.approx({"precision": 3 / 4, "recall": 5 / 6, "f1": 11 / 15})
    assert weighted == pytest.approx({"precision": 7 / 8, "recall": 3 / 4, "f1": (3 * 4 / 5 + 2 / 3) / 4})


def test_averages_are_means_over_seeds() -> None:
    labels, right = np.array([0, 1]), np.array([0, 1])

    found = metrics.averages(labels, [right, 1 - right], weighted=False)

    assert found == {"precision": 0.5, "recall": 0.5, "f1": 0.5}


def test_where_no_row_has_any_label_the_weighted_averages_are_zero() -> None:
    nothing = np.zeros((3, 2), dtype=np.int64)

    assert set(metrics.averages(nothing, [nothing], weighted=True).values()) == {0.0}


def test_the_confusion_has_true_classes_in_rows_and_said_ones_in_columns() -> None:
    labels, said = np.array([0, 0, 1, 2]), np.array([1, 0, 1, 1])

    found = metrics.confusion(labels, said, classes=4)

    assert found == [[1, 1, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert found == confusion_matrix(labels, said, labels=range(4)).tolist()


def test_mcc_hand_worked() -> None:
    labels = np.array([1] * 6 + [0] * 4)
    said = np.array([1, 1, 1, 1, 1, 0, 0, 0, 0, 1])  # 5 true positives, 1 false negative, 3 true negatives, 1 false one

    assert metrics.mcc(labels, said) == pytest.approx((5 * 3 - 1 * 1) / (6 * 6 * 4 * 4) ** 0.5)


def test_mcc_of_one_who_always_says_the_same_is_zero_and_of_a_single_class_it_is_unknown() -> None:
    assert metrics.mcc(np.array([0, 1, 2]), np.array([1, 1, 1])) == 0.0
    assert metrics.mcc(np.array([1, 1, 1]), np.array([1, 0, 1])) is None


def test_auc_of_two_classes_is_the_share_of_pairs_in_order_and_ties_count_half() -> None:
    labels = np.array([1, 1, 0, 0])
    scores = np.array([[0.0, 3.0], [1.0, 2.0], [0.0, 1.0], [2.0, 1.0]])  # second less first: 3, 1, 1, -1

    assert metrics.roc_auc(labels, scores) == pytest.approx(3.5 / 4)


def test_auc_of_more_classes_and_of_several_labels_is_that_of_scikit_learn() -> None:
    dice = np.random.default_rng(5)
    probabilities = dice.dirichlet([1, 1, 1], 50)
    labels, sets = dice.integers(0, 3, 50), dice.integers(0, 2, (50, 3))

    single, several = (metrics.roc_auc(truth, np.log(probabilities)) for truth in (labels, sets))

    assert single == pytest.approx(roc_auc_score(labels, probabilities, multi_class="ovr", average="macro"))
    assert several == pytest.approx(roc_auc_score(sets, probabilities, average="macro"))


def test_without_rows_of_a_class_there_is_no_auc() -> None:
    scores = np.log(np.full((3, 3), 1 / 3))

    assert metrics.roc_auc(np.array([0, 1, 0]), scores) is None
    assert metrics.roc_auc(np.array([1, 1, 1]), scores[:, :2]) is None
    assert metrics.roc_auc(np.array([[1, 0, 1], [1, 1, 0], [1, 0, 0]]), scores) is None
