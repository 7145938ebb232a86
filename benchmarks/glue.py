"""A method over the GLUE tasks at hand, beside what small transformers have published.

    LIMBECK_DATA=path/to/data python benchmarks/glue.py [--method tinybert] [--teacher NAME] [--seeds 1] [--tasks rte …]
                                                        [--go-on]
    python benchmarks/glue.py --write-page

SST-2, CoLA, MRPC, RTE and STS-B have their official dev rows; of QQP there are 10,000 balanced rows, of which a tenth
is dev, so its line cannot be compared. Published rows are dev or test as their authors give them. Numbers go to
benchmarks/results/glue.json as each task ends; --write-page puts their table into docs/methods.md. A stopped one is
continued with --go-on: tasks that are written down are not run again, and the one that was running goes on in its run
folder.
"""

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

from benchmarks.page_parts import machine_name, table  # noqa: E402
from limbeck.pipeline import run  # noqa: E402
from limbeck.progress import TerminalReporter  # noqa: E402

RESULTS, PAGE = ROOT / "benchmarks" / "results" / "glue.json", ROOT / "docs" / "methods.md"
START, END = "<!-- glue -->", "<!-- /glue -->"

EVALUATION = """
[export]
precisions = ["fp32"]

[evaluation]                    # quality is the matter here, not time
latency_rows = 10
latency_rounds = 1
throughput_rows = 16
throughput_batches = []
teacher_int8 = false
"""
PAIR = 'text = "{}"\npair = "{}"\nlabel = "{}"'


@dataclass(frozen=True)
class Task:
    """A task: its rows, its measure in GLUE, and how long its rows are."""

    name: str
    title: str
    corpus: str  # lines of [corpus]
    measure: str  # key of a report's model
    shown: str
    length: int = 128
    epochs: int = 3  # of the teacher


TASKS = [
    Task("sst2", "SST-2", 'text = "sentence"\nlabel = "label"', "accuracy", "accuracy", length=64),
    Task("cola", "CoLA", "text = 3\nlabel = 1\nheader = false", "mcc", "Matthews", length=64),
    Task("mrpc", "MRPC", PAIR.format("#1 String", "#2 String", "Quality"), "f1_positive", "F1", epochs=4),
    Task("rte", "RTE", PAIR.format("sentence1", "sentence2", "label"), "accuracy", "accuracy", epochs=6),
    Task(
        "stsb",
        "STS-B",
        PAIR.format("sentence1", "sentence2", "score") + '\ntask = "regression"\nscore_range = [0.0, 5.0]',
        "spearman",
        "Spearman",
        epochs=4,
    ),
    Task("qqp", "QQP, 10,000 rows", PAIR.format("question1", "question2", "is_duplicate"), "accuracy", "accuracy"),
]
# Of TinyBERT for scores: its second stage has MSE in the place of cross-entropy, as its authors have it for STS-B.
LAYERS = "{kind='embedding_mse'}, {kind='hidden_mse', layer_weights='sum'}, {kind='attention_mse', layer_weights='sum'}"
LAST = "{epochs=3, learning_rate=1e-4, warmup_fraction=0.1, losses=[{kind='logit_mse'}]}"
FOR_SCORES = {"tinybert": f"distillation.stages=[{{epochs=10, learning_rate=3e-4, losses=[{LAYERS}]}}, {LAST}]"}
OTHERWISE_FOR_SCORES = "distillation.losses=[{kind='logit_mse'}]"


@dataclass(frozen=True)
class Row:
    """What others have published."""

    name: str
    source: str
    split: str
    numbers: Mapping[str, str]


PUBLISHED = [
    Row(
        "TinyBERT-4, 14.5M",
        "Jiao et al. 2020, as Papers with Code lists it",
        "test",
        {"sst2": "92.6", "cola": "43.3", "mrpc": "86.4"},
    ),
    Row(
        "MiniLM, 6 layers of 384, 22M",
        "README of microsoft/unilm, minilm",
        "dev",
        {"sst2": "91.5", "cola": "47.5", "mrpc": "88.9", "rte": "68.8"},
    ),
    Row(
        "DistilBERT, cased, 66M",
        "its model card",
        "test",
        {"sst2": "90.4", "cola": "47.2", "mrpc": "85.6", "rte": "60.6", "stsb": "85.5"},
    ),
    Row(
        "BERT-Small, 4 layers of 512",
        "card of the BERT miniatures",
        "test",
        {"sst2": "89.7", "cola": "27.8", "mrpc": "83.4", "rte": "61.8", "stsb": "77.0"},
    ),
]


