"""Rows to predict: which columns are asked for, and what each row carries along."""

import io
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from limbeck.errors import ColumnMissing, FileUnreadable, NothingToPredict, RowMalformed
from limbeck.runtime.entries import Entry, Trained, Wanted, opened_rows
from limbeck.tables.raw_table import RawTable

SINGLE, PAIR = Wanted(), Wanted(is_pair=True)


def columns(*names: str) -> RawTable:
    """A table with these columns and no rows."""
    return RawTable(path=Path("rows"), columns=names, is_named=True, rows=lambda _: iter(()))


def read(text: str, wanted: Wanted = SINGLE, **how: Any) -> list[Entry]:
    with opened_rows(io.BytesIO(text.encode()), wanted, **how) as rows:
        return list(rows.entries())


def test_the_text_column_is_text_or_the_only_one() -> None:
    assert SINGLE.among(columns("id", "text")) == (1,)
    assert SINGLE.among(columns("review")) == (0,)
    with pytest.raises(ColumnMissing, match="its columns: id, review"):
        SINGLE.among(columns("id", "review"))


def test_the_columns_of_a_pair_are_text_and_pair_or_the_only_two() -> None:
    assert PAIR.among(columns("pair", "text")) == (1, 0)
    assert PAIR.among(columns("question1", "question2")) == (0, 1)
    with pytest.raises(ColumnMissing, match="no column 'pair'"):
        PAIR.among(columns("text", "other", "label"))


def test_a_column_that_is_asked_for_must_be_there() -> None:
    with pytest.raises(ColumnMissing, match=r"did you mean 'review'\?[\s\S]*--text"):
        Wanted(text="reveiw").among(columns("review"))
    with pytest.raises(ColumnMissing, match="no column '2'"):
        Wanted(text="2").among(columns("a", "b"))


def test_a_column_may_be_asked_for_by_number_unless_one_has_that_name() -> None:
    assert Wanted(text="1").among(columns("a", "b")) == (1,)
    assert Wanted(text="1").among(columns("a", "b", "1")) == (2,)
    assert Wanted(text=0, pair="b", is_pair=True).among(columns("a", "b")) == (0, 1)


@pytest.mark.parametrize("trained", [Trained(text="review"), Trained(text=1)])
def test_columns_that_are_not_given_are_those_of_training(trained: Trained) -> None:
    assert Wanted(trained=trained).among(columns("id", "review")) == (1,)
    assert Wanted(trained=trained).among(columns("text", "review")) == (0,)
    assert Wanted(text="id", trained=trained).among(columns("id", "review")) == (0,)


def test_a_number_of_training_that_is_not_there_is_not_taken() -> None:
    with pytest.raises(ColumnMissing, match="no column 'text'"):
        Wanted(trained=Trained(text=5)).among(columns("id", "review"))


def test_a_file_has_the_header_and_the_quotes_of_those_in_training() -> None:
    without = Wanted(trained=Trained(text=1, header=False, quoting=False))

    assert [entry.row for entry in read('1,"a"\n2,b\n', without, format="csv")] == ['"a"', "b"]
    assert [entry.row for entry in read('1,"a"\n2,b\n', without, format="csv", header=True, quoting=True)] == ["b"]


def test_a_txt_file_is_a_table_where_training_had_one_and_it_has_tabs(tmp_path: Path) -> None:
    """Training reads .txt as tsv; as plain lines, label and all would be the text."""
    path = tmp_path / "rows.txt"
    wanted = Wanted(trained=Trained(text=1, header=False, had_tabs=True))
    for content, texts in {
        "x\ta film\ny\ta road\n": ["a film", "a road"],
        "a film\na road\n": ["a film", "a road"],
    }.items():
        path.write_text(content, encoding="utf-8")
        with opened_rows(path, wanted) as rows:
            assert [entry.row for entry in rows.entries()] == texts
    path.write_text("a film\ta road\n", encoding="utf-8")
    with opened_rows(path, Wanted(is_pair=True, trained=wanted.trained)) as rows:
        assert [entry.row for entry in rows.entries()] == [("a film", "a road")]


def test_csv_rows_keep_all_their_columns() -> None:
    (entry,) = read('id,text,stars\n7," a ""gorgeous"", witty\nfilm",4\n', format="csv")

    assert entry.row == ' a "gorgeous", witty\nfilm'
    assert entry.values == ["7", ' a "gorgeous", witty\nfilm', "4"]
    assert entry.columns == ["id", "text", "stars"]


def test_quotes_are_plain_characters_in_tsv() -> None:
    (entry,) = read('text\tid\n"a" film "\t7\n', format="tsv")

    assert entry.row == '"a" film "'


