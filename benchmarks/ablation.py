"""What the SST-2 result is made of: the recipe sst2-text with one thing changed at a time.

    LIMBECK_DATA=path/to/data python benchmarks/ablation.py [--only rows,hidden] [--seeds 3] [--rows 100000] [--go-on]
    LIMBECK_DATA=path/to/data python benchmarks/ablation.py --only averaging,copies --side-by-side 4

Every setting is a run of the product; all share the teacher and what it said, as the lines of benchmarks/tables.py do.
Numbers go to benchmarks/results/ablation_sst2.json; `benchmarks/tables.py --write-page` puts them into docs/results.md.
With --rows, all settings but those of `rows` have so many rows of unlabelled text: cheaper, and their commands say so.

One student leaves a large GPU idle half of the time. With --side-by-side, teachers are trained and asked first, one
setting after the other; then the students of so many settings train at once, each setting in a process of its own.
Latencies mean nothing then, and the page shows none of them. What the processes say goes to files beside the runs.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

from benchmarks.ablation_lines import ABLATIONS, FULL  # noqa: E402
from benchmarks.side_by_side import file_name, run_side_by_side  # noqa: E402
from benchmarks.table_lines import command_of  # noqa: E402
from benchmarks.table_runs import merge_line, numbers_of, run_line  # noqa: E402
from limbeck.recipe.stages import Stage  # noqa: E402

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


class Line(NamedTuple):
    """A setting of a thing, with all that it changes."""

    name: str
    recipe: str
    overrides: list[str]

    @property
    def command(self) -> str:
        """What a user types. The full recipe is a setting of every thing, and is run once."""
        return command_of(self.recipe, self.overrides)

    @property
    def plain_name(self) -> str:
        """As --only takes it."""
        return self.name.replace(",", "")


def main() -> None:
    """Run every setting, and write down its numbers as soon as they are there."""
    asked = options().parse_args()
    done = numbers_in(asked.results) if asked.go_on else {}
    lines = [line for line in lines_of(asked) if line.name not in done]
    known = {numbers["command"]: numbers for numbers in done.values()}
    if asked.side_by_side > 1:
        measure_side_by_side(asked, lines, known)
    else:
        measure(asked, lines, known)


def options() -> argparse.ArgumentParser:
    """What the command takes."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", default="", help="these things alone: rows,hidden; or settings: hidden:50,rows:10000 (no comma in it)"
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, help="rows of unlabelled text of all settings but those of `rows`")
    parser.add_argument("--set", action="append", default=[], help="a key for all settings")
    parser.add_argument("--runs", type=Path, default=Path("runs/tables"))
    parser.add_argument("--results", type=Path, default=RESULTS, help="file of the numbers")
    parser.add_argument("--until", type=Stage, choices=list(Stage), help="stop behind this stage; nothing is collected")
    parser.add_argument("--from", dest="source", type=Path, help="a run whose artifacts new runs begin with")
    parser.add_argument("--go-on", action="store_true", help="leave out settings that have numbers already")
    parser.add_argument("--side-by-side", type=int, default=1, metavar="N", help="train students of N settings at once")
    return parser


def lines_of(asked: argparse.Namespace) -> Iterator[Line]:
    """Every setting that is asked for."""
    wanted = asked.only.split(",") if asked.only else []
    common = [f"distillation.seeds={list(range(asked.seeds))}", *asked.set]
    for ablation in ABLATIONS:
        fewer = [f"transfer.rows={asked.rows}"] if asked.rows and ablation.name != "rows" else []
        for setting in ablation.settings:
            own = fewer if setting.recipe == FULL else []
            line = Line(f"{ablation.name}:{setting.name}", setting.recipe, [*setting.overrides, *own, *common])
            if not wanted or ablation.name in wanted or line.plain_name in wanted:
                yield line


def measure(asked: argparse.Namespace, lines: Iterable[Line], known: Mapping[str, Mapping[str, Any]]) -> None:
    """One setting after the other; `known` are numbers by command."""
    measured = dict(known)
    for line in lines:
        print(f"== {line.name}  {line.command}", file=sys.stderr, flush=True)
        if line.command not in measured and run_setting(asked, line):
            measured[line.command] = numbers_of(line.recipe, overrides=line.overrides, folder=folder_of(asked, line))
        if line.command in measured:
            merge_line(asked.results, "ablation", line.name, measured[line.command])


def run_setting(asked: argparse.Namespace, line: Line) -> bool:
    """Whether it came to a report."""
    overrides = [*line.overrides, *CHEAP]
    folder = folder_of(asked, line)
    return run_line(line.recipe, overrides=overrides, folder=folder, source=asked.source, until=asked.until)


def folder_of(asked: argparse.Namespace, line: Line) -> Path:
    """Where the setting is run."""
    runs: Path = asked.runs
    return runs / f"ablation-{file_name(line.name)}"


def measure_side_by_side(
    asked: argparse.Namespace, lines: Iterable[Line], known: Mapping[str, Mapping[str, Any]]
) -> None:
    """Several at once, each by this very command; one that fails does not stop the others."""
    lines = list(lines)
    first: dict[str, Line] = {}
    for line in lines:
        if line.command not in known:
            first.setdefault(line.command, line)
    if first:
        subprocess.run(again(asked, first.values(), "--until", "labeling"), check=True)
    commands = {line.name: again(asked, [line]) for line in first.values()}
    failed = run_side_by_side(commands, most=asked.side_by_side, logs=asked.runs)
    found = numbers_in(asked.results)
    measured = {command: found[line.name] for command, line in first.items() if line.name not in failed}
    for line in lines:
        if numbers := known.get(line.command) or measured.get(line.command):
            merge_line(asked.results, "ablation", line.name, numbers)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def again(asked: argparse.Namespace, lines: Iterable[Line], *more: str) -> list[str]:
    """This command for these settings alone, one after the other."""
    words = [sys.executable, __file__, "--only", ",".join(line.plain_name for line in lines)]
    words += ["--seeds", str(asked.seeds), "--runs", str(asked.runs), "--results", str(asked.results)]
    words += [] if asked.rows is None else ["--rows", str(asked.rows)]
    words += [] if asked.source is None else ["--from", str(asked.source)]
    return [*words, *(part for key in asked.set for part in ("--set", key)), *more]


def numbers_in(results: Path) -> Mapping[str, Mapping[str, Any]]:
    """By setting; empty where nothing was run."""
    found: dict[str, Any] = json.loads(results.read_text(encoding="utf-8")) if results.is_file() else {}
    lines: dict[str, Any] = found.get("lines", {})
    return lines


if __name__ == "__main__":
    main()
