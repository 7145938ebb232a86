"""Pairs of classes that are confused, with counts and the surest example of each direction."""

from collections.abc import Sequence

import numpy as np

from limbeck.artifacts.rows import Rows
from limbeck.review.answers import JudgedSplit
from limbeck.review.class_overlap import overlapping_classes

NAMES = ["food", "price", "place"]


def split_of(labels: list[int] | list[list[int]], chances: Sequence[Sequence[float]]) -> JudgedSplit:
    texts = [f"text {at}" for at in range(len(labels))]
    rows = Rows.of(ids=texts, texts=texts, labels=np.array(labels))
    return JudgedSplit("train", rows, np.array(chances, dtype=np.float32), "a model")


def test_both_directions_are_counted_and_the_surest_row_is_the_example() -> None:
    chances = [[0.2, 0.8, 0.0], [0.4, 0.6, 0.0], [0.7, 0.3, 0.0], [0.0, 0.0, 1.0]]

    (pair,) = overlapping_classes([split_of([0, 0, 1, 2], chances)], NAMES)

    assert (pair.first, pair.second, pair.confused, pair.rows, pair.share) == ("food", "price", 3, 3, 1.0)
    assert (pair.forth.rows, pair.forth.example, pair.back.example) == (2, "text 0", "text 2")


def test_the_most_confused_pair_comes_first() -> None:
    chances = [[0, 0, 1], [0, 1, 0], [0, 1, 0]]

    found = overlapping_classes([split_of([0, 2, 2], chances)], NAMES)

    assert [(pair.first, pair.second) for pair in found] == [("price", "place"), ("food", "place")]


def test_with_several_labels_one_is_missing_and_another_one_is_there() -> None:
    chances = [[0.1, 0.9, 0.0], [0.9, 0.9, 0.0]]

    (pair,) = overlapping_classes([split_of([[1, 0, 0], [1, 0, 0]], chances)], NAMES)

    assert (pair.first, pair.second, pair.forth.rows) == ("food", "price", 1)
