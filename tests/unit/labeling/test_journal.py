"""Answers that are paid one by one: nothing that is on disk is asked again, and nothing torn is believed."""

import fcntl
from pathlib import Path

import numpy as np
import pytest

from limbeck.artifacts.rows import content_keys
from limbeck.labeling.journal import Journal, recover_journals
from limbeck.labeling.store import LabelStore

KEYS = content_keys(["one", "two", "three"])
LOGITS = np.array([[0.5, -0.5], [1.0, 2.0], [3.0, 4.0]], dtype=np.float32)


@pytest.fixture
def store(tmp_path: Path) -> LabelStore:
    return LabelStore(tmp_path, teacher="it", classes=2)


def kept(store: LabelStore) -> dict[bytes, list[float]]:
    tables = [store.open(shard) for shard in store.shards()]
    assert all(tables)
    return {k.tobytes(): z.tolist() for t in tables if t for k, z in zip(t.keys, t.logits, strict=True)}


def add_all(journal: Journal) -> None:
    for key, logits in zip(KEYS, LOGITS, strict=True):
        journal.add(key, logits)


def test_answers_become_shards_of_the_given_size(store: LabelStore) -> None:
    with Journal(store, rows_per_shard=2) as journal:
        add_all(journal)
        assert len(store.shards()) == 1

    assert kept(store) == {key.tobytes(): row.tolist() for key, row in zip(KEYS, LOGITS, strict=True)}
    assert [path for path in store.folder.iterdir() if path.suffix != ".arrow"] == []


def test_what_a_killed_process_has_left_is_found_without_its_torn_end(store: LabelStore) -> None:
    journal = Journal(store, rows_per_shard=9)
    add_all(journal)
    (left,) = store.folder.glob("*.journal")
    content = left.read_bytes()
    journal.finish()
    for shard in store.shards():
        shard.unlink()
    left.write_bytes(content[:-5])

    assert recover_journals(store) == 2
    assert set(kept(store)) == {key.tobytes() for key in KEYS[:2]}
    assert recover_journals(store) == 0


def test_a_damaged_record_and_all_after_it_are_left_out(store: LabelStore) -> None:
    store.folder.mkdir(parents=True)
    journal = Journal(store, rows_per_shard=9)
    add_all(journal)
    (left,) = store.folder.glob("*.journal")
    content = bytearray(left.read_bytes())
    content[len(content) // 3 + 2] ^= 1
    journal.finish()
    for shard in store.shards():
        shard.unlink()
    left.write_bytes(bytes(content))

    assert recover_journals(store) == 1


def test_a_journal_that_another_run_is_writing_is_left_alone(store: LabelStore) -> None:
    journal = Journal(store, rows_per_shard=9)
    add_all(journal)
    (left,) = store.folder.glob("*.journal")

    with left.open("rb") as other:
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert recover_journals(store) == 0
    journal.finish()

    assert len(kept(store)) == 3
