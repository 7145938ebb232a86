"""Decides which copies are kept: none that appears in the corpus, no duplicates, and no more than asked for."""

from collections.abc import Iterable
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.rows import ROWS_PER_SLICE, Rows
from limbeck.augmentation.portions import folded_key

Keys = npt.NDArray[np.uint64]
Verdicts = npt.NDArray[np.int8]


class CopyVerdict(IntEnum):
    """Whether a copy is kept, or why it is dropped."""

    KEPT = 0
    IN_DEV_OR_TEST = 1
    IN_TRAIN = 2
    DUPLICATE = 3  # of an earlier copy
    NOT_DRAWN = 4
    IN_TRANSFER = 5


def judge(keys: Keys, *, corpus: Corpus, rows: int | None, seed: int, transfer: Rows | None = None) -> Verdicts:
    """A verdict for each copy by its folded key, (copies, 2); at most `rows` copies are kept, `transfer` is the text
    that was copied in addition to train."""
    held_out = _keys_of(split for name, split in corpus.splits.items() if name != "train")
    train = _keys_of([corpus.splits["train"]])
    gathered = _keys_of([] if transfer is None else [transfer])
    first = _first_with_key(np.concatenate([held_out, train, gathered, keys]))
    before = len(held_out) + len(train) + len(gathered)
    leaders = first[before:]  # for each copy the first row or copy with the same key, possibly itself
    verdicts = np.full(len(keys), CopyVerdict.DUPLICATE, dtype=np.int8)
    verdicts[leaders == np.arange(before, len(first))] = CopyVerdict.KEPT
    verdicts[leaders < before] = CopyVerdict.IN_TRANSFER
    verdicts[leaders < len(held_out) + len(train)] = CopyVerdict.IN_TRAIN
    verdicts[leaders < len(held_out)] = CopyVerdict.IN_DEV_OR_TEST
    kept = np.flatnonzero(verdicts == CopyVerdict.KEPT)
    if rows is not None and len(kept) > rows:
        verdicts[kept[_draw_order(keys[kept], seed=seed)[rows:]]] = CopyVerdict.NOT_DRAWN
    return verdicts


def _keys_of(splits: Iterable[Rows]) -> Keys:
    digests = [
        b"".join(map(folded_key, *((part.texts,) if part.pairs is None else (part.texts, part.pairs))))
        for split in splits
        for part in split.slices(ROWS_PER_SLICE)
    ]
    return np.frombuffer(b"".join(digests), dtype=np.uint64).reshape(-1, 2)


def _first_with_key(keys: Keys) -> npt.NDArray[np.int64]:
    """For each key the position where it occurs first."""
    order = np.lexsort((keys[:, 1], keys[:, 0]))  # stable: equal keys keep their order
    ordered = keys[order]
    is_new = np.ones(len(keys), dtype=np.bool_)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    first = np.empty(len(keys), dtype=np.int64)
    first[order] = order[is_new][np.cumsum(is_new) - 1]
    return first


def _draw_order(keys: Keys, *, seed: int) -> npt.NDArray[np.int64]:
    """The order in which copies are drawn: by hashes that depend only on seed and content."""
    mixer = np.frombuffer(folded_key(str(seed)), dtype=np.uint64)
    mixed = keys ^ mixer
    return np.asarray(np.lexsort((mixed[:, 1], mixed[:, 0])))
