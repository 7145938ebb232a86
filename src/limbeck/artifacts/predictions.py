"""What every model of a report answered, row by row, as a table that anyone can recompute its numbers from."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from limbeck.artifacts.rows import Rows

PREDICTIONS = "predictions.parquet"
METADATA = b"limbeck"  # of the file: {"classes": […], "temperatures": {model: number}} as JSON

Floats = npt.NDArray[np.floating]


@dataclass(frozen=True)
class Predictions:
    """The answers of one model, by its shipped copy."""

    places: npt.NDArray[np.int64]  # (answered) among the judged rows: a teacher that is a file may lack some
    labels: Sequence[Sequence[str]]  # (answered) names of the classes that it predicts
    probability: Floats  # (answered) of that prediction, at the model's temperature
    logits: Floats  # (answered, classes) before it
    temperature: float


def save_predictions(
    folder: Path,
    models: Mapping[str, Predictions],
    *,
    rows: Rows,
    labels: Sequence[Sequence[str]],
    classes: Sequence[str],
    multi_label: bool,
) -> None:
    """Write predictions.parquet into a scratch folder.

    The judged rows in their order: `id`, `text`, `pair` and `label`; for each model NAME, by its name in report.json,
    the columns `NAME`, its label, `NAME probability` and `NAME logits` in the order of the classes. With several labels
    per row, labels are lists. A row that a model did not answer holds nulls.
    """
    columns = {"id": pa.array(rows.ids), "text": pa.array(rows.texts, pa.large_string())}
    if rows.pairs is not None:
        columns["pair"] = pa.array(rows.pairs, pa.large_string())
    columns["label"] = _labels(labels, multi_label=multi_label)
    for name, of_model in models.items():
        columns |= _columns(name, of_model, rows=len(rows), multi_label=multi_label)
    facts = {"classes": list(classes), "temperatures": {name: one.temperature for name, one in models.items()}}
    table = pa.table(columns).replace_schema_metadata({METADATA: json.dumps(facts, ensure_ascii=False).encode()})
    pq.write_table(table, folder / PREDICTIONS, compression="zstd")


def _columns(name: str, found: Predictions, *, rows: int, multi_label: bool) -> dict[str, pa.Array]:
    at = np.full(rows, -1)
    at[found.places] = np.arange(len(found.places))
    order = pa.array(at, pa.int64(), mask=at < 0)  # a null takes a null
    probability = pa.array(np.asarray(found.probability, dtype=np.float32))
    flat = pa.array(np.ascontiguousarray(found.logits, dtype=np.float32).reshape(-1))
    starts = np.arange(len(found.logits) + 1, dtype=np.int32) * found.logits.shape[1]
    return {
        name: _labels(found.labels, multi_label=multi_label).take(order),
        f"{name} probability": probability.take(order),
        f"{name} logits": pa.ListArray.from_arrays(pa.array(starts), flat).take(order),
    }


def _labels(names: Sequence[Sequence[str]], *, multi_label: bool) -> pa.Array:
    if multi_label:
        return pa.array([list(of_row) for of_row in names], pa.list_(pa.string()))
    return pa.array([of_row[0] for of_row in names], pa.string())
