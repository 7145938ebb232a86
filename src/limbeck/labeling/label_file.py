"""Exports labels to a file: text, split and a probability for each class, or the score; a teacher of kind "file" can
read it."""

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from limbeck.artifacts.rows import Rows
from limbeck.artifacts.score_scale import ScoreScale
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.errors import PathUnusable
from limbeck.labeling.summary import probabilities
from limbeck.tables.formats import ENDINGS, KnownFormat, ending_of
from limbeck.tasks import SCORE

ROWS_AT_A_TIME = 1 << 15
Columns = dict[str, list[Any]]  # name → values
Write = Callable[[Columns], None]
NUMBERS = ("probability_", SCORE)  # how the columns of numbers begin
DIGITS = 9  # significant digits of a probability: more than single precision has


def write_label_file(
    path: Path,
    labels: TeacherLabels,
    *,
    splits: Mapping[str, Rows],
    classes: Sequence[str],
    multi_label: bool,
    scale: ScoreScale | None = None,
) -> int:
    """Write every labelled row, in the format of the file's ending. Returns their number. Writes atomically."""
    open_file = _writer_for(path)
    scratch = path.with_name(f"{path.name}.partial")
    written = 0
    try:
        with open_file(scratch) as write:
            for split, rows in splits.items():
                for part in rows.slices(ROWS_AT_A_TIME):
                    columns = _columns(part, labels, split=split, classes=classes, multi_label=multi_label, scale=scale)
                    write(columns)
                    written += len(columns["text"])
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)
    return written


def _writer_for(path: Path) -> Any:
    """The writer for the file's ending, as a teacher of kind "file" reads it; tsv cannot represent every text."""
    writers: dict[KnownFormat | None, Any] = {"jsonl": _json_lines, "csv": _csv, "parquet": _parquet}
    format = ENDINGS.get(ending_of(path))
    if format not in writers or path.suffix.lower() == ".gz":
        reason = f"labels cannot be written in the format of its ending '{path.suffix}'"
        endings = ", ".join(ending for ending, format in ENDINGS.items() if format in writers)
        raise PathUnusable(path=str(path), reason=reason, advice=f"Give a name that ends in one of {endings}.")
    return writers[format]


def _columns(
    part: Rows,
    labels: TeacherLabels,
    *,
    split: str,
    classes: Sequence[str],
    multi_label: bool,
    scale: ScoreScale | None,
) -> Columns:
    is_labelled = labels.covers(part.table["id"])
    table = part.table.filter(is_labelled)
    if scale is not None:
        scores = scale.scores(labels.for_rows(table["id"])[:, 0], clip=False)
        rows = {name: table[name].to_pylist() for name in ("text", "pair") if name in table.column_names}
        return {**rows, "split": [split] * len(scores), SCORE: [float(f"{score:.{DIGITS}g}") for score in scores]}
    found = probabilities(labels.for_rows(table["id"]), multi_label=multi_label)
    texts = {name: table[name].to_pylist() for name in ("text", "pair") if name in table.column_names}
    by_class = {
        f"probability_{name}": [float(f"{value:.{DIGITS}g}") for value in found[:, number].tolist()]
        for number, name in enumerate(classes)
    }
    return {**texts, "split": [split] * len(found), **by_class}


@contextmanager
def _json_lines(path: Path) -> Iterator[Write]:
    with path.open("w", encoding="utf-8") as file:

        def write(columns: Columns) -> None:
            for values in zip(*columns.values(), strict=True):
                file.write(json.dumps(dict(zip(columns, values, strict=True)), ensure_ascii=False) + "\n")

        yield write


@contextmanager
def _csv(path: Path) -> Iterator[Write]:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        is_begun = False

        def write(columns: Columns) -> None:
            nonlocal is_begun
            if not is_begun:
                writer.writerow(columns)
                is_begun = True
            writer.writerows(zip(*columns.values(), strict=True))

        yield write


@contextmanager
def _parquet(path: Path) -> Iterator[Write]:
    writer: pq.ParquetWriter | None = None

    def write(columns: Columns) -> None:
        nonlocal writer
        kinds = {name: pa.float64() if name.startswith(NUMBERS) else pa.string() for name in columns}
        table = pa.table({name: pa.array(values, kinds[name]) for name, values in columns.items()})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()
