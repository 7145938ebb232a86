"""Rows of a spreadsheet, by a stand-in for openpyxl, which need not be installed."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from limbeck.drafting.inspection import inspect_file
from limbeck.errors import FileEmpty, FileMissing, FileUnreadable
from limbeck.tables import Record, TableForm, read_table

CELLS: list[tuple[Any, ...]] = [
    ("id", "text", "label", None),
    (1, "fine, really", True, None),
    (None, None, None, None),
    (2.0, "so so", False, None),
    (3, "bad", None, None),
    (4, None, True, None),
    *((number, f"a fine day, number {number}", number % 2 == 0, None) for number in range(5, 25)),
]


@pytest.fixture
def sheet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A path that the stand-in reads as CELLS."""
    path = tmp_path / "rows.xlsx"
    path.write_bytes(b"PK")

    def load(given: Path, **options: bool) -> Any:
        assert (given, options) == (path, {"read_only": True, "data_only": True})
        first = SimpleNamespace(iter_rows=lambda values_only: iter(CELLS if values_only else ()))
        return SimpleNamespace(worksheets=[first, None], close=lambda: None)

    module = ModuleType("openpyxl")
    monkeypatch.setattr(module, "load_workbook", load, raising=False)
    monkeypatch.setitem(sys.modules, "openpyxl", module)
    return path


def test_cells_are_text_and_rows_have_the_numbers_of_the_sheet(sheet: Path) -> None:
    rows = list(read_table(sheet, form=TableForm(), columns={"id": "id", "text": "text"}))

    assert rows[:2] == [Record(2, ("1", "fine, really")), Record(4, ("2", "so so"))]
    assert rows[3] == Record(6, ("4", ""))


def test_a_sheet_is_inspected_like_a_file_of_rows(sheet: Path) -> None:
    found = inspect_file(sheet)

    assert (found.text, found.label, found.labels) == ("text", "label", {"false": 11, "true": 11})
    assert (found.form.format, found.form.encoding, found.form.header) == ("auto", "utf-8", True)
    assert "rows.xlsx: first sheet, with a header, 22 rows" in found.summary()
    assert "rows that are dropped: 1 without text and 1 without label" in found.summary()


def test_a_sheet_without_rows_or_that_is_not_there_is_reported(sheet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileMissing):
        list(read_table(sheet.with_name("other.xlsx"), form=TableForm(), columns={"text": 0}))
    monkeypatch.setattr("tests.unit.tables.test_sheet.CELLS", [(None, None)])
    with pytest.raises(FileEmpty):
        list(read_table(sheet, form=TableForm(), columns={"text": 0}))


def test_without_the_package_the_way_out_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    (tmp_path / "rows.xlsx").write_bytes(b"PK")

    with pytest.raises(FileUnreadable, match=r"(?s)openpyxl.*as csv.*pip install openpyxl"):
        inspect_file(tmp_path / "rows.xlsx")
