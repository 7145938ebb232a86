"""Why losses between rows do less than they could: what a batch is, their weight, features, and what is beside them.

    LIMBECK_DATA=path/to/data python benchmarks/relations.py [--rows 8000] [--seeds 1] [--only NAME …] [--go-on]
    python benchmarks/relations.py --write-page

SPKD (Tung & Mori 2019) on SST-2 with all-MiniLM-L6-v2 as the teacher, changed in one way after the other, and RKD, CRD
and PKT in both kinds of batches. Every line is a training of the product in one run folder: the teacher is trained and
asked once. All numbers are accuracies on dev, by which the epoch is chosen too, as in the published table. They go to
benchmarks/results/relations.json; --write-page puts their table into docs/methods.md.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

from benchmarks.page_parts import machine_name, table  # noqa: E402
from limbeck.artifacts.student_folder import StudentFolder  # noqa: E402
from limbeck.artifacts.teacher_folder import TeacherFolder  # noqa: E402
from limbeck.pipeline import run  # noqa: E402
from limbeck.progress import TerminalReporter  # noqa: E402
from limbeck.recipe.stages import Stage  # noqa: E402
from limbeck.timing.machine import machine_facts  # noqa: E402

RESULTS, PAGE = ROOT / "benchmarks" / "results" / "relations.json", ROOT / "docs" / "methods.md"
START, END = "<!-- relations -->", "<!-- /relations -->"
PUBLISHED = 89.0  # of SPKD on dev, from a teacher with 91.5

RECIPE = """
[corpus]
train = "sst2/train.tsv"
dev = "sst2/dev.tsv"
text = "sentence"
label_names = { 0 = "negative", 1 = "positive" }
overlap = "remove"

[teacher]
checkpoint = "all-MiniLM-L6-v2"
epochs = 3
batch_size = 64
learning_rate = 1e-4
max_length = 64
near_chance = "warn"            # with few rows it may be

[student]
kind = "bilstm"
hidden_size = 300
word_vectors = ["teacher", "vectors/glove.6B.100d.top50k.txt.gz"]
tune_vectors = false

