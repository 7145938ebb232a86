"""Where in the store the label of every row is: shard and row in the shard, 8 bytes per row."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.answers import Features, Logits
from limbeck.errors import LabelsDoNotCover
from limbeck.labeling.index import TextIndex
from limbeck.labeling.store import LabelStore

NOWHERE = np.uint32(2**32 - 1)


@dataclass
class Places:
    """For each row, the index of a shard (NOWHERE if it has no label) and the row in that shard."""

    shards: list[Path]
    shard: npt.NDArray[np.uint32]
    row: npt.NDArray[np.uint32]
    width: int | None = None  # of the features, if there are any

    @property
    def is_known(self) -> npt.NDArray[np.bool_]:
        """(rows): whether a row has a label."""
        return np.asarray(self.shard != NOWHERE)


def locate(index: TextIndex, store: LabelStore, *, on_damage: Callable[[Path], None]) -> Places:
    """Search the shards, one after the other, for the texts of the index."""
    unset = np.full(len(index), NOWHERE, dtype=np.uint32)
    places = Places(shards=store.shards(), shard=unset, row=np.zeros(len(index), dtype=np.uint32))
    for number, path in enumerate(places.shards):
        answers = store.open(path)
        if answers is None:
            on_damage(path)
            continue
        if answers.features is not None and store.pooling:
            places.width = answers.features.shape[1]
        rows = index.find(answers.keys)
        wanted = np.flatnonzero(rows >= 0)
        wanted = wanted[
            places.shard[rows[wanted]] == NOWHERE
        ]  # the first shard counts, even if another one has the text too
        places.shard[rows[wanted]] = number
        places.row[rows[wanted]] = wanted
    for rows_alike, firsts in index.alike():  # so far only the first row of each text is set
        places.shard[rows_alike] = places.shard[firsts]
        places.row[rows_alike] = places.row[firsts]
    return places


def unlabelled_texts(index: TextIndex, places: Places) -> npt.NDArray[np.bool_]:
    """(rows): whether this is the first row of a text without a label; each such text is marked once."""
    is_missing = np.zeros(len(index), dtype=np.bool_)
    for rows, firsts in index.alike():
        is_missing[rows[(rows == firsts) & (places.shard[rows] == NOWHERE)]] = True
    return is_missing


def read_labels(index: TextIndex, places: Places, store: LabelStore, window: slice) -> tuple[Logits, Features | None]:
    """Logits of a window of rows, NaN for rows without a label, and their features; read shard by shard."""
    shard, row = places.shard[window], places.row[window]
    logits = np.full((len(shard), store.classes), np.nan, dtype=np.float32)
    features = np.zeros((len(shard), places.width), dtype=np.float16) if places.width else None
    order = np.argsort(shard, kind="stable")
    numbers, starts = np.unique(shard[order], return_index=True)
    for number, inside in zip(numbers, np.split(order, starts[1:]), strict=True):
        if number == NOWHERE:
            continue
        answers = store.open(places.shards[number])
        if answers is None:  # it was intact when its rows were located
            lost = index.ids_of(np.sort(inside) + window.start)
            raise LabelsDoNotCover(labels=store.folder, missing=lost, total=len(index))
        logits[inside] = answers.logits[row[inside]]
        if features is not None and answers.features is not None:
            features[inside] = answers.features[row[inside]]
    return logits, features
