"""Where in the store the label of every row is: shard and row in the shard, 8 bytes per row."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.answers import Features, Logits
from limbeck.artifacts.key_file import RECORDS_AT_ONCE
from limbeck.errors import LabelsDoNotCover
from limbeck.labeling.index import TextIndex
from limbeck.labeling.store import LabelStore
from limbeck.labeling.store_index import NOWHERE, StoreIndex, forget_index, index_of


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
    """Search the store for the texts of the index: its index if it has one, then the other shards one by one."""
    shards = store.shards()
    places = Places(
        shards=shards,
        shard=index.column(len(index), np.uint32, fill=int(NOWHERE)),
        row=index.column(len(index), np.uint32),
    )
    known = index_of(store, shards)
    if known is not None and not _look_up(known, places, index, store, on_damage=on_damage):
        forget_index(store)
        return locate(index, store, on_damage=on_damage)
    for number in range(len(shards)) if known is None else known.rest:
        _search(number, places, index, store, on_damage=on_damage)
    for rows_alike, firsts in index.alike():  # so far only the first row of each text is set
        places.shard[rows_alike] = places.shard[firsts]
        places.row[rows_alike] = places.row[firsts]
    return places


def _search(
    number: int, places: Places, index: TextIndex, store: LabelStore, *, on_damage: Callable[[Path], None]
) -> None:
    """Search one shard."""
    answers = store.open(places.shards[number])
    if answers is None:
        on_damage(places.shards[number])
        return
    if answers.features is not None and store.pooling:
        places.width = answers.features.shape[1]
    rows = index.find(answers.keys)
    wanted = np.flatnonzero(rows >= 0)
    # The first shard counts, even if another one has the text too.
    wanted = wanted[number < places.shard[rows[wanted]]]
    places.shard[rows[wanted]] = number
    places.row[rows[wanted]] = wanted


def _look_up(
    known: StoreIndex, places: Places, index: TextIndex, store: LabelStore, *, on_damage: Callable[[Path], None]
) -> bool:
    """Find the texts in the index of the store, and open the shards that it names; False if it does not fit them."""
    for start in range(0, len(index), RECORDS_AT_ONCE):
        window = slice(start, start + RECORDS_AT_ONCE)
        places.shard[window], places.row[window] = known.find(index.keys[window])
    order = np.argsort(places.shard, kind="stable")
    numbers, starts = np.unique(places.shard[order], return_index=True)
    for number, inside in zip(numbers, np.split(order, starts[1:]), strict=True):
        if number == NOWHERE:
            continue
        answers = store.open(places.shards[number])
        if answers is None:
            on_damage(places.shards[number])
            places.shard[inside] = NOWHERE
            continue
        rows = places.row[inside]
        if rows.max() >= len(answers) or (answers.keys[rows] != index.keys[inside]).any():
            return False
        if answers.features is not None and store.pooling:
            places.width = answers.features.shape[1]
    return True


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
            raise LabelsDoNotCover(labels=store.place, missing=lost, total=len(index))
        logits[inside] = answers.logits[row[inside]]
        if features is not None and answers.features is not None:
            features[inside] = answers.features[row[inside]]
    return logits, features
