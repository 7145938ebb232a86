"""The label store: content-addressed, append-only, never mixed up."""

from pathlib import Path

import numpy as np
import pytest

from limbeck.artifacts.rows import content_keys
from limbeck.labeling.store import LabelStore

TEXTS = [f"text number {number}" for number in range(50)]


def logits_for(texts: list[str]) -> np.ndarray:
    return np.array([[len(text), hash(text) % 97] for text in texts], dtype=np.float32)


def opened(root: Path, teacher: str = "teacher-a") -> LabelStore:
    return LabelStore(root, teacher=teacher, classes=2)


def test_what_was_written_is_found_whatever_the_order_and_the_shard(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.write(content_keys(TEXTS[:20]), logits_for(TEXTS[:20]))
    store.write(content_keys(TEXTS[20:]), logits_for(TEXTS[20:]))

    shuffled = TEXTS[::-3]
    store = opened(tmp_path)
    positions = store.find(content_keys(shuffled))

    assert len(store) == 50
    assert store.logits(positions).tolist() == logits_for(shuffled).tolist()


def test_a_text_never_asked_is_not_found(tmp_path: Path) -> None:
    opened(tmp_path).write(content_keys(TEXTS[:5]), logits_for(TEXTS[:5]))

    positions = opened(tmp_path).find(content_keys([TEXTS[3], "something else", TEXTS[0]]))

    assert (positions < 0).tolist() == [False, True, False]


def test_another_teacher_has_said_nothing_yet(tmp_path: Path) -> None:
    opened(tmp_path, "teacher-a").write(content_keys(TEXTS), logits_for(TEXTS))

    assert len(opened(tmp_path, "teacher-b")) == 0


def test_keys_that_share_their_first_half_are_told_apart(tmp_path: Path) -> None:
    keys = np.array([[7, 3], [7, 1], [7, 2], [9, 1]], dtype=np.uint64)
    logits = np.arange(8, dtype=np.float32).reshape(4, 2)
    opened(tmp_path).write(keys, logits)

    store = opened(tmp_path)
    positions = store.find(np.array([[7, 2], [7, 4], [7, 1], [7, 3], [8, 1]], dtype=np.uint64))

    assert (positions < 0).tolist() == [False, True, False, False, True]
    assert store.logits(positions[[0, 2, 3]]).tolist() == [[4, 5], [2, 3], [0, 1]]


@pytest.mark.parametrize("damage", ["truncated", "emptied", "half-written"])
def test_a_damaged_shard_counts_as_never_asked(tmp_path: Path, damage: str) -> None:
    store = opened(tmp_path)
    store.write(content_keys(TEXTS[:20]), logits_for(TEXTS[:20]))
    store.write(content_keys(TEXTS[20:]), logits_for(TEXTS[20:]))
    shard = sorted(store.folder.glob("*.arrow"))[0]

    match damage:
        case "truncated":
            shard.write_bytes(shard.read_bytes()[:-40])
        case "emptied":
            shard.write_bytes(b"")
        case _:
            shard.rename(shard.with_suffix(".partial"))

    assert len(opened(tmp_path)) in (20, 30)


def test_two_runs_that_write_the_same_shard_at_the_same_time_do_not_disturb_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs with one teacher ask for the same rows in the same order, so this is the usual case for them."""
    keys, logits = content_keys(TEXTS), logits_for(TEXTS)
    rename, inside = Path.rename, False

    def meanwhile(self: Path, target: Path) -> Path:
        nonlocal inside
        if not inside:  # the other run writes and renames just before we do
            inside = True
            opened(tmp_path).write(keys, logits)
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", meanwhile)
    opened(tmp_path).write(keys, logits)

    store = opened(tmp_path)
    assert store.logits(store.find(keys)).tolist() == logits.tolist()
    assert len(list((tmp_path / "teacher-a").iterdir())) == 1


def test_a_shard_with_one_wrong_bit_counts_as_never_asked(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.write(content_keys(TEXTS), logits_for(TEXTS))
    (shard,) = store.folder.glob("*.arrow")
    content = bytearray(shard.read_bytes())

    for place in range(0, len(content), 97):
        content[place] ^= 1
        shard.write_bytes(content)
        store = opened(tmp_path)
        content[place] ^= 1

        assert len(store) == 0
        assert store.damaged == [shard]


def test_a_shard_that_finds_no_space_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def half_written(path: Path, _: bytes) -> int:
        path.touch()
        raise OSError(28, "No space left on device")

    store = opened(tmp_path)
    monkeypatch.setattr(Path, "write_bytes", half_written)

    with pytest.raises(OSError, match="No space left"):
        store.write(content_keys(TEXTS), logits_for(TEXTS))

    assert list(store.folder.iterdir()) == []
