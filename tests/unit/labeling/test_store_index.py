"""The index of a large store finds what a scan of its shards finds, and is never believed against them."""

from pathlib import Path

import numpy as np
import pytest

from limbeck.artifacts.rows import Rows, content_keys
from limbeck.labeling import store_index
from limbeck.labeling.index import TextIndex
from limbeck.labeling.places import Places, locate, read_labels
from limbeck.labeling.store import LabelStore
from limbeck.labeling.store_index import NAME, build_index, index_of

TEXTS = [f"text {number}" for number in range(60)]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LabelStore:
    """Ten shards of five texts each; ten texts have no label. A store of more than two shards gets an index."""
    monkeypatch.setattr(store_index, "SHARDS_SCANNED", 2)
    store = LabelStore(tmp_path, teacher="t", classes=2)
    for start in range(0, 50, 5):
        write(store, TEXTS[start : start + 5])
    return store


def write(store: LabelStore, texts: list[str], *, plus: float = 0.0) -> None:
    store.write(content_keys(texts), np.array([[int(text.split()[1]) + plus, 0.0] for text in texts], dtype=np.float32))


def rows_of(texts: list[str]) -> TextIndex:
    return TextIndex({"train": Rows.of(ids=[f"row-{number}" for number in range(len(texts))], texts=texts)})


def found(store: LabelStore, texts: list[str]) -> tuple[list[float], Places]:
    index = rows_of(texts)
    places = locate(index, store, on_damage=store.remove)
    logits, _ = read_labels(index, places, store, slice(0, len(texts)))
    return logits[:, 0].tolist(), places


def test_labels_are_found_by_the_index_and_few_shards_are_read(
    store: LabelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    found(store, ["text 0"])
    assert (store.folder / NAME).is_file()
    fresh, opened = LabelStore(store.folder.parent, teacher="t", classes=2), list[Path]()
    monkeypatch.setattr(LabelStore, "open", _counting(LabelStore.open, opened))

    values, places = found(fresh, ["text 7", "text 55", "text 8", "text 7"])

    assert values[:1] + values[2:] == [7.0, 8.0, 7.0]
    assert places.is_known.tolist() == [True, False, True, True]
    assert len(set(opened)) == 1


def test_new_shards_are_found_beside_the_index_and_join_it_when_they_are_many(store: LabelStore) -> None:
    found(store, ["text 0"])
    before = (store.folder / NAME).read_bytes()

    write(store, ["text 50"])
    assert found(store, ["text 50", "text 49"])[0] == [50.0, 49.0]
    assert (store.folder / NAME).read_bytes() == before

    for number in range(51, 58):
        write(store, [f"text {number}"])
    assert found(store, ["text 57", "text 3"])[0] == [57.0, 3.0]
    grown = index_of(store, store.shards())
    assert grown is not None
    assert len(grown.file) == 58
    assert grown.rest == []


def test_of_two_labels_the_same_one_is_taken_with_and_without_an_index(store: LabelStore) -> None:
    for plus in (0.1, 0.2, 0.3, 0.4):
        write(store, ["text 3"], plus=plus)
    with_scan, _ = _scanned(store, "text 3")

    build_index(store, store.shards()[4:9])  # a part of the store, as another machine may have seen it
    assert found(store, ["text 3"])[0] == with_scan
    build_index(store, store.shards())
    assert found(store, ["text 3"])[0] == with_scan


def test_a_removed_shard_is_no_longer_named(store: LabelStore) -> None:
    found(store, ["text 0"])
    _, places = found(store, ["text 12"])
    store.remove(store.shards()[places.shard[0]])

    values, places = found(store, ["text 12", "text 49"])

    assert places.is_known.tolist() == [False, values[1] == 49.0]


def test_a_damaged_shard_that_the_index_names_is_reported(store: LabelStore) -> None:
    found(store, ["text 0"])
    _, places = found(store, ["text 12"])
    shard = store.shards()[places.shard[0]]
    shard.write_bytes(shard.read_bytes()[:-1])
    fresh, reported = LabelStore(store.folder.parent, teacher="t", classes=2), list[Path]()

    places = locate(rows_of(["text 12", "text 30"]), fresh, on_damage=reported.append)

    assert reported == [shard]
    assert not places.is_known[0]


def test_an_index_that_does_not_fit_its_shards_is_made_again(store: LabelStore) -> None:
    found(store, ["text 0"])
    shards = store.shards()
    build_index(store, [*shards[1:], shards[0]])
    path = store.folder / NAME
    path.write_bytes(path.read_bytes().replace(shards[0].name.encode(), shards[1].name.encode(), 1))

    assert found(store, TEXTS[:50])[0] == [float(number) for number in range(50)]
    path.write_bytes(b"cut off")
    assert found(store, TEXTS[:50])[0] == [float(number) for number in range(50)]


def _scanned(store: LabelStore, text: str) -> tuple[list[float], Places]:
    (store.folder / NAME).unlink(missing_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_index, "SHARDS_SCANNED", 1000)
        return found(store, [text])


def _counting(opens: object, into: list[Path]) -> object:
    def counted(store: LabelStore, shard: Path) -> object:
        into.append(shard)
        return opens(store, shard)  # type: ignore[operator]

    return counted
