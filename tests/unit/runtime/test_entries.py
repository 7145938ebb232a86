import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from limbeck.runtime.lines import Lines

from limbeck.errors import ColumnMissing, NothingToPredict, RowMalformed
from limbeck.runtime import entries
from limbeck.runtime.entries import Entry, Table, Wanted, detect_format, json_entries, line_entries

SINGLE = Wanted(text=None, pair=None, is_pair=False)
PAIR = Wanted(text=None, pair=None, is_pair=True)
HERE = Path("rows")


@pytest.fixture
def pythons_own_field_limit() -> Iterator[None]:
    before = csv.field_size_limit(131_072)
    yield
    csv.field_size_limit(before)


def lines_of(text: str, *, name: str = "rows") -> Lines:
    return Lines(io.BytesIO(text.encode()), path=Path(name))


def table(
    text: str, *, wanted: Wanted = SINGLE, format: Literal["csv", "tsv"] = "csv", header: bool = True
) -> list[Entry]:
    return list(Table(lines_of(text), wanted, format=format, header=header).entries())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.csv", "csv"),
        ("a.CSV.gz", "csv"),
        ("a.tsv", "tsv"),
        ("a.jsonl.gz", "jsonl"),
        ("a.ndjson", "jsonl"),
        ("a.txt", "lines"),
    ],
)
def test_a_files_ending_tells_its_format(name: str, expected: str) -> None:
    assert detect_format(lines_of("{whatever", name=name), columns_named=False) == expected


@pytest.mark.parametrize(
    ("text", "columns_named", "expected"),
    [
        ('{"text": "a"}', False, "jsonl"),
        ("a,b", False, "lines"),
        ("a,b", True, "csv"),
        ("a\tb", True, "tsv"),
        ("", False, "lines"),
    ],
)
def test_the_first_line_tells_the_format_of_a_stream(text: str, columns_named: bool, expected: str) -> None:
    assert detect_format(lines_of(text, name="<stdin>"), columns_named=columns_named) == expected


def test_formats_that_cannot_be_streamed_are_refused() -> None:
    with pytest.raises(NothingToPredict, match=r"does not read \.parquet"):
        detect_format(lines_of("", name="a.parquet"), columns_named=False)


def test_the_text_column_is_text_or_the_only_one() -> None:
    assert SINGLE.among(["id", "text"], path=HERE) == ("text",)
    assert SINGLE.among(["review"], path=HERE) == ("review",)
    with pytest.raises(ColumnMissing, match="its columns: id, review"):
        SINGLE.among(["id", "review"], path=HERE)


def test_the_columns_of_a_pair_are_text_and_pair_or_the_only_two() -> None:
    assert PAIR.among(["pair", "text"], path=HERE) == ("text", "pair")
    assert PAIR.among(["question1", "question2"], path=HERE) == ("question1", "question2")
    with pytest.raises(ColumnMissing, match="no column 'pair'"):
        PAIR.among(["text", "other", "label"], path=HERE)


def test_a_column_that_is_asked_for_must_be_there() -> None:
    wanted = Wanted(text="reveiw", pair=None, is_pair=False)

    with pytest.raises(ColumnMissing, match=r"did you mean 'review'\?[\s\S]*--text"):
        wanted.among(["review"], path=HERE)


def test_csv_rows_keep_all_their_columns() -> None:
    (entry,) = table('id,text,stars\n7,"a ""gorgeous"", witty\nfilm",4\n')

    assert entry.row == 'a "gorgeous", witty\nfilm'
    assert entry.values == ["7", 'a "gorgeous", witty\nfilm', "4"]
    assert entry.columns == ["id", "text", "stars"]


def test_quotes_are_plain_characters_in_tsv() -> None:
    (entry,) = table('text\tid\n"a" film "\t7\n', format="tsv")

    assert entry.row == '"a" film "'


def test_without_a_header_columns_have_numbers() -> None:
    wanted = Wanted(text=1, pair="0", is_pair=True)

    first, second = table("a,b\nc,d\n", wanted=wanted, header=False)

    assert (first.row, second.row) == (("b", "a"), ("d", "c"))


def test_empty_lines_of_a_csv_file_are_left_out() -> None:
    assert [entry.row for entry in table("text\na\n\nb\n\n")] == ["a", "b"]


def test_a_row_with_too_few_or_too_many_fields_is_refused_with_its_line() -> None:
    with pytest.raises(RowMalformed, match="row 3: 3 fields where there are 2 columns"):
        table("text,id\na,1\nb,c,2\n")


def test_a_quote_that_is_never_closed_is_refused() -> None:
    with pytest.raises(RowMalformed, match="not valid csv"):
        table('text,id\na,1\n"b,2\nc,3\n')


@pytest.mark.usefixtures("pythons_own_field_limit")
def test_a_quote_that_is_never_closed_is_found_before_memory_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "LONGEST_FIELD", 200_000)
    endless = lines_of('text\n"' + "a line\n" * 100_000)

    with pytest.raises(RowMalformed, match="field larger than field limit"):
        list(Table(endless, SINGLE, format="csv", header=True).entries())

    assert endless.number < 100_000


@pytest.mark.usefixtures("pythons_own_field_limit")
def test_fields_beyond_pythons_usual_limit_are_read() -> None:
    long_text = "word " * 40_000

    assert table(f"text\n{long_text}\n")[0].row == long_text


def test_an_empty_file_is_an_empty_table() -> None:
    assert table("") == []


def test_json_lines_keep_the_whole_object() -> None:
    (entry,) = json_entries(lines_of('\n{"id": 7, "text": "a film", "tags": ["x"]}\n'), SINGLE)

    assert entry == Entry(row="a film", columns=["id", "text", "tags"], values=[7, "a film", ["x"]])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{'text': 1}", "not valid JSON"),
        ("[1]", "a JSON list, not an object"),
        ('{"text": null}', "no text under 'text'"),
        ('{"id": 1}', "no text under 'text'"),
    ],
)
def test_a_json_line_without_a_text_is_refused_with_its_line(line: str, reason: str) -> None:
    rows = json_entries(lines_of(f'{{"text": "fine"}}\n{line}\n'), SINGLE)

    with pytest.raises(RowMalformed, match=f"row 2: {reason}"):
        list(rows)


def test_every_plain_line_is_a_row_even_an_empty_one() -> None:
    assert [entry.row for entry in line_entries(lines_of("a\tb\n\nc\n"), SINGLE)] == ["a\tb", "", "c"]


def test_plain_lines_of_pairs_have_a_tab_between() -> None:
    rows = line_entries(lines_of("a\tb\tc\nd\n"), PAIR)

    assert next(rows).row == ("a", "b\tc")
    with pytest.raises(RowMalformed, match="row 2: no tab"):
        next(rows)


def test_plain_lines_have_no_columns_to_ask_for() -> None:
    with pytest.raises(NothingToPredict, match="no columns"):
        next(line_entries(lines_of("a\n"), Wanted(text="text", pair=None, is_pair=False)))
