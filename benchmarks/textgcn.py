"""A graph of words and documents (textGCN) on R8 and TNEWS: reading new texts, and as published inside the graph.

    LIMBECK_DATA=path/to/data python benchmarks/textgcn.py [--lines r8 r8-transductive tnews-15] [--seeds 1]
    python benchmarks/textgcn.py --write-page

R8 has its usual test rows; its dev rows are a tenth of train, as published. Numbers go to
benchmarks/results/textgcn.json as each line ends; --write-page puts their table into docs/methods.md.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

from benchmarks.page_parts import machine_name, table  # noqa: E402
from limbeck.artifacts.student_folder import StudentFolder  # noqa: E402
from limbeck.export.parity import TransductiveRefused  # noqa: E402
from limbeck.pipeline import run  # noqa: E402
from limbeck.progress import TerminalReporter  # noqa: E402
from limbeck.timing.machine import machine_facts  # noqa: E402

RESULTS, PAGE = ROOT / "benchmarks" / "results" / "textgcn.json", ROOT / "docs" / "methods.md"
START, END = "<!-- textgcn -->", "<!-- /textgcn -->"

R8 = """
[corpus]
train = "arena/r8/train.csv"
test = "arena/r8/test.csv"
text = "text"
label = "label"
"""
TNEWS = """
[corpus]
train = "tnews/train.tsv"
dev = "tnews/dev.tsv"
text = 0
label = 1
header = false
language = "zh"
overlap = "remove"
"""
GRAPH = """
[teacher]
kind = "{teacher}"

[student]
kind = "textgcn"
{student}
[distillation]
epochs = {epochs}

[evaluation]                    # accuracy is the matter here, not time
latency_rows = 10
latency_rounds = 1
throughput_rows = 16
throughput_batches = []
"""


@dataclass(frozen=True)
class Line:
    """A run, and what the table calls it."""

    name: str
    shown: str
    recipe: str
    published: str = "–"


LINES = [
    Line("r8", "R8, test: graph of train alone", R8 + GRAPH.format(teacher="none", student="", epochs=200)),
    Line(
        "r8-transductive",
        "R8, test: inside the graph (`transductive = true`)",
        R8 + GRAPH.format(teacher="none", student="transductive = true\n", epochs=200),
        published="97.1",
    ),
    Line("r8-linear", "R8, test: distilled from TF-IDF", R8 + GRAPH.format(teacher="linear", student="", epochs=200)),
    Line(
        "tnews-15",
        "TNEWS, 15 classes, dev: graph of train alone",
        TNEWS + GRAPH.format(teacher="none", student="", epochs=20),
    ),
]


def main() -> None:
    """Measure, or write the page."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--lines", nargs="*", help="these lines only")
    options.add_argument("--seeds", type=int, default=1)
    options.add_argument("--runs", type=Path, default=Path("runs"))
    options.add_argument("--out", type=Path, default=RESULTS)
    options.add_argument("--write-page", action="store_true")
    asked = options.parse_args()
    if asked.write_page:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), json.loads(RESULTS.read_text())), encoding="utf-8")
    else:
        measure(asked)


def measure(asked: argparse.Namespace) -> None:
    """Run every line, and write down its numbers as soon as they are there."""
    asked.runs.mkdir(parents=True, exist_ok=True)
    found = json.loads(asked.out.read_text(encoding="utf-8")) if asked.out.is_file() else {"lines": []}
    for line in LINES:
        if asked.lines and line.name not in asked.lines:
            continue
        print(f"== {line.name}", file=sys.stderr, flush=True)
        recipe, folder = asked.runs / f"textgcn-{line.name}.toml", asked.runs / f"textgcn-{line.name}"
        recipe.write_text(line.recipe, encoding="utf-8")
        numbers = numbers_of(recipe, folder, seeds=asked.seeds)
        others = [one for one in found["lines"] if one["name"] != line.name]
        own = {"name": line.name, "recipe": line.recipe, "machine": machine_facts(threads=1), **numbers}
        found["lines"] = [*others, own]
        asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def numbers_of(recipe: Path, folder: Path, *, seeds: int) -> dict[str, Any]:
    """The accuracies of a run on its judged rows; of a network that is not exported those inside its graph."""
    overrides = [f"distillation.seeds={list(range(seeds))}"]
    try:
        report = run(recipe, overrides=overrides, out=folder, reporter=TerminalReporter()).report
    except TransductiveRefused:
        students = [StudentFolder(folder / "students" / "textgcn" / str(seed)).facts for seed in range(seeds)]
        return {"accuracies": [facts.transductive["test"] for facts in students if facts.transductive]}
    models = {model["name"]: model for model in report["models"]}
    others = {"tfidf": models["tfidf"]["accuracy"], "int8": models["textgcn-int8"]["accuracy"]}
    alone = models.get("textgcn-alone", {}).get("accuracy")
    shipped = models["textgcn-int8"]
    return {
        "accuracies": models["textgcn"]["accuracy_per_seed"],
        **others,
        "alone": alone,
        "size_mb": shipped["size_mb"],
        "rows": report["judged_rows"],
    }


def page(text: str, found: Mapping[str, Any]) -> str:
    """The page with the table between its marks."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    measured = {line["name"]: line for line in found["lines"]}
    rows = [
        [
            line.shown,
            _of_seeds(own["accuracies"]),
            _percent(own.get("alone")),
            _percent(own.get("tfidf")),
            line.published,
        ]
        for line in LINES
        if (own := measured.get(line.name))
    ]
    written = table(["", "accuracy", "alone", "TF-IDF, linear SVC", "published"], rows)
    machines = ", ".join(dict.fromkeys(machine_name(line["machine"]) for line in found["lines"]))
    seeds = sorted({len(line["accuracies"]) for line in found["lines"]})
    how = f"Measured on {machines}; {' or '.join(map(str, seeds))} seed{'s' if seeds != [1] else ''}."
    return f"{before}{START}\n\n{written}\n\n{how}\n\n{END}{after}"


def _of_seeds(accuracies: list[float]) -> str:
    spread = f" ± {100 * statistics.stdev(accuracies):.1f}" if accuracies[1:] else ""
    return f"{100 * statistics.mean(accuracies):.1f}{spread}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


if __name__ == "__main__":
    main()
