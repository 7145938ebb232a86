"""Rows of JSON files: an object a line, or an array of objects."""

import json
from pathlib import Path

import pytest

from limbeck.errors import ColumnMissing, FileEmpty, RowMalformed
from limbeck.tables import Record, TableForm, opening, read_table

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


ARRAY = [{"text": f'a "text", [{at}] ' + "x" * at, "label": at % 2} for at in range(300)]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("block", [7, 1 << 16])
def test_an_array_of_objects_is_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, indent: int | None, block: int
) -> None:
    monkeypatch.setattr(opening, "BLOCK_BYTES", block)
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(ARRAY, indent=indent), encoding="utf-8")

    rows = read_table(path, form=TableForm(), columns=COLUMNS)

    assert list(rows) == [(at + 1, (row["text"], str(row["label"]))) for at, row in enumerate(ARRAY)]


@pytest.mark.parametrize(
    ("written", "row", "reason"),
    [
        ('[{"text": "a", "label": 1}, ["a", 1]]', 2, "a list and no object"),
        ('[{"text": "a", "label": 1}, {"text": "b" "label": 1}]', 2, "not valid JSON"),
        ('[{"text": "a", "label": 1}, {"text": "b', 2, "not valid JSON"),
        ('[{"text": "a", "label": 1} {"text": "b"}]', 1, "not valid JSON: '{' behind it"),
        ('[{"text": "a", "label": 1},', 2, "not valid JSON"),
        ('[{"text": "a", "label": 1}', 1, "not closed"),
        ('[{"text": "a", "label": 1}] more', 1, "'m' behind the array"),
        ('[{"text": "\\ud83d", "label": 1}]', 1, "surrogate"),
        ('[{"text": "a", "label": 1}, ' + "[" * 100_000, 2, "not valid JSON"),
    ],
)
def test_what_is_wrong_in_an_array_is_reported_with_its_row(
    tmp_path: Path, written: str, row: int, reason: str
) -> None:
    with pytest.raises(RowMalformed, match=reason) as caught:
        rows_of(tmp_path, written)

    assert caught.value.row == row


def test_an_empty_array_is_an_empty_file(tmp_path: Path) -> None:
    with pytest.raises(FileEmpty):
        rows_of(tmp_path, "[ ]")


def test_a_file_of_blank_lines_is_empty(tmp_path: Path) -> None:
    with pytest.raises(FileEmpty):
        rows_of(tmp_path, "", " ")