def main() -> None:
    """Measure, or write the page."""
    shown = argparse.RawDescriptionHelpFormatter
    options = argparse.ArgumentParser(description=__doc__, formatter_class=shown)
    options.add_argument("--method", default="tinybert", help="a method of the package (default: tinybert)")
    options.add_argument("--teacher", default="all-MiniLM-L6-v2", help="its checkpoint (default: all-MiniLM-L6-v2)")
    options.add_argument("--tasks", nargs="*", choices=[task.name for task in TASKS], help="default: all of them")
    options.add_argument("--rows", type=int, help="of train, at most (default: all)")
    options.add_argument("--seeds", type=int, default=1, help="of the student (default: 1)")
    options.add_argument("--set", nargs="*", default=[], help="further keys of every recipe, as for `limbeck run`")
    options.add_argument("--go-on", action="store_true", help="keep the lines of this method that are written down")
    options.add_argument("--runs", type=Path, default=Path("runs"), help="where run folders are (default: runs)")
    options.add_argument("--out", type=Path, default=RESULTS, help="default: benchmarks/results/glue.json")
    options.add_argument("--write-page", action="store_true", help="only write the table into docs/methods.md")
    asked = options.parse_args()
    if asked.write_page:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), json.loads(RESULTS.read_text())), encoding="utf-8")
    else:
        measure(asked)


def measure(asked: argparse.Namespace) -> None:
    """Run every task, and write down its numbers as soon as they are there."""
    asked.runs.mkdir(parents=True, exist_ok=True)
    found = json.loads(asked.out.read_text(encoding="utf-8")) if asked.out.is_file() else {"lines": []}
    done = {line["task"] for line in found["lines"] if asked.go_on and line["method"] == asked.method}
    for task in TASKS:
        if task.name in done or (asked.tasks and task.name not in asked.tasks):
            continue
        print(f"== {task.name}", file=sys.stderr, flush=True)
        start, name = time.perf_counter(), f"glue-{task.name}-{asked.method}"
        recipe = asked.runs / f"{name}.toml"
        recipe.write_text(recipe_of(task, asked), encoding="utf-8")
        overrides = [f"distillation.seeds={list(range(asked.seeds))}", *asked.set]
        if task.name == "stsb":
            overrides.append(FOR_SCORES.get(asked.method, OTHERWISE_FOR_SCORES))
        finished = run(recipe, overrides=overrides, out=asked.runs / name, reporter=TerminalReporter())
        line = line_of(task, finished.report, asked) | {"seconds": round(time.perf_counter() - start, 1)}
        others = [one for one in found["lines"] if (one["task"], one["method"]) != (task.name, asked.method)]
        found["lines"] = [*others, line]
        asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def recipe_of(task: Task, asked: argparse.Namespace) -> str:
    """The recipe of a task, on top of the method."""
    files = {"qqp": 'train = "qqp/train10k.tsv"'}
    rows = files.get(task.name, f'train = "{task.name}/train.tsv"\ndev = "{task.name}/dev.tsv"')
    most = f"max_rows = {asked.rows}\n" if asked.rows else ""
    teacher = (
        f'checkpoint = "{asked.teacher}"\nepochs = {task.epochs}\nlearning_rate = 1e-4\nmax_length = {task.length}\n'
        'near_chance = "warn"\n'
    )
    return (
        f'extends = "{asked.method}"\n\n[corpus]\n{rows}\n{task.corpus}\n{most}overlap = "remove"\n\n'
        f"[teacher]\n{teacher}{EVALUATION}"
    )


def line_of(task: Task, report: Mapping[str, Any], asked: argparse.Namespace) -> dict[str, Any]:
    """Teacher, student alone and student, each in the measure of the task."""
    by_role = {model["role"]: model for model in report["models"]}
    return {
        "task": task.name,
        "method": asked.method,
        "teacher_checkpoint": asked.teacher,
        "measure": task.shown,
        "rows": report["judged_rows"],
        "seeds": by_role["student"]["seed_count"],
        "parameters": by_role["student"]["parameters"],
        "machine": report["machine"],
        **{role: by_role[role].get(task.measure) for role in ("teacher", "baseline", "student")},
    }


def page(text: str, found: Mapping[str, Any]) -> str:
    """The page with the table between its marks."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    known = {line["task"] for line in found["lines"]}
    tasks = [task for task in TASKS if task.name in known]
    rows = [
        row for method in dict.fromkeys(line["method"] for line in found["lines"]) for row in ours(found, method, tasks)
    ]
    rows += [
        [f"{row.name} ({row.source}, {row.split})", *(row.numbers.get(one.name, "–") for one in tasks)]
        for row in PUBLISHED
    ]
    written = table(["", *(f"{task.title}, {task.shown}" for task in tasks)], rows)
    machines = ", ".join(dict.fromkeys(machine_name(line["machine"]) for line in found["lines"]))
    seeds = sorted({line["seeds"] for line in found["lines"]})
    how = f"Ours on dev, {' or '.join(map(str, seeds))} seeds, measured on {machines}."
    return f"{before}{START}\n\n{written}\n\n{how}\n\n{END}{after}"


def ours(found: Mapping[str, Any], method: str, tasks: Sequence[Task]) -> list[list[str]]:
    """The lines of a method: its teacher, its student alone, its student."""
    lines = {line["task"]: line for line in found["lines"] if line["method"] == method}
    names = {"teacher": "its teacher", "baseline": "its student alone", "student": f"`{method}`"}
    return [
        [shown, *(percent(lines[task.name][role]) if task.name in lines else "–" for task in tasks)]
        for role, shown in names.items()
    ]


def percent(value: float | None) -> str:
    """A share of one, or a correlation, in percent as GLUE gives it."""
    return "–" if value is None else f"{100 * value:.1f}"


if __name__ == "__main__":
    main()
