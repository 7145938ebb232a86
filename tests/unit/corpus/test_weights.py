"""The weight of each class."""

import numpy as np
import pytest

from limbeck.corpus.balance import LARGEST_WEIGHT, WeightedClassUnknown, weigh_classes

COUNTS = {"rare": 2, "often": 6, "never": 0}


def test_without_weights_all_classes_weigh_the_same() -> None:
    assert weigh_classes("none", rows_per_class=COUNTS, rows=8, is_multi_label=False) is None


def test_balanced_weights_are_rows_over_classes_times_rows_of_the_class() -> None:
    weights = weigh_classes("balanced", rows_per_class=COUNTS, rows=8, is_multi_label=False)

    assert weights == [8 / (2 * 2), 8 / (2 * 6), 1.0]


def test_balanced_weights_are_those_of_scikit_learn() -> None:
    sklearn = pytest.importorskip("sklearn.utils.class_weight")
    labels = np.array([0] * 3 + [1] * 17 + [2] * 5)

    weights = weigh_classes("balanced", rows_per_class={"a": 3, "b": 17, "c": 5}, rows=25, is_multi_label=False)

    assert weights == pytest.approx(sklearn.compute_class_weight("balanced", classes=np.arange(3), y=labels).tolist())


def test_with_several_labels_a_weight_is_rows_without_over_rows_with_the_class() -> None:
    weights = weigh_classes("balanced", rows_per_class=COUNTS, rows=10, is_multi_label=True)

    assert weights == [8 / 2, 4 / 6, 1.0]


def test_weights_of_very_rare_classes_and_of_those_in_every_row_stay_within_bounds() -> None:
    weights = weigh_classes("balanced", rows_per_class={"rare": 1, "all": 1000}, rows=1000, is_multi_label=True)

    assert weights == [LARGEST_WEIGHT, 1.0]


@pytest.mark.parametrize("is_multi_label", [False, True])
def test_given_weights_are_in_class_order_and_the_others_are_one(is_multi_label: bool) -> None:
    weights = weigh_classes({"never": 0.5, "rare": 5.0}, rows_per_class=COUNTS, rows=8, is_multi_label=is_multi_label)

    assert weights == [5.0, 1.0, 0.5]


def test_a_weight_for_an_unknown_class_is_refused_with_a_similar_name() -> None:
    with pytest.raises(WeightedClassUnknown, match="did you mean 'often'") as caught:
        weigh_classes({"oftn": 2.0, "rare": 1.0}, rows_per_class=COUNTS, rows=8, is_multi_label=False)

    assert caught.value.unknown == ("oftn",)
    assert caught.value.classes == ("rare", "often", "never")
