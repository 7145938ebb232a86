"""Accuracy against size: the same student within several limits of megabytes, with whole word vectors and with a rank.

    LIMBECK_DATA=path/to/data python benchmarks/sizes.py [--seeds 1] [--set corpus.max_rows=500 …]
    python benchmarks/sizes.py --write-page

Every line is a run of the product in one folder: the teacher is trained once, and asked once for every text. Limits
that a student keeps anyhow are left out. Numbers go to benchmarks/results/sizes.json; --write-page puts their table
into docs/export.md.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from limbeck.pipeline import run
from limbeck.progress import TerminalReporter

ROOT = Path(__file__).resolve().parent.parent
RESULTS, PAGE = ROOT / "benchmarks" / "results" / "sizes.json", ROOT / "docs" / "export.md"
START, END = "<!-- sizes -->", "<!-- /sizes -->"

RECIPE = """
extends = "sst2-small"

[transfer]
rows = 20_000

[student]
embedding_size = 300

[distillation]
epochs = 3
baseline = false

[evaluation]                    # accuracy and size are the matter here, not time
latency_rows = 10
latency_rounds = 1
throughput_rows = 16
throughput_batches = []
teacher_int8 = false
"""
LIMITS = (None, 4, 2, 1)
WHOLE, RANK_64, RANK_32, NARROW = "whole, 300", "rank 64 of 300", "rank 32 of 300", "whole, 64"
VECTORS: Mapping[str, Sequence[str]] = {
    WHOLE: [],
    RANK_64: ["student.vector_rank=64"],
    RANK_32: ["student.vector_rank=32"],
    NARROW: ["student.embedding_size=64"],
}


def main() -> None:
    """Measure, or write the page."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seeds", type=int, default=1)
    options.add_argument("--set", action="append", default=[], help="a key for all runs, e.g. corpus.max_rows=500")
    options.add_argument("--runs", type=Path, default=Path("runs"))
    options.add_argument("--out", type=Path, default=RESULTS)
    options.add_argument("--go-on", action="store_true", help="keep the lines that an earlier, stopped run has written")
    options.add_argument("--write-page", action="store_true")
    asked = options.parse_args()
    if asked.write_page:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        measure(asked)


def measure(asked: argparse.Namespace) -> None:
    """Run every line, and write down its numbers as soon as they are there."""
    asked.runs.mkdir(parents=True, exist_ok=True)
    recipe = asked.runs / "sizes.toml"
    recipe.write_text(RECIPE, encoding="utf-8")
    common = [f"distillation.seeds={list(range(asked.seeds))}", *asked.set]
    found: dict[str, Any] = {"recipe": RECIPE, "overrides": common, "lines": []}
    if asked.go_on and asked.out.is_file():
        found = json.loads(asked.out.read_text(encoding="utf-8"))
    done = {(line["vectors"], line["max_size_mb"]) for line in found["lines"]}
    for vectors, overrides in VECTORS.items():
        for limit in LIMITS:
            if (vectors, limit) in done or (limit is not None and _unlimited_mb(found, vectors) <= limit):
                continue
            print(f"== {vectors}, {limit or 'any'} MB", file=sys.stderr, flush=True)
            limited = [] if limit is None else [f"student.max_size_mb={limit}"]
            finished = run(
                recipe,
                overrides=[*common, *overrides, *limited],
                out=asked.runs / "sizes",
                reporter=TerminalReporter(),
            )
            report = finished.report
            found |= {"machine": report["machine"], "rows": report["corpus"]["rows"], "teacher": teacher_of(report)}
            words = json.loads((finished.folder / "vocabulary" / "vocabulary.json").read_text(encoding="utf-8"))
            found["lines"].append(line_of(report, vectors=vectors, limit=limit, words=words["tokens"]))
            asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _unlimited_mb(found: Mapping[str, Any], vectors: str) -> float:
    """The int8 file with all words, which was made first."""
    lines = {line["vectors"]: line for line in found["lines"] if line["max_size_mb"] is None}
    return float(lines[vectors]["int8_mb"])


def teacher_of(report: Mapping[str, Any]) -> dict[str, Any]:
    """What the students are beside."""
    return {key: report["models"][0][key] for key in ("name", "accuracy", "size_mb", "parameters")}


def line_of(report: Mapping[str, Any], *, vectors: str, limit: float | None, words: int) -> dict[str, Any]:
    """One line of the table."""
    models = {model["name"]: model for model in report["models"]}
    fp32, int8 = models["bilstm"], models["bilstm-int8"]
    return {
        "vectors": vectors,
        "max_size_mb": limit,
        "words": words,
        "parameters": int8["parameters"],
        "int8_mb": int8["size_mb"],
        "int8": int8["accuracy"],
        "int8_sd": int8["accuracy_sd"],
        "fp32_mb": fp32["size_mb"],
        "fp32": fp32["accuracy"],
        "fp32_sd": fp32["accuracy_sd"],
        "seeds": int8["seed_count"],
    }


def page(text: str) -> str:
    """The page with the table between its marks."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n\n{table(json.loads(RESULTS.read_text(encoding='utf-8')))}\n\n{END}{after}"


def table(found: Mapping[str, Any]) -> str:
    """The results as Markdown."""
    rows, teacher, machine = found["rows"], found["teacher"], found["machine"]
    seeds = found["lines"][0]["seeds"]
    over = f"mean ± spread over {seeds} seeds" if seeds > 1 else "one seed"
    lines = [
        f"SST-2, {rows['train']:,} rows of train, and sentences of IMDB; accuracy on dev ({rows['dev']:,} rows), which "
        f"also chose the epoch; {over}; teacher {teacher['name']}, {100 * teacher['accuracy']:.1f} at "
        f"{teacher['size_mb']:.0f} MB; {machine['cpu']}, {machine['cores']} cores.",
        "",
        "| word vectors | `max_size_mb` | words | int8 MB | int8 accuracy | fp32 MB | fp32 accuracy |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for line in found["lines"]:
        limit = "" if line["max_size_mb"] is None else f"{line['max_size_mb']:g}"
        lines.append(
            f"| {line['vectors']} | {limit} | {line['words']:,} | {line['int8_mb']:.2f} | {_accuracy(line, 'int8')} | "
            f"{line['fp32_mb']:.2f} | {_accuracy(line, 'fp32')} |"
        )
    return "\n".join(
        [*lines, "", f"Made by `benchmarks/sizes.py --seeds {seeds}`, which says the settings of each line."]
    )


def _accuracy(line: Mapping[str, Any], precision: str) -> str:
    spread = f" ± {100 * line[f'{precision}_sd']:.1f}" if line["seeds"] > 1 else ""
    return f"{100 * line[precision]:.1f}{spread}"


if __name__ == "__main__":
    main()
