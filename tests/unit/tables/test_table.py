"""The one way to read every kind of file."""

import gzip
from pathlib import Path

import pytest

from limbeck.errors import ColumnMissing, FileEmpty, RowMalformed
from limbeck.recipe.corpus import Column, CorpusSection
from limbeck.recipe.transfer import Transfer
from limbeck.tables import Record, TableForm, read_table
from limbeck.tables.table import open_table

PLAIN_TEXT = TableForm(txt_holds="lines")


def written(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


def test_a_txt_file_is_tab_separated_in_a_corpus_and_plain_lines_as_transfer_text(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.txt", "a\t1\n\n  b\t0  \n")
    corpus = TableForm.of(CorpusSection(train="rows.txt", header=False))
    transfer = TableForm.of(Transfer(files=["rows.txt"]), txt_holds="lines")

    as_rows = list(read_table(path, form=corpus, columns={"label": 1, "text": 0}))
    as_lines = list(read_table(path, form=transfer, columns={"text": "text"}))

    assert as_rows == [Record(1, ("1", "a")), Record(3, ("0", "  b"))]
    assert as_lines == [Record(1, ("a\t1",)), Record(3, ("b\t0",))]


def test_quotes_are_plain_characters_in_tsv_unless_the_recipe_says_otherwise(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.tsv", 'text\tlabel\n"a"\t1\n')
    columns: dict[str, Column] = {"text": "text"}

    assert [row.values for row in read_table(path, form=TableForm(), columns=columns)] == [('"a"',)]
    assert [row.values for row in read_table(path, form=TableForm(quoting=True), columns=columns)] == [("a",)]


def test_a_column_may_be_given_by_number_although_there_is_a_header(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.csv", "text,label\nfine,1\n")

    assert list(read_table(path, form=TableForm(), columns={"text": 0, "label": 1})) == [Record(2, ("fine", "1"))]


@pytest.mark.parametrize(
    ("header", "column", "there"),
    [
        (True, "txt", ("text", "label")),
        (True, 2, ("text", "label")),
        (False, 2, ("0", "1")),
        (False, "text", ("0", "1")),
    ],
)
def test_a_column_that_is_not_there_names_those_that_are(
    tmp_path: Path, header: bool, column: Column, there: tuple[str, ...]
) -> None:
    path = written(tmp_path / "rows.csv", "text,label\nfine,1\n")

    with pytest.raises(ColumnMissing) as caught:
        list(read_table(path, form=TableForm(header=header), columns={"text": column}))

    assert caught.value.columns == there


def test_an_empty_label_is_reported_with_its_line_and_an_empty_text_is_not(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.csv", "text,label\n,1\nfine, \n")
    records = read_table(path, form=TableForm(), columns={"text": "text", "label": "label"})

    assert next(records) == Record(2, ("", "1"))
    with pytest.raises(RowMalformed, match="label is empty") as caught:
        next(records)
    assert caught.value.row == 3


def test_white_space_around_a_label_does_not_make_another_label(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.csv", "text,label\na,good \nb, good\n")

    assert {row.values[0] for row in read_table(path, form=TableForm(), columns={"label": "label"})} == {"good"}


def test_where_keeps_only_rows_with_these_values(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.csv", "text,source,year\na,imdb,1\nb,blog,1\nc,imdb,2\n")

    rows = read_table(path, form=TableForm(), columns={"text": "text"}, where={"source": "imdb", "year": "2"})

    assert list(rows) == [Record(4, ("c",))]


def test_where_may_name_a_column_by_its_number(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.csv", "a,imdb\nb,blog\n")

    rows = read_table(path, form=TableForm(header=False), columns={"text": 0}, where={"1": "blog"})

    assert list(rows) == [Record(2, ("b",))]


def test_rows_that_are_all_filtered_away_do_not_make_the_file_empty(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.csv", "text,source\na,imdb\n")

    assert list(read_table(path, form=TableForm(), columns={"text": "text"}, where={"source": "blog"})) == []


@pytest.mark.parametrize(("name", "content"), [("a.csv", ""), ("a.csv", "text,label\n"), ("a.jsonl", "\n")])
def test_a_file_without_rows_is_empty(tmp_path: Path, name: str, content: str) -> None:
    path = written(tmp_path / name, content)

    with pytest.raises(FileEmpty):
        list(read_table(path, form=TableForm(), columns={"text": "text"}))


def test_plain_lines_have_no_label(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.txt", "a\n")

    with pytest.raises(ColumnMissing, match="label"):
        list(read_table(path, form=PLAIN_TEXT, columns={"text": "text", "label": "label"}))


FASTTEXT = (
    '__label__spam __label__now win, "big"\n\n__label__ham  see you\tlater \n__label__a__label__b one\nno label\n'
)


def test_lines_of_fasttext_have_labels_and_a_text(tmp_path: Path) -> None:
    path = tmp_path / "train.ft"
    path.write_text(FASTTEXT, encoding="utf-8")

    table = open_table(path, form=TableForm(format="fasttext"))

    assert (table.columns, table.is_named, table.format) == (["label", "text"], True, "csv")
    assert [*table.rows([1, 0])] == [
        (1, ('win, "big"', "spam|now")),
        (3, ("see you\tlater", "ham")),
        (4, ("one", "a__label__b")),
        (5, ("no label", "")),
    ]


@pytest.mark.parametrize("name", ["train.txt", "train.tsv", "train.txt.gz"])
def test_lines_that_begin_with_labels_of_fasttext_are_known(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    content = b"__label__a one\n__label__b two\n"
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)

    found = read_table(path, form=TableForm(), columns={"text": "text", "label": "label"})

    assert [record.values for record in found] == [("one", "a"), ("two", "b")]
    path.write_bytes(b"text\tlabel\n__label__a one\tb\n")
    assert open_table(path, form=TableForm()).columns == ["text", "label"]
