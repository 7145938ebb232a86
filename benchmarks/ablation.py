"""What the SST-2 result is made of: the recipe sst2-text with one thing changed at a time.

    LIMBECK_DATA=path/to/data python benchmarks/ablation.py [--only rows,hidden] [--seeds 3] [--rows 100000] [--go-on]

Every setting is a run of the product; all share the teacher and what it said, as the lines of benchmarks/tables.py do.
Numbers go to benchmarks/results/ablation_sst2.json; `benchmarks/tables.py --write-page` puts them into docs/results.md.
With --rows, all settings but those of `rows` have so many rows of unlabelled text: cheaper, and their commands say so.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

from benchmarks.ablation_lines import ABLATIONS, FULL  # noqa: E402
from benchmarks.table_lines import command_of  # noqa: E402
from benchmarks.table_runs import merge_line, numbers_of, run_line  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "ablation_sst2.json"
CHEAP = [  # none of it changes the student
    "distillation.baseline=false",
    "export.precisions=['fp32']",
    "evaluation.latency_rows=5",
    "evaluation.latency_rounds=1",
    "evaluation.throughput_rows=16",
    "evaluation.throughput_batches=[]",
    "evaluation.teacher_int8=false",
]


def main() -> None:
    """Run every setting, and write down its numbers as soon as they are there."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--only", default="", help="these things alone: rows,hidden; or settings: hidden:50")
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--rows", type=int, help="rows of unlabelled text of all settings but those of `rows`")
    options.add_argument("--set", action="append", default=[], help="a key for all settings")
    options.add_argument("--runs", type=Path, default=Path("runs/tables"))
    options.add_argument("--from", dest="source", type=Path, help="a run whose artifacts new runs begin with")
    options.add_argument("--go-on", action="store_true", help="leave out settings that have numbers already")
    asked = options.parse_args()
    measured: dict[str, Mapping[str, Any]] = {}  # by command: the full recipe is a setting of every thing
    if asked.go_on:
        measured = {line["command"]: line for line in _done().values()}
    for name, recipe, overrides in _lines(asked):
        if asked.go_on and name in _done():
            continue
        command = command_of(recipe, overrides)
        print(f"== {name}  {command}", file=sys.stderr, flush=True)
        if command not in measured:
            measured[command] = _numbers(asked, name, recipe, overrides)
        merge_line(RESULTS, "ablation", name, measured[command])


def _lines(asked: argparse.Namespace) -> Iterator[tuple[str, str, list[str]]]:
    """Name, recipe and overrides of every setting that is asked for."""
    wanted = asked.only.split(",") if asked.only else []
    common = [f"distillation.seeds={list(range(asked.seeds))}", *asked.set]
    for ablation in ABLATIONS:
        fewer = [f"transfer.rows={asked.rows}"] if asked.rows and ablation.name != "rows" else []
        for setting in ablation.settings:
            name = f"{ablation.name}:{setting.name}"
            if not wanted or ablation.name in wanted or name in wanted:
                yield name, setting.recipe, [*setting.overrides, *(fewer if setting.recipe == FULL else []), *common]


def _numbers(asked: argparse.Namespace, name: str, recipe: str, overrides: list[str]) -> dict[str, Any]:
    letters = "".join(sign if sign.isalnum() else "-" for sign in name)
    folder = asked.runs / f"ablation-{letters}"
    run_line(recipe, overrides=[*overrides, *CHEAP], folder=folder, source=asked.source)
    return numbers_of(recipe, overrides=overrides, folder=folder)


def _done() -> Mapping[str, Mapping[str, Any]]:
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
    lines: dict[str, Any] = found.get("lines", {})
    return lines


if __name__ == "__main__":
    main()
