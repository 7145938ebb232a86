"""Every method that comes with the package, on a few thousand rows of SST-2, on a CPU: alone, distilled, the gain.

    LIMBECK_DATA=path/to/data python benchmarks/presets.py [--seeds 3] [--only tang spkd …] [--go-on]
    python benchmarks/presets.py --write-page

Every line is a run of the product in one folder: the teacher is trained once, and asked once for every text. Numbers go
to benchmarks/results/presets.json; --write-page puts their table into docs/distillation.md.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from limbeck.pipeline import run
from limbeck.progress import TerminalReporter
from limbeck.recipe.builtin import builtin_methods

ROOT = Path(__file__).resolve().parent.parent
RESULTS, PAGE = ROOT / "benchmarks" / "results" / "presets.json", ROOT / "docs" / "distillation.md"
START, END = "<!-- presets -->", "<!-- /presets -->"

DATA = """
[corpus]
train = "sst2/train.tsv"
dev = "sst2/dev.tsv"
text = "sentence"
label_names = { 0 = "negative", 1 = "positive" }
max_rows = 3_000
overlap = "remove"

[teacher]
checkpoint = "all-MiniLM-L6-v2"
epochs = 2
learning_rate = 2e-4
max_length = 64

[export]
precisions = ["fp32"]

[evaluation]                    # accuracy is the matter here, not time
latency_rows = 10
latency_rounds = 1
throughput_rows = 16
"""
WORDS = ["student.embedding_size=100", "distillation.batch_size=64"]
# The offline teacher has 6 layers of 384: half of them for students that have half of BERT's.
FP32 = "distillation.precision=fp32"  # one arithmetic on every CPU
HALF = ["student.layers=3", "student.max_length=64", FP32]
OVERRIDES: Mapping[str, Sequence[str]] = {
    "tang": [*WORDS, "augmentation.copies=10"],
    "tinybert": ["student.max_length=64", FP32],
    **dict.fromkeys(("distilbert", "pkd", "minilm", "minilm-v2"), HALF),
}


# They need a head for masked words, or fifty times the steps of the others.
NOT_HERE = ("tinybert-augmented", "tang-exact", "kim")


def main() -> None:
    """Measure, or write the page."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--only", nargs="*", help="these methods only")
    options.add_argument("--go-on", action="store_true", help="keep the lines that an earlier, stopped run has written")
    options.add_argument("--runs", type=Path, default=Path("runs"))
    options.add_argument("--out", type=Path, default=RESULTS)
    options.add_argument("--write-page", action="store_true")
    asked = options.parse_args()
    if asked.write_page:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        measure(asked)


def measure(asked: argparse.Namespace) -> None:
    """Run every method, and write down its numbers as soon as they are there."""
    asked.runs.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {"recipe": DATA, "lines": []}
    if asked.go_on and asked.out.is_file():
        found = json.loads(asked.out.read_text(encoding="utf-8"))
    done = {line["method"] for line in found["lines"]}
    for method in builtin_methods():
        if method.name in done or (method.name not in asked.only if asked.only else method.name in NOT_HERE):
            continue
        print(f"== {method.name}", file=sys.stderr, flush=True)
        recipe = asked.runs / "presets.toml"
        recipe.write_text(f'extends = "{method.name}"\n{DATA}', encoding="utf-8")
        overrides = [f"distillation.seeds={list(range(asked.seeds))}", *OVERRIDES.get(method.name, WORDS)]
        finished = run(recipe, overrides=overrides, out=asked.runs / "presets", reporter=TerminalReporter())
        found["lines"].append(line_of(method.name, finished.report, overrides))
        found["rows"] = finished.report["corpus"]["rows"]
        asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def line_of(method: str, report: Mapping[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """One line of the table."""
    by_role = {model["role"]: model for model in report["models"]}
    student = by_role["student"]
    gain = student["gain_over_baseline"]
    return {
        "method": method,
        "overrides": list(overrides),
        "machine": f"{report['machine']['cpu']}, {report['machine']['cores']} cores",
        "student": student["kind"],
        "parameters": student["parameters"],
        "teacher": by_role["teacher"]["accuracy"],
        "alone": by_role["baseline"]["accuracy"],
        "alone_sd": by_role["baseline"]["accuracy_sd"],
        "distilled": student["accuracy"],
        "distilled_sd": student["accuracy_sd"],
        "seeds": student["seed_count"],
        "gain": gain["accuracy"],
        "gain_ci95": gain["ci95"],
    }


def page(text: str) -> str:
    """The page with the table between its marks."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n\n{table(json.loads(RESULTS.read_text(encoding='utf-8')))}\n\n{END}{after}"


def table(found: Mapping[str, Any]) -> str:
    """The results as Markdown."""
    rows, machines = found["rows"], dict.fromkeys(line["machine"] for line in found["lines"])
    teachers = dict.fromkeys(f"{100 * line['teacher']:.1f}" for line in found["lines"])
    lines = [
        f"SST-2, {rows['train']:,} rows of train, accuracy on dev ({rows['dev']:,} rows), which also chose the epoch; "
        f"mean ± spread over seeds; teacher all-MiniLM-L6-v2, {' and '.join(teachers)} on these machines: "
        f"{' and '.join(machines)}; no GPU.",
        "",
        "| method | student | parameters | seeds | alone | distilled | gain (95 %) |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for line in sorted(found["lines"], key=lambda line: (line["student"], -line["distilled"])):
        low, high = line["gain_ci95"]
        lines.append(
            f"| `{line['method']}` | {line['student']} | {line['parameters'] / 1e6:.1f}M | {line['seeds']} | "
            f"{100 * line['alone']:.1f} ± {100 * line['alone_sd']:.1f} | "
            f"{100 * line['distilled']:.1f} ± {100 * line['distilled_sd']:.1f} | "
            f"{100 * line['gain']:+.1f} ({100 * low:+.1f} to {100 * high:+.1f}) |"
        )
    return "\n".join([*lines, "", "Made by `benchmarks/presets.py`, which says the settings of each line."])


if __name__ == "__main__":
    main()
