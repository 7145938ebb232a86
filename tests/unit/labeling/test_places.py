"""Labels are found in whatever shard they are, for every row of a text."""

from pathlib import Path

import numpy as np
import pytest

from limbeck.artifacts.rows import Rows, content_keys
from limbeck.errors import LabelsDoNotCover
from limbeck.labeling.index import TextIndex
from limbeck.labeling.places import locate, read_labels, unlabelled_texts
from limbeck.labeling.store import LabelStore

TEXTS = ["bb", "a", "bb", "dddd", "ccc", "a", ""]


def index_of(*texts: str) -> TextIndex:
    return TextIndex({"train": Rows.of(ids=[f"row-{number}" for number in range(len(texts))], texts=texts)})


def write(store: LabelStore, *texts: str, plus: float = 0.0) -> None:
    """Labels that say which text they belong to."""
    logits = np.array([[len(text) + plus, 0.0] for text in texts], dtype=np.float32)
    features = np.array([[len(text)] * 3 for text in texts], dtype=np.float16) if store.pooling else None
    store.write(content_keys(texts), logits, features)


def refuse_damage(shard: Path) -> None:
    raise AssertionError(f"{shard} is damaged")


def test_every_row_of_a_text_gets_its_label_from_whatever_shard_holds_it(tmp_path: Path) -> None:
    store, index = LabelStore(tmp_path, teacher="t", classes=2), index_of(*TEXTS)
    write(store, "", "bb", "somebody else's")
    write(store, "dddd", "a")

    places = locate(index, store, on_damage=refuse_damage)
    logits, features = read_labels(index, places, store, slice(0, 7))

    assert places.is_known.tolist() == [True, True, True, True, False, True, True]
    assert logits[places.is_known, 0].tolist() == [2.0, 1.0, 2.0, 4.0, 1.0, 0.0]
    assert np.isnan(logits[4]).all()
    assert features is None
    assert unlabelled_texts(index, places).tolist() == [False, False, False, False, True, False, False]


def test_a_text_without_a_label_is_missing_once_however_many_rows_it_has(tmp_path: Path) -> None:
    index = index_of(*TEXTS)

    places = locate(index, LabelStore(tmp_path, teacher="t", classes=2), on_damage=refuse_damage)

    assert np.flatnonzero(unlabelled_texts(index, places)).tolist() == [0, 1, 3, 4, 6]


def test_a_window_of_rows_is_read_by_itself(tmp_path: Path) -> None:
    store, index = LabelStore(tmp_path, teacher="t", classes=2), index_of(*TEXTS)
    write(store, *TEXTS)

    places = locate(index, store, on_damage=refuse_damage)
    logits, _ = read_labels(index, places, store, slice(3, 6))

    assert logits[:, 0].tolist() == [4.0, 3.0, 1.0]


def test_features_come_with_the_logits(tmp_path: Path) -> None:
    store, index = LabelStore(tmp_path, teacher="t", classes=2, pooling="cls"), index_of(*TEXTS)
    write(store, *TEXTS[:3])
    write(store, *TEXTS[3:5], "")

    places = locate(index, store, on_damage=refuse_damage)
    logits, features = read_labels(index, places, store, slice(0, 7))

    assert places.width == 3
    assert features is not None
    np.testing.assert_array_equal(features[:, 2], logits[:, 0])


def test_of_two_labels_for_one_text_the_same_one_is_always_taken(tmp_path: Path) -> None:
    """Two runs asked for it side by side, in batches of their own: the results must not depend on which looks."""
    store, index = LabelStore(tmp_path, teacher="t", classes=2), index_of("a")
    write(store, "a")
    write(store, "a", "b", plus=0.001)
    expected = store.open(store.shards()[0])

    places = locate(index, store, on_damage=refuse_damage)

    assert expected is not None
    assert places.shard.tolist() == [0]
    assert read_labels(index, places, store, slice(0, 1))[0][0, 0] == expected.logits[places.row[0], 0]


def test_damaged_shards_are_reported_and_skipped(tmp_path: Path) -> None:
    store, index = LabelStore(tmp_path, teacher="t", classes=2), index_of("a", "bb")
    write(store, "a")
    write(store, "bb")
    damaged = store.shards()[1]
    damaged.write_bytes(damaged.read_bytes()[:-1])
    reported: list[Path] = []

    places = locate(index, store, on_damage=reported.append)

    assert reported == [damaged]
    assert places.is_known.sum() == 1


def test_a_shard_that_vanishes_between_finding_and_reading_is_an_error(tmp_path: Path) -> None:
    store, index = LabelStore(tmp_path, teacher="t", classes=2), index_of("a", "bb", "a")
    write(store, "a")
    places = locate(index, store, on_damage=refuse_damage)

    store.shards()[0].unlink()

    with pytest.raises(LabelsDoNotCover) as raised:
        read_labels(index, places, store, slice(0, 3))
    assert raised.value.missing == ("row-0", "row-2")
