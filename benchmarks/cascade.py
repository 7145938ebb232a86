"""The cascade of a finished run at work on labelled rows, beside the curve that its report has.

    python benchmarks/cascade.py RUN ROWS.csv [--shares 0.05,0.1,0.2] [--fallback FOLDER|URL] [--rows 2000] [--out FILE]

RUN is the folder of a run whose recipe has `teacher = "int8"` in [export], or give another fallback. ROWS is a csv or
tsv file with the columns `text`, `pair` for pairs, and `label` (--text, --pair and --label give other names; several
labels of a row have | between them); at most --rows of them are read, evenly spread. The student is the one that the
report's curve is about, with its fallback as `limbeck.load` opens them, once for each share and once with the threshold
that it would have by itself. The accuracy is compared with the report's at the same share of texts asked, and the share
with the report's at the same threshold. The report's curve has the teacher's own answers, the fallback here is its int8
file; if the rows are other ones than the report's, they differ by chance too. It prints JSON, and writes it to --out.
"""

import argparse
import csv
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

import limbeck  # noqa: E402
from limbeck.artifacts.run_folder import report_of  # noqa: E402
from limbeck.runtime.cascade import CascadeClassifier  # noqa: E402
from limbeck.runtime.probabilities import best_labels, label_sets  # noqa: E402
from limbeck.runtime.row import Row  # noqa: E402
from limbeck.timing.machine import machine_facts  # noqa: E402

SHARES, MOST_ROWS = (0.05, 0.1, 0.2, 0.3, 0.5), 2_000
BETWEEN_LABELS = "|"


@dataclass(frozen=True)
class Columns:
    """Their names."""

    text: str = "text"
    pair: str = "pair"
    label: str = "label"


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--shares", default=",".join(map(str, SHARES)))
    parser.add_argument("--fallback")
    parser.add_argument("--rows", type=int, default=MOST_ROWS)
    parser.add_argument("--out", type=Path)
    for name in ("text", "pair", "label"):
        parser.add_argument(f"--{name}", default=name)
    asked = parser.parse_args()
    found = measured(
        asked.run,
        asked.file,
        shares=[float(share) for share in asked.shares.split(",")],
        fallback=asked.fallback,
        most=asked.rows,
        columns=Columns(asked.text, asked.pair, asked.label),
    )
    text = json.dumps(found, indent=1)
    print(text)
    if asked.out:
        asked.out.write_text(f"{text}\n", encoding="utf-8")


def measured(
    run: Path,
    file: Path,
    *,
    shares: Sequence[float] = SHARES,
    fallback: str | Path | None = None,
    most: int = MOST_ROWS,
    columns: Columns | None = None,
) -> dict[str, Any]:
    """The cascade at each share, and beside it the report's."""
    report, started = report_of(run).data, time.monotonic()
    curve = report["cascade"]
    student = run / next(entry["folder"] for entry in report["models"] if entry["name"] == curve["student"])
    behind = fallback or run / "models" / "teacher-int8"
    alone = limbeck.load(student)
    rows, labels = labelled_rows(file, columns or Columns(), pair=alone.facts.pair, most=most)
    points = []
    for share in (None, *shares):
        model = limbeck.load(student, fallback=behind, share=share)
        points.append({"share": share, **_point(model, rows, labels, curve)})
    return {
        "run": report["run"],
        "student": curve["student"],
        "fallback": behind if isinstance(behind, str) else behind.name,
        "file": file.name,
        "rows": len(rows),
        "report": {"split": report["judged_split"], "rows": curve["rows"], "cheapest": curve["cheapest"]},
        "points": points,
        "largest_difference": max(
            abs(point[f"{name}_difference"]) for point in points for name in ("accuracy", "asked_share")
        ),
        "seconds": round(time.monotonic() - started, 1),
        "machine": machine_facts(threads=1),
    }


def _point(
    model: CascadeClassifier, rows: Sequence[Row], labels: Sequence[set[str]], curve: Mapping[str, Any]
) -> dict[str, Any]:
    answers = model.answers(rows)
    probabilities = answers.probabilities
    if model.facts.multi_label:
        said = [set(found) for found in label_sets(probabilities, model.labels)]
    else:
        said = [{found} for found in best_labels(probabilities, model.labels)]
    accuracy = float(np.mean([one == other for one, other in zip(said, labels, strict=True)]))
    asked = float(answers.by_fallback.mean())
    known = {key: [point[key] for point in curve["points"]] for key in ("threshold", "asked_share", "accuracy")}
    of_report = float(np.interp(asked, known["asked_share"], known["accuracy"]))
    share_of_report = float(np.interp(model.threshold, known["threshold"], known["asked_share"]))
    return {
        "threshold": model.threshold,
        "asked_share": asked,
        "accuracy": accuracy,
        "report_accuracy": of_report,
        "report_asked_share": share_of_report,
        "accuracy_difference": accuracy - of_report,
        "asked_share_difference": asked - share_of_report,
        "note": answers.note,
    }


def labelled_rows(file: Path, columns: Columns, *, pair: bool, most: int) -> tuple[list[Row], list[set[str]]]:
    """The rows, and the labels of each."""
    with file.open(encoding="utf-8", newline="") as lines:
        found = list(csv.DictReader(lines, delimiter="\t" if file.suffix == ".tsv" else ","))
    places = np.linspace(0, len(found) - 1, num=min(most, len(found)), dtype=np.int64).tolist()
    some = [found[place] for place in places]
    rows: list[Row] = [(row[columns.text], row[columns.pair]) if pair else row[columns.text] for row in some]
    return rows, [set(filter(None, row[columns.label].split(BETWEEN_LABELS))) for row in some]


def table(found: Mapping[str, Any]) -> str:
    """The points as a table, for docs/cascade.md."""
    lines = [
        "| share asked for | threshold | share asked | the report's | accuracy | the report's |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for point in found["points"]:
        share = "none" if point["share"] is None else f"{100 * point['share']:.0f} %"
        of_both = [point[key] for key in ("asked_share", "report_asked_share", "accuracy", "report_accuracy")]
        cells = [share, f"{point['threshold']:.3f}", *(f"{100 * value:.2f}" for value in of_both)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
