"""Rows of csv and tsv files."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from limbeck.errors import FileEmpty, RowMalformed
from limbeck.tables import delimited
from limbeck.tables.delimited import delimited_table
from limbeck.tables.formats import TableForm
from limbeck.tables.opening import TextInput
from limbeck.tables.raw_table import NumberedCells


def rows_of(
    path: Path, content: str, *, format: Literal["csv", "tsv"] = "csv", header: bool = True, quoting: bool = True
) -> list[NumberedCells]:
    path.write_text(content, encoding="utf-8", newline="")
    form = TableForm(header=header, quoting=quoting)
    table = delimited_table(TextInput(path), format=format, form=form)
    return [(number, tuple(cells)) for number, cells in table.rows(range(len(table.columns)))]


@pytest.fixture
def field_limit() -> Iterator[int]:
    """Python's own, for a while: it is one for the whole process."""
    before = csv.field_size_limit(131_072)
    yield 131_072
    csv.field_size_limit(before)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows.csv"


def test_a_quoted_cell_may_hold_the_delimiter_quotes_and_line_ends(path: Path) -> None:
    rows = rows_of(path, 'text,label\n"well, ""fine""\nindeed",1\nplain,0\n')

    assert rows == [(2, ('well, "fine"\nindeed', "1")), (4, ("plain", "0"))]


def test_without_quoting_a_quote_is_a_plain_character(path: Path) -> None:
    rows = rows_of(path, 'text\tlabel\n"so it begins\t1\nit ends" here\t0\n', format="tsv", quoting=False)

    assert rows == [(2, ('"so it begins', "1")), (3, ('it ends" here', "0"))]


@pytest.mark.parametrize("quoting", [True, False])
def test_line_ends_of_other_systems_and_a_missing_last_one_do_no_harm(path: Path, quoting: bool) -> None:
    rows = rows_of(path, "text,label\r\none,1\r\ntwo,0", quoting=quoting)

    assert rows == [(2, ("one", "1")), (3, ("two", "0"))]


def test_a_quoted_cell_may_follow_a_blank(path: Path) -> None:
    rows = rows_of(path, 'id, text\n1, plain\n2, "bread, and butter"\n')

    assert rows == [(2, ("1", "plain")), (3, ("2", "bread, and butter"))]


@pytest.mark.parametrize("quoting", [True, False])
def test_a_line_that_declares_the_separator_is_no_row_but_counts_as_a_line(path: Path, quoting: bool) -> None:
    rows = rows_of(path, "sep=;\r\ntext;label\r\none, two;1\r\n", quoting=quoting)

    assert rows == [(3, ("one, two", "1"))]


def test_commas_in_a_file_of_one_column_are_said_to_need_another_format(path: Path) -> None:
    with pytest.raises(RowMalformed, match=r"(?s)row 2: 2 cells instead of 1.*one text, say format = \"lines\""):
        rows_of(path, "text\nwell, fine\nbad\n")


@pytest.mark.parametrize("quoting", [True, False])
def test_blank_lines_are_no_rows_but_count_as_lines(path: Path, quoting: bool) -> None:
    rows = rows_of(path, "text,label\n\none,1\n  \n\ntwo,0\n\n", quoting=quoting)

    assert rows == [(3, ("one", "1")), (6, ("two", "0"))]


def test_an_empty_line_of_a_single_column_is_no_row_and_an_empty_cell_in_quotes_is(path: Path) -> None:
    assert rows_of(path, "one\n\ntwo\n", header=False, quoting=False) == [(1, ("one",)), (3, ("two",))]
    assert rows_of(path, 'one\n\n""\n', header=False) == [(1, ("one",)), (3, ("",))]


def test_without_quoting_a_stray_carriage_return_and_odd_separators_stay_in_the_text(path: Path) -> None:
    rows = rows_of(path, "a\rb\u2028c\x0bd,1\n", header=False, quoting=False)

    assert rows == [(1, ("a\rb\u2028c\x0bd", "1"))]


def test_nul_bytes_stay_in_the_text(path: Path) -> None:
    assert rows_of(path, "a\x00b,1\n", header=False) == [(1, ("a\x00b", "1"))]


def test_a_cell_may_be_longer_than_the_csv_module_allows_by_itself(path: Path) -> None:
    text = "word " * 40_000

    assert rows_of(path, f"text,label\n{text},1\n") == [(2, (text, "1"))]


def test_a_quote_that_is_never_closed_is_found_before_memory_is_full(
    path: Path, monkeypatch: pytest.MonkeyPatch, field_limit: int
) -> None:
    monkeypatch.setattr(delimited, "LONGEST_CELL", 2 * field_limit)

    with pytest.raises(RowMalformed, match="field larger than field limit"):
        rows_of(path, 'text\n"' + "a line\n" * 100_000)


def test_a_row_with_too_many_cells_is_reported_with_both_counts(path: Path) -> None:
    with pytest.raises(RowMalformed, match="3 cells instead of 2") as caught:
        rows_of(path, "text,label\nfine,1\nwell, fine,1\n")

    assert caught.value.row == 3


def test_too_few_cells_in_a_quoted_file_advise_that_quotes_may_be_plain(path: Path) -> None:
    with pytest.raises(RowMalformed, match="quoting = false"):
        rows_of(path, 'text,label\n"fine,1\nit is",0\nx\n')


def test_a_quote_in_an_unquoted_file_with_uneven_rows_advises_quoting(path: Path) -> None:
    with pytest.raises(RowMalformed, match="quoting = true"):
        rows_of(path, 'text,label\n"well, fine",1\n', quoting=False)


def test_a_quote_that_never_closes_is_reported_where_it_opened(path: Path) -> None:
    with pytest.raises(RowMalformed, match="quoting = false") as caught:
        rows_of(path, 'text,label\nfine,1\n"never,0\nmore,1\n')

    assert caught.value.row == 3


def test_a_file_without_a_line_is_empty(path: Path) -> None:
    with pytest.raises(FileEmpty):
        rows_of(path, "\n \n")


def test_without_a_header_columns_are_numbers(path: Path) -> None:
    path.write_text("one,1\n")

    table = delimited_table(TextInput(path), format="csv", form=TableForm(header=False))

    assert list(table.columns) == ["0", "1"]
