"""Probabilities become logits that give them back; numbers that are neither are found out."""

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from limbeck.teacher.answer_values import AnswerScale, are_probabilities, logits_of
from limbeck.teacher.score_columns import AnswerMalformed, Meaning


def numbers(*rows: tuple[float, ...]) -> npt.NDArray[np.float32]:
    return np.array(rows, dtype=np.float32)


def softmax(logits: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    powers = np.exp(logits.astype(np.float64))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def verdict(*, declared: Meaning | None = None, multi_label: bool = False) -> AnswerScale:
    return AnswerScale(path=Path("said.csv"), names=["p_no", "p_yes"], declared=declared, multi_label=multi_label)


def test_hand_worked_value() -> None:
    logits = logits_of(numbers((0.75, 0.25)), least=1e-3, multi_label=False)

    np.testing.assert_allclose(logits, [[math.log(3) / 2, -math.log(3) / 2]], rtol=1e-6)


def test_hand_worked_value_of_several_labels() -> None:
    logits = logits_of(numbers((0.75, 0.5, 0.0, 1.0)), least=0.1, multi_label=True)

    np.testing.assert_allclose(logits, [[math.log(3), 0, -math.log(9), math.log(9)]], rtol=1e-6)


def test_softmax_gives_the_probabilities_back_and_the_logits_have_mean_zero() -> None:
    probabilities = np.random.default_rng(0).dirichlet([1, 1, 1], size=50) * 0.99 + 0.01 / 3

    logits = logits_of(probabilities.astype(np.float32), least=1e-3, multi_label=False)

    np.testing.assert_allclose(softmax(logits), probabilities, atol=1e-6)
    np.testing.assert_allclose(logits.mean(axis=1), 0, atol=1e-6)


def test_rounded_probabilities_are_made_to_sum_to_one_and_kept_away_from_zero() -> None:
    logits = logits_of(numbers((0.33, 0.33, 0.33), (0, 0.99, 0)), least=0.1, multi_label=False)

    np.testing.assert_allclose(softmax(logits), [[1 / 3] * 3, [0.1 / 1.2, 1 / 1.2, 0.1 / 1.2]], atol=1e-6)


def test_probabilities_lie_between_zero_and_one_and_sum_to_one_but_for_rounding() -> None:
    rows = numbers((0.3, 0.7), (0.33, 0.66), (0.335, 0.675), (0.3, 0.6), (-0.1, 1.1), (0, 1 + 1e-7), (0, 0))

    assert are_probabilities(rows, multi_label=False).tolist() == [True, True, True, False, False, True, False]
    assert are_probabilities(rows, multi_label=True).tolist() == [True, True, True, True, False, True, True]


def test_a_file_is_of_probabilities_where_every_row_is() -> None:
    judge = verdict()

    judge.add([2, 3], numbers((0.3, 0.7), (0.5, 0.5)))
    judge.add([4], numbers((1, 0)))

    assert judge.meaning == "probabilities"


def test_a_file_is_of_logits_where_many_rows_are_no_probabilities() -> None:
    judge = verdict()

    judge.add([2, 3, 4], numbers((0.3, 0.7), (-2, 2), (5, 1)))

    assert judge.meaning == "logits"
    assert not judge.within


def test_a_few_rows_that_are_no_probabilities_among_many_that_are_are_mistakes() -> None:
    judge = verdict()
    judge.add(range(2, 32), numbers(*[(0.25, 0.75)] * 30))
    judge.add([40], numbers((0.25, 0.25)))

    with pytest.raises(AnswerMalformed, match=r"sum to 0\.5 and not to 1, although 30 of 31 rows are") as raised:
        _ = judge.meaning

    assert (raised.value.row, raised.value.column, raised.value.value) == (40, "p_no, p_yes", "0.25, 0.25")


@pytest.mark.parametrize(
    ("row", "column", "reason"),
    [
        ((-0.25, 1.25), "p_no", "not a probability"),
        ((0.0, 100.0), "p_yes", "not a probability"),
        ((0.3, 0.3), "p_no, p_yes", r"the probabilities sum to 0\.6 and not to 1"),
        ((0.0, 0.0), "p_no, p_yes", "the probabilities sum to 0 and not to 1"),
    ],
)
def test_where_probabilities_are_said_to_be_one_row_that_is_none_is_an_error_at_once(
    row: tuple[float, float], column: str, reason: str
) -> None:
    with pytest.raises(AnswerMalformed, match=f"row 8, {column}: {reason}\n") as raised:
        verdict(declared="probabilities").add([7, 8], numbers((0.5, 0.5), row))

    assert 'say values = "logits"' in str(raised.value)


def test_with_several_labels_rows_need_not_sum_to_one_but_lie_between_zero_and_one() -> None:
    judge = verdict(declared="probabilities", multi_label=True)
    judge.add([2], numbers((0.75, 0.75)))

    with pytest.raises(AnswerMalformed, match="row 3, p_yes: not a probability"):
        judge.add([3], numbers((0.75, 1.5)))


def test_logits_may_be_any_numbers() -> None:
    judge = verdict(declared="logits")

    judge.add([2, 3], numbers((0.5, 0.5), (-30, 30)))

    assert judge.meaning == "logits"


def test_percentages_are_refused_and_not_taken_for_logits() -> None:
    judge = verdict()
    judge.add(range(2, 32), numbers(*[(17.4, 82.6), (0.6, 99.0), (100, 0)] * 10))
    judge.add([40], numbers((3, 4)))

    with pytest.raises(AnswerMalformed, match="not a probability: 30 of 31 rows sum to about 100") as raised:
        _ = judge.meaning

    assert "divide percentages by 100" in str(raised.value)
    assert 'values = "logits"' in str(raised.value)


@pytest.mark.parametrize("declared", [None, "logits"])
def test_numbers_that_happen_to_sum_to_a_hundred_are_logits_where_some_are_below_zero_or_it_is_said(
    declared: Meaning | None,
) -> None:
    judge = verdict(declared=declared)

    judge.add([2, 3], numbers((-20, 120), (130, -30) if declared is None else (40, 60)))

    assert judge.meaning == "logits"
