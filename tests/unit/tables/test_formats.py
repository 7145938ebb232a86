"""Which format and dialect a file has is found by its ending and its first lines."""

from pathlib import Path

import pytest

from limbeck.errors import FileUnreadable
from limbeck.tables import Record, TableForm, read_table
from limbeck.tables.formats import CsvSigns, csv_signs, format_by_content, known_format, named_format, unread_columns


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.csv", "csv"),
        ("a.CSV.gz", "csv"),
        ("a.tsv", "tsv"),
        ("a.tab", "tsv"),
        ("a.txt", "tsv"),
        ("a.jsonl", "jsonl"),
        ("a.ndjson.gz", "jsonl"),
        ("a.json", "jsonl"),
        ("a.parquet", "parquet"),
        ("a.pq", "parquet"),
        ("a.dat", None),
        ("a", None),
    ],
)
def test_the_ending_names_the_format(name: str, format: str | None) -> None:
    assert named_format(Path(name)) == format


def test_an_ending_that_names_none_asks_for_a_format() -> None:
    with pytest.raises(FileUnreadable, match="`format`"):
        known_format(Path("rows.dat"))

    assert known_format(Path("rows.dat"), form=TableForm(format="tsv")) == "tsv"


@pytest.mark.parametrize(
    ("name", "advice"), [("a.ods", "as csv"), ("a.XLS", "as csv"), ("a.arrow", "as parquet"), ("a.xls.gz", "as csv")]
)
def test_formats_that_are_not_read_are_refused_with_what_to_do(name: str, advice: str) -> None:
    with pytest.raises(FileUnreadable, match=advice):
        known_format(Path(name))


@pytest.mark.parametrize(
    ("head", "as_table", "as_lines"),
    [
        ('{"text": "a"}', "jsonl", "jsonl"),
        ('\n [ {"text": "a"}]', "jsonl", "jsonl"),
        ('[\n  {"text": "a"}', "jsonl", "jsonl"),
        ("[]", "jsonl", "jsonl"),
        ("[deleted]\n", "csv", "lines"),
        ("a,b\n", "csv", "lines"),
        ("a\tb\n", "tsv", "lines"),
        ("", "csv", "lines"),
    ],
)
def test_without_a_name_the_first_lines_tell_the_format(head: str, as_table: str, as_lines: str) -> None:
    assert format_by_content(lambda _: head, is_table=True) == as_table
    assert format_by_content(lambda _: head, is_table=False) == as_lines


@pytest.mark.parametrize(
    ("lines", "sign"),
    [
        (["text,label\n", "fine; really,1\n"], ","),
        (["text;label\n", "fine;1\n", "so-so, at best;0\n"], ";"),
        (["text|label\n", "fine|1\n"], "|"),
        (["text\tlabel\n", "well, fine\t1\n"], "\t"),
        (['"a, b";label\n', '"c, d";1\n'], ";"),  # the commas are inside of cells
        (["well, fine;1\n", "bad;0\n", "so-so;1\n"], ";"),  # and here inside of one text alone
        (["text\n", "fine; really\n"], ","),  # one column, whose texts have a ; at times
        (["fine; really\n", "not at all\n", "so; so\n", "well\n"], ","),
        (["text;label\n", "fine;1\n", '"goes on;\n'], ";"),  # the last row goes on behind these lines
        (["text,label\n", "fine,1\n", "well, bad,0\n", "so,1\n"], ","),  # and the row that is wrong is reported
        (["text\n"], ","),
        (["text;label\n"], ";"),
        ([], ","),
    ],
)
def test_a_comma_unless_the_rows_agree_on_another(lines: list[str], sign: str) -> None:
    assert csv_signs("".join(lines), header=True).delimiter == sign


def test_a_single_text_is_not_cut_at_its_semicolon() -> None:
    assert csv_signs("fine; really\n", header=False).delimiter == ","
    assert csv_signs("fine; really\nso; so\n", header=False).delimiter == ";"


@pytest.mark.parametrize(
    ("head", "signs"),
    [
        ('id, text\n1, plain\n2, "bread, and butter"\n', CsvSigns(",", skips_blanks=True)),
        ('id; text\n1; plain\n2; "bread; and butter"\n', CsvSigns(";", skips_blanks=True)),
        ('id, text\n1, plain\n2, "bread"\n', CsvSigns(",", skips_blanks=True)),
        ('id, text\n1, "so" he said\n2, bread\n', CsvSigns(",")),
        ("sep=;\nid;text\n1;a, b\n", CsvSigns(";", is_declared=True)),
        ('"SEP=|"\r\nid|text\r\n', CsvSigns("|", is_declared=True)),
        ("sep\nwell\n", CsvSigns(",")),
    ],
)
def test_blanks_before_quotes_and_a_declared_separator_are_recognised(head: str, signs: CsvSigns) -> None:
    assert csv_signs(head, header=True) == signs


@pytest.mark.parametrize(
    ("head", "format"),
    [
        ("id,text\n1,fine\n", "csv"),
        ('id;"text"\n1;fine\n', "csv"),
        ("id\ttext\n1\tfine\n", "tsv"),
        ("text\nfine\n", "lines"),
        ("a text, fine\nwell\n", "lines"),
    ],
)
def test_a_header_with_a_usual_name_makes_lines_a_table(head: str, format: str) -> None:
    assert format_by_content(lambda _: head, is_table=False, names=["text"]) == format


def test_lines_that_look_like_a_table_have_its_columns() -> None:
    assert unread_columns("id,review\n1,fine\n2,bad\n") == ["id", "review"]
    assert unread_columns("id;review\n1;fine, really\n2;bad\n") == ["id", "review"]
    assert unread_columns("fine, really\nwell, no\nso, so\n") == [], "no names"
    assert unread_columns("id,review\n1,fine\n2,bad, really\n3,so, so, so\n") == []
    assert unread_columns("good,bad\n") == [], "too few lines to tell"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_file_of_a_spreadsheet_that_writes_semicolons_is_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('text;label\n"fine; really";1\nso-so, at best;0\n', encoding=encoding)

    rows = read_table(path, form=TableForm(encoding=encoding), columns={"text": "text", "label": "label"})

    assert [*rows] == [Record(2, ("fine; really", "1")), Record(3, ("so-so, at best", "0"))]
