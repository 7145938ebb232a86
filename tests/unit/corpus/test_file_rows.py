"""The labelled rows of a file, with labels written as the recipe says."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from limbeck.corpus.file_rows import Dropped, RowsMostlyEmpty, read_file
from limbeck.corpus.labelled import LabelledRows
from limbeck.errors import ColumnMissing, FileEmpty, FileUnreadable, RowMalformed
from limbeck.recipe.corpus import CorpusSection
from limbeck.tables.label_cells import LabelReader

ROWS = [
    {"text": "a soup", "other": "x", "labels": ["hot", "good"], "hot": 0.9, "good": 0.6},
    {"text": "a lamp", "other": "y", "labels": [], "hot": 0.1, "good": 0.2},
]


def read(path: Path, **section: Any) -> tuple[LabelledRows, LabelReader, Dropped]:
    return read_file(CorpusSection.model_validate({"train": str(path), **section}), path, split="train")


@pytest.fixture(params=["rows.jsonl", "rows.parquet"])
def nested(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / str(request.param)
    if path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, ROWS)))
    else:
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    return path


def test_lists_of_labels_are_sets_in_json_and_parquet(nested: Path) -> None:
    rows, _, _ = read(nested, label="labels", multi_label=True)

    assert rows.labels == [("good", "hot"), ()]
    assert rows.texts == ["a soup", "a lamp"]


def test_columns_of_numbers_are_labels_in_json_and_parquet(nested: Path) -> None:
    one, reader, _ = read(nested, label=["hot", "good"], pair="other")
    several, _, _ = read(nested, label=["hot", "good"], multi_label=True)

    assert one.labels == [("hot",), ("good",)]
    assert one.pairs == ["x", "y"]
    assert several.labels == [("good", "hot"), ()]
    assert reader.columns == ["hot", "good"]


def test_label_columns_by_number_have_the_names_of_the_header_if_there_is_one(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text,hot,good\nsoup,1,0\n")

    named = read(path, label=[2, 1])[1]
    (tmp_path / "rows.csv").write_text("soup,1,0\n")
    numbered = read(path, text=0, label=[2, 1], header=False)[1]

    assert named.columns == ["good", "hot"]
    assert numbered.columns == ["2", "1"]


def test_an_empty_cell_is_a_row_without_labels(tmp_path: Path) -> None:
    path = tmp_path / "rows.tsv"
    path.write_text("text\tlabel\nsoup\thot|good\nlamp\t\n")

    assert read(path, multi_label=True)[0].labels == [("good", "hot"), ()]


def test_rows_without_text_or_label_are_dropped_and_counted_and_the_others_keep_their_ids(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text,label\nsoup,hot\n ,hot\nlamp,\nroom,cold\ncoat,cold\n")

    rows, _, dropped = read(path)

    assert rows.ids == ["train-0", "train-3", "train-4"]
    assert (dropped.without_text, dropped.without_label, dropped.first) == (1, 1, 3)
    assert dropped.in_words() == "1 without text and 1 without label"


def test_nulls_and_missing_keys_are_empty_cells(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [{"text": "soup", "label": 1}, {"text": None, "label": 1}, {"text": "lamp"}, {"text": "coat", "label": 0}]
    path.write_text("\n".join(map(json.dumps, rows)))

    found, _, dropped = read(path)

    assert found.texts == ["soup", "coat"]
    assert (dropped.without_text, dropped.without_label) == (1, 1)


def test_one_text_of_a_pair_may_be_empty(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [{"text": "soup", "pair": None, "label": 1}, {"text": "", "pair": "", "label": 1}]
    path.write_text("\n".join(map(json.dumps, [*rows, {"text": "", "pair": "lamp", "label": 0}])))

    found, _, dropped = read(path, pair="pair")

    assert (found.texts, found.pairs, dropped.without_text) == (["soup", ""], ["", "lamp"], 1)


def test_columns_of_classes_may_all_be_empty_but_not_some(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text,hot,good\nsoup,1,0\nlamp,,\ncoat,0,1\n")

    assert read(path, label=["hot", "good"])[2].without_label == 1
    path.write_text("text,hot,good\nsoup,1,0\nlamp,1,\n")
    with pytest.raises(RowMalformed, match="'good' holds nothing"):
        read(path, label=["hot", "good"])


def test_a_file_that_is_mostly_empty_is_refused_with_the_column_to_check(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text,label\nsoup,hot\nlamp,\nroom,\n")

    with pytest.raises(RowsMostlyEmpty, match=r"(?s)2 without label, of 3 rows.*row 3.*`label`"):
        read(path)


def test_a_missing_label_column_is_reported_with_a_similar_name(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text,toxic,obscene\nsoup,1,0\n")

    with pytest.raises(ColumnMissing, match="did you mean 'obscene'") as caught:
        read(path, label=["toxic", "obscen"], multi_label=True)

    assert caught.value.column == "obscen"


@pytest.mark.parametrize("label", [["food", "price", "price"], ["food", "price", 2]])
def test_a_label_column_that_is_named_twice_is_reported(tmp_path: Path, label: list[str | int]) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text,food,price\nsoup,1,0\n")

    with pytest.raises(FileUnreadable, match="'price' twice"):
        read(path, label=label, multi_label=True)


def test_lists_written_as_text_are_sets_of_labels(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('text,label\nsoup,"[""hot"", ""good""]"\nlamp,[]\n')

    assert read(path, multi_label=True)[0].labels == [("good", "hot"), ()]


def test_a_value_that_is_not_a_number_is_reported_with_its_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text,toxic,obscene\nsoup,1,0\n\nlamp,1,maybe\n")

    with pytest.raises(RowMalformed, match="'obscene' holds 'maybe'") as caught:
        read(path, label=["toxic", "obscene"])

    assert caught.value.row == 4


def test_a_header_alone_is_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text,label\n")

    with pytest.raises(FileEmpty):
        read(path, multi_label=True)
