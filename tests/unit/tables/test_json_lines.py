"""Rows of jsonl files."""

from pathlib import Path

import pytest

from limbeck.errors import ColumnMissing, FileEmpty, RowMalformed
from limbeck.tables import Record, TableForm, read_table

COLUMNS = {"text": "text", "label": "label"}


def rows_of(folder: Path, *lines: str) -> list[Record]:
    path = folder / "rows.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return list(read_table(path, form=TableForm(), columns=COLUMNS))


def test_keys_may_come_in_any_order_and_blank_lines_are_skipped(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, '{"text": "a\\nb", "label": "x"}', "", '{"label": "y", "more": [], "text": "好"}')

    assert rows == [(1, ("a\nb", "x")), (3, ("好", "y"))]


@pytest.mark.parametrize(
    ("written", "label"), [("1", "1"), ("1.0", "1"), ("0.5", "0.5"), ("true", "true"), ("false", "false"), ("-2", "-2")]
)
def test_labels_that_are_no_text_become_text(tmp_path: Path, written: str, label: str) -> None:
    assert rows_of(tmp_path, f'{{"text": "a", "label": {written}}}') == [(1, ("a", label))]


def test_a_number_as_text_becomes_text(tmp_path: Path) -> None:
    assert rows_of(tmp_path, '{"text": 1984, "label": "book"}') == [(1, ("1984", "book"))]


def test_a_key_that_the_first_row_lacks_is_a_missing_column(tmp_path: Path) -> None:
    with pytest.raises(ColumnMissing, match="txt"):
        rows_of(tmp_path, '{"txt": "a", "label": 1}')


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        ('{"label": 1}', "`text` is missing"),
        ('{"text": null, "label": 1}', "`text` is null"),
        ('{"text": ["a"], "label": 1}', "`text` is a list"),
        ('{"text": "a", "label": NaN}', "`label` is null"),
        ('{"text": "a", "label": " "}', "label is empty"),
        ('{"text": "a", "label": 1', "not valid JSON"),
        ('["a", 1]', "no object"),
        ('{"text": "\\ud83d", "label": 1}', "surrogate"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
def test_a_later_row_of_another_form_is_reported_with_its_line(tmp_path: Path, second: str, reason: str) -> None:
    with pytest.raises(RowMalformed, match=reason) as caught:
        rows_of(tmp_path, '{"text": "a", "label": 1}', second)

    assert caught.value.row == 2


def test_a_whole_surrogate_pair_is_one_character(tmp_path: Path) -> None:
    assert rows_of(tmp_path, '{"text": "\\ud83d\\ude00", "label": 1}') == [(1, ("😀", "1"))]


def test_a_file_of_blank_lines_is_empty(tmp_path: Path) -> None:
    with pytest.raises(FileEmpty):
        rows_of(tmp_path, "", " ")
