"""Which rows have the same text, over all splits."""

from pathlib import Path

import numpy as np
import pytest

from limbeck.artifacts.rows import Rows, content_keys
from limbeck.labeling import index as module
from limbeck.labeling.index import TextIndex

SPLITS = {
    "train": ["same", "a", "", "same", "b"],
    "dev": ["a", "c"],
    "transfer": ["same", "d", "d", ""],
}


@pytest.fixture(params=[(2, 100), (1 << 16, 100), (2, 10)], ids=["in small pieces", "at once", "on disk"])
def index(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> TextIndex:
    """Of eleven rows in three splits."""
    at_once, in_memory = request.param
    monkeypatch.setattr(module, "ROWS_AT_ONCE", at_once)
    monkeypatch.setattr(module, "ROWS_IN_MEMORY", in_memory)
    return TextIndex(
        {
            split: Rows.of(ids=[f"{split}:{number}" for number in range(len(texts))], texts=texts)
            for split, texts in SPLITS.items()
        },
        folder=tmp_path,
    )


def test_files_of_an_index_on_disk_end_with_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "ROWS_IN_MEMORY", 1)
    index = TextIndex({"train": Rows.of(ids=["a", "b"], texts=["one", "one"])}, folder=tmp_path)

    marks = index.column(len(index), "uint32", fill=7)

    assert marks.tolist() == [7, 7]
    assert len(list(tmp_path.iterdir())) == 1
    del index
    assert list(tmp_path.iterdir()) == []


def test_each_row_knows_the_first_row_with_its_text(index: TextIndex) -> None:
    texts = [text for split in SPLITS.values() for text in split]

    firsts = {
        row: first for rows, alike in index.alike() for row, first in zip(rows.tolist(), alike.tolist(), strict=True)
    }

    assert firsts == {row: texts.index(text) for row, text in enumerate(texts)}


def test_a_text_is_found_in_its_first_row(index: TextIndex) -> None:
    assert index.find(content_keys(["d", "", "same", "nobody's", "c"])).tolist() == [8, 2, 0, -1, 6]


def test_different_texts_are_counted_in_all_and_by_split(index: TextIndex) -> None:
    assert index.distinct_texts() == (6, {"train": 4, "dev": 2, "transfer": 3})


def test_texts_and_ids_are_those_of_the_rows_of_all_splits(index: TextIndex) -> None:
    assert index.texts_of(np.array([10, 0, 6, 1])) == (["", "same", "c", "a"], None)
    assert index.ids_of(np.array([0, 5, 10])) == ["train:0", "dev:0", "transfer:3"]


def test_the_rows_of_a_split_are_counted_through(index: TextIndex) -> None:
    assert [index.span(split) for split in SPLITS] == [slice(0, 5), slice(5, 7), slice(7, 11)]
    assert [(start, part.ids[0]) for start, part in index.slices(4)] == [
        (0, "train:0"),
        (4, "train:4"),
        (5, "dev:0"),
        (7, "transfer:0"),
    ]


def test_an_index_of_nothing_is_empty() -> None:
    index = TextIndex({"train": Rows.of(ids=[], texts=[])})

    assert len(index) == 0
    assert index.distinct_texts() == (0, {"train": 0})
    assert index.find(content_keys(["a"])).tolist() == [-1]


def test_second_texts_come_with_the_texts() -> None:
    index = TextIndex({"train": Rows.of(ids=["a", "b"], texts=["one", "two"], pairs=["eins", "zwei"])})

    assert index.texts_of(np.array([1, 0])) == (["two", "one"], ["zwei", "eins"])
