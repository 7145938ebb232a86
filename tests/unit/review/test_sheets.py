"""The csv files that a person edits."""

from pathlib import Path

import pytest

from limbeck.errors import FileMissing, FileUnreadable, PathUnusable
from limbeck.review.sheets import LABELS, read_sheet, refuse_edited, write_sheet

ODD = 'a "quoted", text;\nwith\u2028two lines'


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    write_sheet(tmp_path / "a.csv", ["id", "text"], [{"id": "train-0", "text": ODD, "other": "not written"}])

    assert read_sheet(tmp_path / "a.csv") == [{"id": "train-0", "text": ODD}]


def test_what_a_spreadsheet_has_saved_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("\ufeffid;new_label\r\ntrain-0;good\r\n;\r\n".encode())

    assert read_sheet(tmp_path / "a.csv") == [{"id": "train-0", "new_label": "good"}]


def test_a_file_that_is_no_sheet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\na,b\n", encoding="utf-8")
    (tmp_path / "b.csv").write_bytes(b"id,text\n1,\xff\xfe\n")

    with pytest.raises(FileUnreadable, match="no column `id`"):
        read_sheet(tmp_path / "a.csv")
    with pytest.raises(FileUnreadable):
        read_sheet(tmp_path / "b.csv")
    with pytest.raises(FileMissing):
        read_sheet(tmp_path / "c.csv")


def test_work_of_a_person_is_not_written_over(tmp_path: Path) -> None:
    write_sheet(tmp_path / LABELS, ["id", "new_label"], [{"id": "train-0", "new_label": "good"}])

    with pytest.raises(PathUnusable, match="1 of its rows"):
        refuse_edited(tmp_path, force=False)
    refuse_edited(tmp_path, force=True)
    refuse_edited(tmp_path / "elsewhere", force=False)
