"""Scores of similarity: the recipe stsb with few rows and a siamese Bi-LSTM, beside TF-IDF with ridge regression.

    LIMBECK_DATA=path/to/data python benchmarks/scores.py [--out FOLDER] [--rows 1500]
    python benchmarks/scores.py --collect RUN [RUN ...]     # finished runs of all rows: stsb-mpnet, stsb-attend

A cut of STS-B that an ordinary machine trains in minutes, with the offline encoder: orientation, not a record. Numbers
go to benchmarks/results/scores_stsb.json. Those of finished runs with a large teacher on a GPU go to
scores_stsb_mpnet.json. docs/scores.md quotes both.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

import limbeck  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "scores_stsb.json"
OF_RUNS = RESULTS.with_name("scores_stsb_mpnet.json")
CUT = [
    "teacher.epochs=3",
    "augmentation.copies=2",
    "distillation.epochs=8",
    "evaluation.latency_rows=20",
    "evaluation.throughput_batches=[]",
    "evaluation.teacher_int8=false",
]
SHOWN = ("spearman", "spearman_ci95", "pearson", "mae", "rmse", "teacher_spearman", "size_mb", "seed_count")


def main() -> None:
    """Run it, and write the numbers."""
    arguments = _arguments()
    if arguments.collect:
        found = {folder.name: _finished(folder) for folder in arguments.collect}
        OF_RUNS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        return
    overrides = [*CUT, f"corpus.max_rows={arguments.rows}"]
    finished = limbeck.run("stsb", overrides=overrides, out=arguments.out)
    report: dict[str, Any] = json.loads((finished.folder / "report" / "report.json").read_text(encoding="utf-8"))
    RESULTS.write_text(json.dumps(_numbers(report, overrides), indent=1) + "\n", encoding="utf-8")


def _finished(folder: Path) -> dict[str, Any]:
    """A run of a built-in recipe; nothing of it is changed but the folder's name says which."""
    report: dict[str, Any] = json.loads((folder / "report" / "report.json").read_text(encoding="utf-8"))
    numbers = _numbers(report, [])
    machine = f"{report['machine'].get('gpu') or report['machine']['cpu']}, beside other trainings"
    return {**numbers, "command": f"limbeck run {folder.name}", "machine": machine}


def _numbers(report: Mapping[str, Any], overrides: list[str]) -> dict[str, Any]:
    teacher = next(entry for entry in report["models"] if entry["role"] == "teacher")
    alone = next(entry for entry in report["models"] if entry["role"] == "baseline")
    return {
        "command": "limbeck run stsb " + " ".join(f"--set {one}" for one in overrides),
        "data": "STS-B as GLUE has it: rows of train as in the command, judged on the 1,500 rows of dev, which also "
        "chose the epochs",
        "machine": f"{report['machine']['cpu']}, {os.cpu_count()} cores, shared with other jobs",
        "rows": report["corpus"]["rows"],
        "best": report["best"],
        "models": {entry["name"]: {key: entry.get(key) for key in SHOWN} for entry in report["models"]},
        "teacher": teacher["name"],
        "alone": alone["name"],
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/stsb-cut"), help="the folder of the run")
    parser.add_argument("--rows", type=int, default=1_500, help="training rows")
    parser.add_argument("--collect", type=Path, nargs="+", metavar="RUN", help="take the numbers of finished runs")
    return parser.parse_args()


if __name__ == "__main__":
    main()
