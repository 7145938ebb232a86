"""Rows of dev and test that stand in train: found by folded text, counted, and taken out of train if asked."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from limbeck.corpus.labelled import LabelledRows


@dataclass(frozen=True)
class SplitOverlap:
    """How many rows of a held-out split stand in train."""

    rows: int  # of the split
    found: int  # of these with the same folded text as a training row
    verbatim: int  # of these with exactly the same text


@dataclass(frozen=True)
class Overlap:
    """The held-out splits' overlap with train, and the positions of the training rows concerned."""

    splits: dict[str, SplitOverlap]
    train_positions: list[int]


def find_overlap(train: LabelledRows, held_out: Mapping[str, LabelledRows]) -> Overlap:
    """Compare dev and test with train; two texts are the same if case, white space and width do not count."""
    exact, folded = set(train.exact_keys), set(train.folded_keys)
    splits = {
        name: SplitOverlap(
            rows=len(rows),
            found=sum(key in folded for key in rows.folded_keys),
            verbatim=sum(key in exact for key in rows.exact_keys),
        )
        for name, rows in held_out.items()
    }
    unwanted = {key for rows in held_out.values() for key in rows.folded_keys}
    return Overlap(splits, [at for at, key in enumerate(train.folded_keys) if key in unwanted])


@dataclass(frozen=True)
class Repeats:
    """What train repeats within itself."""

    duplicates: int  # rows whose folded text an earlier row has
    conflicts: int  # folded texts that stand there with two or more labels


def find_repeats(train: LabelledRows) -> Repeats:
    """Count training rows that repeat a text, and texts whose labels contradict each other."""
    labels_of = defaultdict(set)
    for key, label in zip(train.folded_keys, train.labels, strict=True):
        labels_of[key].add(label)
    conflicts = sum(len(labels) > 1 for labels in labels_of.values())
    return Repeats(duplicates=len(train) - len(labels_of), conflicts=conflicts)
