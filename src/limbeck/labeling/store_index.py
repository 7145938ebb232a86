"""Where in a large label store the answer to a text is: a sorted file of keys beside the shards, so that neither all
shards are read for a few rows, nor their keys are in memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.answers import Keys
from limbeck.artifacts.key_file import KeyFile, NotAKeyFile, Records, records_of, write_key_file
from limbeck.labeling.store import LabelStore

NAME = "keys.index"
SHARDS_SCANNED = 2048  # a store with more has an index; it is written again when more, and a quarter, are not in it
NOWHERE = np.uint32(2**32 - 1)
UInt32s = npt.NDArray[np.uint32]


@dataclass
class StoreIndex:
    """The keys of some shards of a store."""

    file: KeyFile
    shards: list[Path]  # of the store now
    covered: list[Path]  # those in the index, in the order of its numbers

    def find(self, keys: Keys) -> tuple[UInt32s, UInt32s]:
        """(number among the shards, row in it) of each key; NOWHERE for one that the index does not have."""
        places, numbers, rows = self.file.find(keys)
        now = {shard: number for number, shard in enumerate(self.shards)}
        by_number = np.array([now.get(shard, NOWHERE) for shard in self.covered] or [NOWHERE], dtype=np.uint32)
        return np.where(places >= 0, by_number[numbers], NOWHERE), rows

    @property
    def rest(self) -> list[int]:
        """The numbers of the shards that it does not cover."""
        covered = set(self.covered)
        return [number for number, shard in enumerate(self.shards) if shard not in covered]


def index_of(store: LabelStore, shards: list[Path]) -> StoreIndex | None:
    """The index of a store with these shards, written or extended if it is worth it; None for a small store."""
    found = _opened(store, shards)
    missing = shards if found is None else [shards[number] for number in found.rest]
    if len(missing) <= max(SHARDS_SCANNED, len(shards) // 4):
        return found
    return build_index(store, shards, before=found)


def build_index(store: LabelStore, shards: list[Path], *, before: StoreIndex | None = None) -> StoreIndex:
    """Write the index of all these shards; of those that `before` has, nothing is read."""
    facts = {"shards": [_name(shard) for shard in shards]}
    file = write_key_file(store.folder / NAME, _records(store, shards, before), facts=facts)
    if store.remote:
        store.remote.send(file.path, NAME)
    return StoreIndex(file, shards, shards)


def forget_index(store: LabelStore) -> None:
    """Remove an index that does not fit its shards."""
    store.remove(store.folder / NAME)


def _records(store: LabelStore, shards: list[Path], before: StoreIndex | None) -> Iterator[Records]:
    covered: set[Path] = set()
    if before is not None:
        covered = set(before.covered)
        now = {shard: number for number, shard in enumerate(shards)}
        renumbered = np.array([now.get(shard, NOWHERE) for shard in before.covered], dtype=np.uint32)
        for piece in before.file.pieces():
            piece["first"] = renumbered[piece["first"]]
            yield piece[piece["first"] != NOWHERE]
    for number, shard in enumerate(shards):
        if shard not in covered and (answers := store.open(shard)) is not None:
            yield records_of(answers.keys, number, np.arange(len(answers), dtype=np.uint32))


def _opened(store: LabelStore, shards: list[Path]) -> StoreIndex | None:
    path = store.folder / NAME
    try:
        if not path.exists() and store.remote and store.remote.size_of(NAME) is not None:
            store.remote.fetch(NAME, path)
        file = KeyFile.open(path)
        covered = [store.folder.parent / str(name) for name in file.facts["shards"]]
    except (NotAKeyFile, FileNotFoundError, KeyError, TypeError):
        return None
    return StoreIndex(file, shards, covered)


def _name(shard: Path) -> str:
    return f"{shard.parent.name}/{shard.name}"
