"""The table of what every model answered."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from limbeck.artifacts.predictions import METADATA, Predictions, save_predictions
from limbeck.artifacts.rows import Rows

ROWS = Rows.of(ids=["test-0", "test-1", "test-2"], texts=["soup", "lamp", "river"], labels=[0, 1, 0])
LOGITS = np.array([[2.0, -2.0], [-1.0, 1.0]], dtype=np.float32)


def test_every_answer_is_on_the_line_of_its_row_and_missing_ones_are_null(tmp_path: Path) -> None:
    partial = Predictions(np.array([2, 0]), [["hot"], ["cold"]], np.array([0.75, 0.5]), LOGITS, temperature=1.5)

    save_predictions(
        tmp_path,
        {"teacher": partial},
        rows=ROWS,
        labels=[["hot"], ["cold"], ["hot"]],
        classes=["hot", "cold"],
        multi_label=False,
    )

    table = pq.read_table(tmp_path / "predictions.parquet")
    assert table.column_names == ["id", "text", "label", "teacher", "teacher probability", "teacher logits"]
    assert table.to_pylist() == [
        {
            "id": "test-0",
            "text": "soup",
            "label": "hot",
            "teacher": "cold",
            "teacher probability": 0.5,
            "teacher logits": [-1.0, 1.0],
        },
        {
            "id": "test-1",
            "text": "lamp",
            "label": "cold",
            "teacher": None,
            "teacher probability": None,
            "teacher logits": None,
        },
        {
            "id": "test-2",
            "text": "river",
            "label": "hot",
            "teacher": "hot",
            "teacher probability": 0.75,
            "teacher logits": [2.0, -2.0],
        },
    ]
    facts = json.loads(table.schema.metadata[METADATA])
    assert facts == {"classes": ["hot", "cold"], "temperatures": {"teacher": 1.5}}


def test_several_labels_are_lists_and_pairs_have_both_texts(tmp_path: Path) -> None:
    rows = Rows.of(ids=["dev-0"], texts=["soup"], pairs=["spoon"], labels=np.array([[1, 1]]))
    found = Predictions(np.array([0]), [[]], np.array([0.9]), LOGITS[:1], temperature=1.0)

    save_predictions(
        tmp_path, {"bag": found}, rows=rows, labels=[["hot", "cold"]], classes=["hot", "cold"], multi_label=True
    )

    (row,) = pq.read_table(tmp_path / "predictions.parquet").to_pylist()
    assert (row["pair"], row["label"], row["bag"]) == ("spoon", ["hot", "cold"], [])
    assert row["bag probability"] == pytest.approx(0.9)