[distillation]
epochs = 8
batch_size = 256
"""
MIXED = "distillation.batches=mixed"
HARD = "{kind='hard_labels'}"


def losses(*terms: str) -> str:
    """The objective, as `--set` takes it."""
    return f"distillation.losses=[{', '.join(terms)}]"


def relation(kind: str, weight: float) -> str:
    """A loss between rows."""
    return f"{{kind='{kind}', weight={weight}}}"


@dataclass(frozen=True)
class Line:
    """A training, and what is changed for it."""

    name: str
    shown: str
    overrides: Sequence[str]


SPKD = losses(HARD, relation("spkd", 3000.0))
LIGHT = losses(HARD, relation("spkd", 300.0))
LINES = [
    Line("spkd", "as the method has it: γ = 3000, batches of 256 by length", [SPKD]),
    Line("mixed", "mixed batches", [SPKD, MIXED]),
    Line("mixed-300", "mixed batches, γ = 300", [LIGHT, MIXED]),
    Line("mixed-30", "mixed batches, γ = 30", [losses(HARD, relation("spkd", 30.0)), MIXED]),
    Line("mixed-64", "mixed batches of 64, γ = 300", [LIGHT, MIXED, "distillation.batch_size=64"]),
    Line(
        "mixed-mean", "mixed batches, γ = 300, mean of the teacher's states", [LIGHT, MIXED, "labeling.features=mean"]
    ),
    Line("mixed-tuned", "mixed batches, γ = 300, tuned vectors", [LIGHT, MIXED, "student.tune_vectors=true"]),
    Line("mixed-last", "mixed batches, γ = 300, last states", [LIGHT, MIXED, "student.pooling=last"]),
    Line(
        "mixed-logits",
        "mixed batches, γ = 300, and MSE on logits",
        [losses(HARD, relation("spkd", 300.0), "{kind='logit_mse'}"), MIXED],
    ),
    Line("logits", "MSE on logits alone, by length", [losses("{kind='logit_mse'}")]),
    Line("rkd", "RKD, by length", [losses(HARD, relation("rkd", 1.0))]),
    Line("rkd-mixed", "RKD, mixed batches", [losses(HARD, relation("rkd", 1.0)), MIXED]),
    Line("crd", "CRD, by length", [losses(HARD, relation("crd", 0.8))]),
    Line("crd-mixed", "CRD, mixed batches", [losses(HARD, relation("crd", 0.8)), MIXED]),
    Line("pkt", "PKT, by length", [losses(HARD, relation("pkt", 1.0))]),
    Line("pkt-mixed", "PKT, mixed batches", [losses(HARD, relation("pkt", 1.0)), MIXED]),
]


def main() -> None:
    """Measure, or write the page."""
    shown = argparse.RawDescriptionHelpFormatter
    options = argparse.ArgumentParser(description=__doc__, formatter_class=shown)
    options.add_argument("--rows", type=int, help="of train; default: all 67,349")
    options.add_argument("--seeds", type=int, default=3, help="of every student (default: 3)")
    options.add_argument("--epochs", type=int, default=8, help="of the student (default: 8)")
    options.add_argument("--only", nargs="*", choices=[line.name for line in LINES], help="these lines only")
    options.add_argument("--go-on", action="store_true", help="keep the lines that an earlier, stopped run has written")
    options.add_argument("--runs", type=Path, default=Path("runs"), help="where the run folder is (default: runs)")
    options.add_argument("--out", type=Path, default=RESULTS, help="default: benchmarks/results/relations.json")
    options.add_argument("--write-page", action="store_true", help="only write the table into docs/methods.md")
    asked = options.parse_args()
    if asked.write_page:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), json.loads(RESULTS.read_text())), encoding="utf-8")
    else:
        measure(asked)


def measure(asked: argparse.Namespace) -> None:
    """Train every line, and write down its numbers as soon as they are there."""
    asked.runs.mkdir(parents=True, exist_ok=True)
    recipe, folder = asked.runs / "relations.toml", asked.runs / "relations"
    recipe.write_text(RECIPE, encoding="utf-8")
    shared = [f"distillation.seeds={list(range(asked.seeds))}", f"distillation.epochs={asked.epochs}"]
    shared += [f"corpus.max_rows={asked.rows}"] if asked.rows else []
    found: dict[str, Any] = {"recipe": RECIPE, "overrides": shared, "machine": machine_facts(threads=1), "lines": []}
    if asked.go_on and asked.out.is_file():
        found = json.loads(asked.out.read_text(encoding="utf-8"))
    done = {line["name"] for line in found["lines"]}
    for line in LINES:
        if line.name in done or (asked.only and line.name not in asked.only):
            continue
        print(f"== {line.name}", file=sys.stderr, flush=True)
        start = time.perf_counter()
        baseline = f"distillation.baseline={'true' if not found['lines'] else 'false'}"  # the same for all lines
        run(
            recipe,
            overrides=[*shared, *line.overrides, baseline],
            out=folder,
            until=Stage.DISTILLATION,
            reporter=TerminalReporter(),
        )
        if not found["lines"]:
            found["teacher"] = TeacherFolder(folder / "teacher").facts.dev_accuracy
            found["alone"] = accuracies(folder, "bilstm-alone", seeds=asked.seeds)
        own = {"name": line.name, "shown": line.shown, "overrides": list(line.overrides)}
        own_accuracies = accuracies(folder, "bilstm", seeds=asked.seeds)
        found["lines"].append({**own, "accuracies": own_accuracies, "seconds": round(time.perf_counter() - start, 1)})
        asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def accuracies(folder: Path, name: str, *, seeds: int) -> list[float]:
    """On dev, one for each seed."""
    found = [StudentFolder(folder / "students" / name / str(seed)).facts.dev_accuracy for seed in range(seeds)]
    return [accuracy for accuracy in found if accuracy is not None]


def page(text: str, found: Mapping[str, Any]) -> str:
    """The page with the table between its marks."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    rows = [["the student alone", *numbers(found["alone"])]]
    rows += [[line["shown"], *numbers(line["accuracies"])] for line in found["lines"]]
    rows.append(["the teacher", f"{100 * found['teacher']:.1f}", ""])
    written = table(["", "dev accuracy", "seeds"], rows)
    how = f"Measured on {machine_name(found['machine'])}; {', '.join(found['overrides'])}. Published: {PUBLISHED}."
    return f"{before}{START}\n\n{written}\n\n{how}\n\n{END}{after}"


def numbers(of_seeds: Sequence[float]) -> list[str]:
    """Mean and spread, and every seed."""
    mean = f"{100 * statistics.mean(of_seeds):.1f}"
    spread = f" ± {100 * statistics.stdev(of_seeds):.1f}" if of_seeds[1:] else ""
    return [mean + spread, " ".join(f"{100 * one:.1f}" for one in of_seeds)]


if __name__ == "__main__":
    main()
