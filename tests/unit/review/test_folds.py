"""Parts of train: no model answers for a row, or for a text, that it was trained on."""

from pathlib import Path

import numpy as np
import pytest

from limbeck.artifacts.rows import Rows
from limbeck.errors import TooFewRows
from limbeck.progress import SilentReporter
from limbeck.review.folds import OUTSIDE, Ints, Logits, combined, out_of_fold, parts_of


def rows_of(texts: list[str], labels: list[int]) -> Rows:
    return Rows.of(ids=[f"train-{at}" for at in range(len(texts))], texts=texts, labels=labels)


def test_every_part_has_every_label_in_proportion() -> None:
    rows = rows_of([f"text {at}" for at in range(40)], [0] * 30 + [1] * 10)

    part = parts_of(rows, parts=5)

    assert np.bincount(part).tolist() == [8] * 5
    assert np.bincount(part[30:]).tolist() == [2] * 5


def test_rows_with_the_same_text_are_in_one_part() -> None:
    rows = rows_of([f"text {at}" for at in range(30)] + ["TEXT 7", "text  7"], [0, 1] * 16)

    part = parts_of(rows, parts=5)

    assert part[7] == part[30] == part[31]


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(TooFewRows, match="review in 5 parts"):
        parts_of(rows_of(["a", "b", "c"], [0, 1, 0]), parts=5)


def test_no_row_is_answered_by_a_model_that_knows_it(tmp_path: Path) -> None:
    part = np.array([0, 1, 0, 1, OUTSIDE])

    def view(known: Ints, asked: Ints) -> Logits:
        assert not set(known) & set(asked)
        assert set(part[known]) == {0} or set(part[known]) == {1}
        return np.stack([asked, np.full(len(asked), known.sum())], axis=1).astype(np.float32)

    with SilentReporter().bar("", total=2, unit="") as bar:
        found = out_of_fold(view, part, name="any", work=tmp_path, bar=bar)

    assert found.tolist() == [[0, 4], [1, 2], [2, 4], [3, 2], [4, 3]]  # of the last the mean of both


def test_models_that_are_finished_are_not_trained_again(tmp_path: Path) -> None:
    part = np.array([0, 1, 0, 1])
    calls: list[Ints] = []

    def view(known: Ints, asked: Ints) -> Logits:
        if len(calls) == 1:
            raise KeyboardInterrupt
        calls.append(known)
        return np.zeros((len(asked), 2), dtype=np.float32)

    def again(known: Ints, asked: Ints) -> Logits:
        calls.append(known)
        return np.ones((len(asked), 2), dtype=np.float32)

    with SilentReporter().bar("", total=2, unit="") as bar:
        with pytest.raises(KeyboardInterrupt):
            out_of_fold(view, part, name="any", work=tmp_path, bar=bar)
        found = out_of_fold(again, part, name="any", work=tmp_path, bar=bar)

    assert len(calls) == 2
    assert found[:, 0].tolist() == [0, 1, 0, 1]


def test_two_views_that_agree_are_surer_than_one() -> None:
    dice = np.random.default_rng(0)
    labels = dice.integers(0, 2, 400)
    one, other = (
        np.stack([-margin, margin], axis=1).astype(np.float32)
        for margin in (labels - 0.5 + dice.normal(0, 0.7, 400) for _ in range(2))
    )

    together = combined({"one": one, "other": other}, labels, is_train=np.ones(400, dtype=np.bool_))

    right = [float((logits.argmax(axis=1) == labels).mean()) for logits in (one, other, together)]
    assert right[2] > max(right[:2])
