"""What several teachers say together, by hand."""

import math

import numpy as np
import pytest

from limbeck.artifacts.answers import Logits
from limbeck.labeling.combine import combined, mean_label_probabilities, mean_logits, mean_probabilities


def rows(*values: list[float]) -> Logits:
    return np.array(values, dtype=np.float32)


def softmax(logits: Logits) -> list[float]:
    powers = [math.exp(value) for value in logits.tolist()]
    return [power / sum(powers) for power in powers]


def test_the_logits_of_one_teacher_stay_as_they_are() -> None:
    logits = rows([3.0, -1.25])

    for combine in ("mean_logits", "mean_probabilities"):
        assert combined([logits], [1.0], combine=combine, multi_label=False) is logits


def test_mean_of_logits_by_hand() -> None:
    together = mean_logits([rows([4.0, 0.0]), rows([0.0, 2.0])], [0.75, 0.25])

    assert together.tolist() == [[3.0, 0.5]]
    assert together.dtype == np.float32


def test_mean_of_probabilities_by_hand() -> None:
    first = rows([math.log(3), 0.0])  # (3/4, 1/4)
    second = rows([0.0, math.log(9)])  # (1/10, 9/10)

    together = mean_probabilities([first, second], [0.5, 0.5])

    assert softmax(together[0]) == pytest.approx([0.425, 0.575], rel=1e-6)
    assert together.sum() == pytest.approx(0.0, abs=1e-6)  # centred: an offset would only have to be learned


def test_weights_count() -> None:
    first, second = rows([math.log(3), 0.0]), rows([0.0, math.log(9)])

    together = mean_probabilities([first, second], [0.8, 0.2])

    assert softmax(together[0]) == pytest.approx([0.8 * 0.75 + 0.2 * 0.1, 0.8 * 0.25 + 0.2 * 0.9], rel=1e-6)


def test_mean_of_label_probabilities_by_hand() -> None:
    first = rows([math.log(3), 0.0])  # 3/4 and 1/2
    second = rows([-math.log(3), math.log(4)])  # 1/4 and 4/5

    together = mean_label_probabilities([first, second], [0.5, 0.5])

    assert together[0].tolist() == pytest.approx([0.0, math.log(0.65 / 0.35)], abs=1e-6)


def test_teachers_of_one_mind_are_not_changed_by_being_together() -> None:
    logits = rows([2.0, -1.0, 0.5], [0.0, 7.0, -7.0])

    same = mean_probabilities([logits, logits], [0.3, 0.7])

    assert softmax(same[1]) == pytest.approx(softmax(logits[1]), rel=1e-5)
    np.testing.assert_allclose(mean_label_probabilities([logits, logits], [0.3, 0.7]), logits, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("size", [30.0, 200.0, 80_000.0])
def test_sure_teachers_give_finite_logits(size: float) -> None:
    """A softmax in single precision would overflow, and a probability of 1 has no logit."""
    sure = rows([size, -size])

    for together in (mean_probabilities([sure, sure], [0.5, 0.5]), mean_label_probabilities([sure, sure], [0.5, 0.5])):
        assert np.isfinite(together).all()
        assert together[0, 0] - together[0, 1] >= 30.0


def test_a_sure_teacher_beside_an_unsure_one_does_not_decide_alone() -> None:
    together = mean_probabilities([rows([500.0, 0.0]), rows([0.0, 0.0])], [0.5, 0.5])

    assert softmax(together[0]) == pytest.approx([0.75, 0.25], rel=1e-6)


def test_the_recipe_says_how() -> None:
    logits, weights = [rows([4.0, 0.0]), rows([0.0, 2.0])], [0.5, 0.5]

    assert combined(logits, weights, combine="mean_logits", multi_label=True).tolist() == [[2.0, 1.0]]
    np.testing.assert_array_equal(
        combined(logits, weights, combine="mean_probabilities", multi_label=False), mean_probabilities(logits, weights)
    )
    np.testing.assert_array_equal(
        combined(logits, weights, combine="mean_probabilities", multi_label=True),
        mean_label_probabilities(logits, weights),
    )


def test_a_row_that_one_teacher_is_silent_about_is_silent() -> None:
    silent = rows([math.nan, math.nan], [0.0, 0.0])

    for combine in ("mean_logits", "mean_probabilities"):
        for multi_label in (False, True):
            together = combined(
                [rows([1.0, 0.0], [1.0, 0.0]), silent], [0.5, 0.5], combine=combine, multi_label=multi_label
            )
            assert np.isnan(together).any(axis=1).tolist() == [True, False]


@pytest.mark.parametrize("multi_label", [False, True])
def test_a_teacher_of_no_weight_has_no_say(multi_label: bool) -> None:
    first, second = rows([1.0, -1.0]), rows([-5.0, 5.0])

    together = combined([first, second], [1.0, 0.0], combine="mean_probabilities", multi_label=multi_label)

    assert together[0, 0] - together[0, 1] == pytest.approx(2.0, rel=1e-6)
