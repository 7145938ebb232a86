"""The label store: content-addressed, append-only, damage is noticed."""

from pathlib import Path

import numpy as np
import pytest

from limbeck.artifacts.answers import Logits, find_keys
from limbeck.artifacts.rows import content_keys
from limbeck.labeling import store as module
from limbeck.labeling.source import Pooling
from limbeck.labeling.store import LabelStore

TEXTS = [f"text number {number}" for number in range(50)]
FEATURES = np.arange(150, dtype=np.float16).reshape(50, 3)


def logits_for(texts: list[str]) -> Logits:
    return np.array([[len(text), int(text.split()[-1]) % 97] for text in texts], dtype=np.float32)


def opened(root: Path, teacher: str = "teacher-a", *, pooling: Pooling | None = None) -> LabelStore:
    return LabelStore(root, teacher=teacher, classes=2, pooling=pooling)


def held(store: LabelStore) -> int:
    """How many labels its whole shards hold."""
    return sum(len(answers) for shard in store.shards() if (answers := store.open(shard)) is not None)


def test_what_was_written_is_found_in_its_shard_whatever_the_order(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.write(content_keys(TEXTS), logits_for(TEXTS))
    (shard,) = opened(tmp_path).shards()

    answers = opened(tmp_path).open(shard)

    assert answers is not None
    shuffled = TEXTS[::-3]
    places = find_keys(answers.keys, content_keys(shuffled))
    assert answers.logits[places].tolist() == logits_for(shuffled).tolist()


def test_another_teacher_has_said_nothing_yet(tmp_path: Path) -> None:
    opened(tmp_path, "teacher-a").write(content_keys(TEXTS), logits_for(TEXTS))

    assert opened(tmp_path, "teacher-b").shards() == []


def test_labels_without_features_cannot_serve_where_features_are_wanted(tmp_path: Path) -> None:
    opened(tmp_path).write(content_keys(TEXTS), logits_for(TEXTS))

    assert opened(tmp_path, pooling="cls").shards() == []


def test_labels_with_features_serve_where_only_logits_are_wanted(tmp_path: Path) -> None:
    opened(tmp_path, pooling="mean").write(content_keys(TEXTS), logits_for(TEXTS), FEATURES)

    assert held(opened(tmp_path)) == 50
    assert held(opened(tmp_path, pooling="mean")) == 50
    assert opened(tmp_path, pooling="cls").shards() == []
    assert [path.name for path in tmp_path.iterdir()] == ["teacher-a-mean"]


def test_a_teacher_whose_name_begins_like_another_one_is_not_taken_for_it(tmp_path: Path) -> None:
    opened(tmp_path, "teacher-a-mean-2").write(content_keys(TEXTS), logits_for(TEXTS))

    assert opened(tmp_path, "teacher-a").shards() == []


@pytest.mark.parametrize("damage", ["truncated", "emptied", "half-written"])
def test_a_damaged_shard_counts_as_never_asked(tmp_path: Path, damage: str) -> None:
    store = opened(tmp_path)
    store.write(content_keys(TEXTS[:20]), logits_for(TEXTS[:20]))
    store.write(content_keys(TEXTS[20:]), logits_for(TEXTS[20:]))
    shard = store.shards()[0]

    match damage:
        case "truncated":
            shard.write_bytes(shard.read_bytes()[:-40])
        case "emptied":
            shard.write_bytes(b"")
        case _:
            shard.rename(shard.with_suffix(".partial"))

    assert held(opened(tmp_path)) in (20, 30)


def test_a_shard_with_one_wrong_bit_counts_as_never_asked(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.write(content_keys(TEXTS), logits_for(TEXTS))
    (shard,) = store.shards()
    content = bytearray(shard.read_bytes())

    for place in range(0, len(content), 97):
        content[place] ^= 1
        shard.write_bytes(content)
        answers = opened(tmp_path).open(shard)
        content[place] ^= 1

        assert answers is None


def test_a_shard_that_has_gone_meanwhile_counts_as_never_asked(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.write(content_keys(TEXTS), logits_for(TEXTS))
    (shard,) = store.shards()
    assert store.open(shard) is not None

    shard.unlink()

    assert store.open(shard) is None


def test_a_shard_with_another_number_of_classes_is_not_read(tmp_path: Path) -> None:
    LabelStore(tmp_path, teacher="teacher-a", classes=3).write(content_keys(TEXTS), np.zeros((50, 3), dtype=np.float32))

    assert held(opened(tmp_path)) == 0


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

    assert held(opened(tmp_path)) == 50
    assert len(list((tmp_path / "teacher-a").iterdir())) == 1


def test_a_shard_that_finds_no_space_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def half_written(path: Path, _: bytes) -> int:
        path.touch()
        raise OSError(28, "No space left on device")

    store = opened(tmp_path)
    monkeypatch.setattr(Path, "write_bytes", half_written)

    with pytest.raises(OSError, match="No space left"):
        store.write(content_keys(TEXTS), logits_for(TEXTS))

    assert list(store.folder.iterdir()) == []


def test_trouble_with_the_disk_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a process with too many open files would take all shards for damaged, and they would be thrown away."""
    store = opened(tmp_path)
    store.write(np.array([[1, 2]], dtype=np.uint64), np.zeros((1, 2), dtype=np.float32))
    (shard,) = store.shards()

    def fails(*_: object) -> str:
        raise OSError(24, "too many open files")

    monkeypatch.setattr(module, "file_digest", fails)

    with pytest.raises(OSError, match="too many open files"):
        opened(tmp_path).open(shard)
