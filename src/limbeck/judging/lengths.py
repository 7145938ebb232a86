"""Accuracy by the length of the text: four groups of about equally many rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from limbeck.artifacts.rows import Rows
from limbeck.judging.metrics import Bools, Ints
from limbeck.text.sentences import word_count

QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class LengthGroups:
    """Which group every row is in, from the short ones to the long ones."""

    bounds: list[tuple[int, int]]  # fewest and most words of each group
    of_row: Ints  # (rows): number of the group

    def at(self, places: Ints) -> "LengthGroups":
        """The same groups, of some of the rows."""
        return LengthGroups(bounds=self.bounds, of_row=self.of_row[places])


def length_groups(rows: Rows, *, language: str) -> LengthGroups:
    """Groups between the quartiles of the rows' lengths. Rows of one length are never parted, so that there may be
    fewer than four groups, and larger ones."""
    lengths = row_lengths(rows, language=language)
    edges = np.unique(np.quantile(lengths, QUARTILES))
    number = np.searchsorted(edges, lengths, side="left")  # an edge belongs to the group below it
    kept, of_row = np.unique(number, return_inverse=True)
    bounds = [(int(lengths[number == one].min()), int(lengths[number == one].max())) for one in kept]
    return LengthGroups(bounds=bounds, of_row=of_row.astype(np.int64))


def row_lengths(rows: Rows, *, language: str) -> Ints:
    """(rows): words, in Chinese characters; of a pair those of both texts."""
    columns = [rows.texts] if rows.pairs is None else [rows.texts, rows.pairs]
    counts = [[word_count(text, language=language) for text in column] for column in columns]
    return np.asarray(np.sum(counts, axis=0), dtype=np.int64)


def accuracy_by_length(correct: Bools, groups: LengthGroups) -> list[dict[str, Any]]:
    """Of each group the accuracy, mean over seeds; None where no row of it was answered. `correct` is (seeds, rows)."""
    table = []
    for number, bounds in enumerate(groups.bounds):
        inside = correct[:, groups.of_row == number]
        accuracy = float(inside.mean()) if inside.size else None
        table.append({"words": list(bounds), "rows": inside.shape[1], "accuracy": accuracy})
    return table
