"""Groups of rows by length, and the accuracy in each."""

import numpy as np

from limbeck.artifacts.rows import Rows
from limbeck.judging.quality import LengthGroups, accuracy_by_length, length_groups, row_lengths


def rows_of(lengths: list[int]) -> Rows:
    """Rows of so many words each."""
    return Rows.of(ids=[str(number) for number in range(len(lengths))], texts=["word " * count for count in lengths])


def test_rows_are_parted_at_the_quartiles() -> None:
    found = length_groups(rows_of([8, 1, 2, 3, 4, 5, 6, 7]), language="en")

    assert found.bounds == [(1, 2), (3, 4), (5, 6), (7, 8)]
    assert found.of_row.tolist() == [3, 0, 0, 1, 1, 2, 2, 3]


def test_rows_of_one_length_stay_together() -> None:
    found = length_groups(rows_of([1, 1, 1, 1, 9]), language="en")

    assert found.bounds == [(1, 1), (9, 9)]
    assert found.of_row.tolist() == [0, 0, 0, 0, 1]
    assert length_groups(rows_of([5, 5, 5]), language="en").bounds == [(5, 5)]


def test_a_single_row_is_a_group() -> None:
    assert length_groups(rows_of([3]), language="en").bounds == [(3, 3)]


def test_in_chinese_characters_count_and_of_a_pair_both_texts() -> None:
    pairs = Rows.of(ids=["a"], texts=["很好 看"], pairs=["two words"])

    assert row_lengths(pairs, language="zh").tolist() == [3 + 8]
    assert row_lengths(pairs, language="en").tolist() == [2 + 2]


def test_accuracy_is_that_of_the_group_averaged_over_seeds() -> None:
    groups = LengthGroups(bounds=[(1, 3), (4, 9)], of_row=np.array([0, 1, 1]))
    correct = np.array([[True, True, False], [False, True, True]])

    assert accuracy_by_length(correct, groups) == [
        {"words": [1, 3], "rows": 1, "accuracy": 0.5},
        {"words": [4, 9], "rows": 2, "accuracy": 0.75},
    ]


def test_a_teacher_that_answered_some_rows_keeps_the_groups_of_all() -> None:
    groups = LengthGroups(bounds=[(1, 3), (4, 9)], of_row=np.array([0, 1, 1]))

    found = accuracy_by_length(np.array([[True]]), groups.at(np.array([2])))

    assert found == [
        {"words": [1, 3], "rows": 0, "accuracy": None},
        {"words": [4, 9], "rows": 1, "accuracy": 1.0},
    ]
