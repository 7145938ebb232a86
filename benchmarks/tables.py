"""The tables of the field, by recipes that come with the package; docs/results.md is written from their numbers.

    LIMBECK_DATA=path/to/data python benchmarks/tables.py --only sst2,imdb:text [--seeds 3] [--set KEY=VALUE …]
    python benchmarks/tables.py --list
    python benchmarks/tables.py --write-page

Every line is a run of the product, `limbeck run RECIPE`, in a folder of its own under --runs. Lines of one corpus and
teacher share both, and what the teacher said: a run that is new there begins with what one beside it has made. Numbers
go to benchmarks/results/tables/TABLE.json line by line, so lines may be run one at a time and in any order.

Where a machine is lent for some minutes only:

    python benchmarks/tables.py --only sst2:text --until labeling    # teacher and labels, no students yet
    python benchmarks/tables.py --only sst2:text,sst2:1m             # on the same machine: goes on from there
    python benchmarks/tables.py --only sst2:tang --from RUN          # elsewhere: begin with the artifacts of this run
    python benchmarks/tables.py --only sst2:tang --collect RUN       # nothing is run: the numbers of a finished run

    python benchmarks/tables.py --only sst2 --at-once 4              # N students of a line at once, on a large GPU

A run is a folder that can be carried; `.label-store` beside it holds every answer of the teacher, and may come along.
Weights: a folder all-mpnet-base-v2 (or m3e-small-zh) here or under LIMBECK_DATA; the first also from the hub. Data and
weights: docs/data.md.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

from benchmarks.table_lines import TABLES, Line, Table, command_of  # noqa: E402
from benchmarks.table_runs import merge_line, numbers_of, run_line  # noqa: E402
from limbeck.errors import LimbeckError  # noqa: E402
from limbeck.recipe.stages import Stage  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "tables"


def main() -> None:
    """Run lines, list them, or write the page."""
    asked = options().parse_args()
    if asked.list:
        show_lines(asked.results)
    elif asked.write_page:
        from benchmarks.results_page import write_page

        write_page(ROOT)
    else:
        measure(asked)


def options() -> argparse.ArgumentParser:
    """What the command takes."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="tables, or lines of them: sst2,imdb:text; default: all")
    parser.add_argument("--seeds", type=int, help="number of seeds; default: as the recipes say, three")
    parser.add_argument("--set", action="append", default=[], help="a key for all lines: evaluation.latency_rows=20")
    parser.add_argument("--runs", type=Path, default=Path("runs/tables"))
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the numbers")
    parser.add_argument("--until", type=Stage, choices=list(Stage), help="stop behind this stage; nothing is collected")
    parser.add_argument("--from", dest="source", type=Path, help="a run whose artifacts new runs begin with")
    parser.add_argument("--collect", type=Path, help="take the numbers of this finished run; name its line by --only")
    parser.add_argument("--at-once", type=int, metavar="N", help="train N students of a line at once")
    parser.add_argument("--go-on", action="store_true", help="leave out lines that have numbers already")
    parser.add_argument("--list", action="store_true", help="every line, its command, and whether it has numbers")
    parser.add_argument("--write-page", action="store_true", help="write docs/results.md and its pictures")
    return parser


def measure(asked: argparse.Namespace) -> None:
    """Run every line that is asked for; one that fails does not stop the others."""
    lines = list(chosen_lines(asked.only))
    if asked.collect and len(lines) != 1:
        sys.exit("--collect takes one line: --only TABLE:LINE")
    failed = []
    for table, line in lines:
        if asked.go_on and has_numbers(table, line, asked.results):
            continue
        try:
            measure_line(asked, table, line)
        except LimbeckError as error:
            failed.append(f"{table.name}:{line.name}")
            print(f"{failed[-1]} failed: {error}", file=sys.stderr, flush=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def measure_line(asked: argparse.Namespace, table: Table, line: Line) -> None:
    """Run one line, and write down its numbers as soon as they are there."""
    overrides = [*line.overrides, *asked.set]
    if asked.seeds is not None:
        overrides.append(f"distillation.seeds={list(range(asked.seeds))}")
    folder = asked.collect or asked.runs / f"{table.name}-{line.name}"
    print(f"== {table.name}:{line.name}  {command_of(line.recipe, overrides)}", file=sys.stderr, flush=True)
    here = [] if asked.at_once is None else [f"distillation.at_once={asked.at_once}"]  # of the machine, not of the line
    if asked.collect or run_line(
        line.recipe, overrides=[*overrides, *here], folder=folder, source=asked.source, until=asked.until
    ):
        numbers = numbers_of(line.recipe, overrides=overrides, folder=folder)
        merge_line(asked.results / f"{table.name}.json", table.name, line.name, numbers)


def chosen_lines(only: str) -> Iterator[tuple[Table, Line]]:
    """The lines that "sst2,imdb:text" names, in that order."""
    for wanted in only.split(",") if only else TABLES:
        table_name, _, line_name = wanted.strip().partition(":")
        table = TABLES.get(table_name)
        if table is None:
            sys.exit(f"no table '{table_name}'; there are {', '.join(TABLES)}")
        lines = [line for line in table.lines if line_name in ("", line.name)]
        if not lines:
            sys.exit(f"no line '{line_name}' in {table_name}; there are {', '.join(line.name for line in table.lines)}")
        yield from ((table, line) for line in lines)


def has_numbers(table: Table, line: Line, results: Path) -> bool:
    """Whether the line has been run."""
    file = results / f"{table.name}.json"
    return file.is_file() and line.name in json.loads(file.read_text(encoding="utf-8"))["lines"]


def show_lines(results: Path) -> None:
    """Every line of every table."""
    for table in TABLES.values():
        for line in table.lines:
            state = "done" if has_numbers(table, line, results) else "    "
            print(f"{state}  {table.name}:{line.name}\t{command_of(line.recipe, line.overrides)}")


if __name__ == "__main__":
    main()
