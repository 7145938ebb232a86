"""Labels as a file that others can read."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_labels import TeacherLabels, save_teacher_labels
from limbeck.errors import PathUnusable
from limbeck.labeling import label_file as module
from limbeck.labeling.label_file import write_label_file

CLASSES = ["negative", "positive"]


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, as the kind it is."""
    match path.suffix:
        case ".jsonl" | ".ndjson":
            return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        case ".csv":
            with path.open(encoding="utf-8", newline="") as file:
                return list(csv.DictReader(file))
        case _:
            return list(pq.read_table(path).to_pylist())


@pytest.mark.parametrize("name", ["labels.jsonl", "labels.ndjson", "labels.csv", "labels.parquet", "labels.pq"])
@pytest.mark.parametrize("rows_at_a_time", [1, 1000])
def test_every_labelled_row_is_written_with_a_probability_for_each_class(
    labels: TeacherLabels,
    splits: dict[str, Rows],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    rows_at_a_time: int,
) -> None:
    monkeypatch.setattr(module, "ROWS_AT_A_TIME", rows_at_a_time)

    written = write_label_file(tmp_path / name, labels, splits=splits, classes=CLASSES, multi_label=False)

    rows = read(tmp_path / name)
    assert written == len(rows) == 5
    assert list(rows[0]) == ["text", "split", "probability_negative", "probability_positive"]
    assert [(row["text"], row["split"]) for row in rows] == [
        ("yes", "train"),
        ("no", "train"),
        ("maybe", "train"),
        ("yes", "train"),
        ("maybe", "transfer"),
    ]
    assert [float(row["probability_negative"]) for row in rows] == pytest.approx([0.25, 0.9, 0.5, 0.25, 0.5])
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".partial"] == []


@pytest.mark.parametrize("name", ["labels.jsonl", "labels.ndjson", "labels.csv", "labels.parquet", "labels.pq"])
def test_texts_of_any_kind_come_back_as_they_were(tmp_path: Path, name: str) -> None:
    texts = ['two\nlines, "quoted"', "三", "", " tab\t"]
    rows = Rows.of(ids=["a", "b", "c", "d"], texts=texts, pairs=texts[::-1])
    save_teacher_labels(tmp_path, ids=rows.ids, logits=np.zeros((4, 2), dtype=np.float32), facts={})

    write_label_file(tmp_path / name, TeacherLabels(tmp_path), splits={"dev": rows}, classes=CLASSES, multi_label=True)

    assert [row["text"] for row in read(tmp_path / name)] == texts
    assert [row["pair"] for row in read(tmp_path / name)] == texts[::-1]


def test_an_ending_that_says_nothing_is_refused_before_anything_is_written(
    labels: TeacherLabels, splits: dict[str, Rows], tmp_path: Path
) -> None:
    with pytest.raises(PathUnusable, match=r"\.csv, \.jsonl, .*\.parquet"):
        write_label_file(tmp_path / "labels.txt", labels, splits=splits, classes=CLASSES, multi_label=False)

    assert not list(tmp_path.glob("labels.txt*"))


def test_a_file_that_could_not_be_finished_leaves_nothing_behind(
    labels: TeacherLabels, splits: dict[str, Rows], tmp_path: Path
) -> None:
    splits = {**splits, "broken": "no rows"}  # type: ignore[dict-item]  # something to stumble over half-way

    with pytest.raises(AttributeError):
        write_label_file(tmp_path / "labels.csv", labels, splits=splits, classes=CLASSES, multi_label=False)

    assert not list(tmp_path.glob("labels.csv*"))