def test_without_a_header_columns_have_numbers() -> None:
    wanted = Wanted(text=1, pair="0", is_pair=True)

    first, second = read("a,b\nc,d\n", wanted, format="csv", header=False)

    assert (first.row, second.row) == (("b", "a"), ("d", "c"))


def test_without_a_header_cells_are_cut_as_in_training() -> None:
    assert [entry.row for entry in read("1;a, b\n2;c\n", Wanted(text=1), format="csv", header=False)] == ["a, b", "c"]


def test_a_row_with_too_few_or_too_many_fields_is_refused_with_its_line() -> None:
    with pytest.raises(RowMalformed, match="row 3: 3 cells instead of 2"):
        read("text,id\na,1\nb,c,2\n", format="csv")


def test_advice_names_options_and_not_keys_of_a_recipe() -> None:
    with pytest.raises(RowMalformed, match="not valid csv") as refusal:
        read('text,id\na,1\n"b,2\nc,3\n', format="csv")

    assert "--no-quoting" in str(refusal.value)
    assert "recipe" not in str(refusal.value)


def test_an_empty_file_has_no_rows() -> None:
    assert [read("", format=format) for format in ("csv", "tsv", "jsonl", "lines")] == [[], [], [], []]


def test_json_lines_keep_the_whole_object() -> None:
    (entry,) = read('\n{"id": 7, "text": "a film", "tags": ["x"]}\n')

    assert entry == Entry(row="a film", columns=["id", "text", "tags"], values=[7, "a film", ["x"]])


def test_json_rows_may_have_keys_of_their_own_and_texts_that_are_numbers() -> None:
    first, second = read('[{"text": "a", "id": 1}, {"more": null, "text": 1984}]')

    assert (first.row, second.row) == ("a", "1984")
    assert (second.columns, second.values) == (["more", "text"], [None, 1984])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{'text': 1}", "not valid JSON"),
        ("[1]", "a list and no object"),
        ('{"text": null}', "`text` is null"),
        ('{"id": 1}', "`text` is missing"),
    ],
)
def test_a_json_line_without_a_text_is_refused_with_its_line(line: str, reason: str) -> None:
    with pytest.raises(RowMalformed, match=f"row 2: .*{reason}"):
        read(f'{{"text": "fine"}}\n{line}\n')


def test_every_plain_line_is_a_row_even_an_empty_one() -> None:
    assert [entry.row for entry in read(" a\tb\n\nc\n")] == [" a\tb", "", "c"]


def test_plain_lines_of_pairs_have_a_tab_between() -> None:
    assert [entry.row for entry in read("a\tb\tc\n", PAIR)] == [("a", "b\tc")]
    with pytest.raises(RowMalformed, match="row 2: no tab"):
        read("a\tb\tc\nd\n", PAIR)


def test_plain_lines_have_no_columns_to_ask_for() -> None:
    with pytest.raises(NothingToPredict, match="no columns"):
        read("a\n", Wanted(text="text"), format="lines")


def test_a_stream_is_a_table_where_columns_are_asked_for() -> None:
    assert [entry.row for entry in read("a,b\n1,2\n", Wanted(text="b"))] == ["2"]
    assert [entry.row for entry in read("a\tb\n1\t2\n", Wanted(text="b"))] == ["2"]


def test_spreadsheets_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "rows.xlsx").write_bytes(b"PK\x03\x04")

    with pytest.raises(FileUnreadable, match="as csv"), opened_rows(tmp_path / "rows.xlsx", SINGLE):
        pass


def test_parquet_is_known_by_its_ending_by_its_first_bytes_and_out_of_a_pipe(tmp_path: Path) -> None:
    table = pa.table({"id": [1, 2], "text": ["a", " b"]})
    for name in ("rows.parquet", "rows"):
        pq.write_table(table, tmp_path / name)
        with opened_rows(tmp_path / name, SINGLE) as rows:
            assert [(entry.row, entry.values) for entry in rows.entries()] == [("a", (1, "a")), (" b", (2, " b"))]
    reading, writing = os.pipe()
    os.write(writing, (tmp_path / "rows").read_bytes())
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe, opened_rows(pipe, SINGLE) as rows:
        assert [chunk.rows for chunk in rows.chunks(1)] == [["a"], [" b"]]


def test_a_null_text_of_a_parquet_file_is_refused_with_its_row(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["a", "b", None]}), tmp_path / "rows.parquet")

    with opened_rows(tmp_path / "rows.parquet", SINGLE) as rows, pytest.raises(RowMalformed) as caught:
        list(rows.chunks(2))

    assert caught.value.row == 3
