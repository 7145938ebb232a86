"""What stands between the cells of a csv file is told by its first lines."""

from pathlib import Path

import pytest
from limbeck.delimiters import csv_delimiter

from limbeck.tables import Record, TableForm, read_table


@pytest.mark.parametrize(
    ("lines", "sign"),
    [
        (["text,label\n", "fine; really,1\n"], ","),
        (["text;label\n", "fine;1\n", "so-so, at best;0\n"], ";"),
        (["text|label\n", "fine|1\n"], "|"),
        (['"a, b";label\n', '"c, d";1\n'], ";"),  # the commas are inside of cells
        (["text\n", "fine; really\n"], ","),  # one column, whose texts have a ; at times
        (["fine; really\n", "not at all\n", "so; so\n", "well\n"], ","),
        (["text;label\n", "fine;1\n", '"goes on;\n'], ";"),  # the last row goes on behind these lines
        (["text\n"], ","),
        ([], ","),
    ],
)
def test_a_comma_unless_the_rows_agree_on_another(lines: list[str], sign: str) -> None:
    assert csv_delimiter(lines) == sign


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_file_of_a_spreadsheet_that_writes_semicolons_is_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('text;label\n"fine; really";1\nso-so, at best;0\n', encoding=encoding)

    rows = read_table(path, form=TableForm(encoding=encoding), columns={"text": "text", "label": "label"})

    assert [*rows] == [Record(2, ("fine; really", "1")), Record(3, ("so-so, at best", "0"))]
