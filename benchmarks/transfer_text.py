"""What transfer text is worth: the same student alone, with changed copies, with unlabelled text, with both; and which.

    LIMBECK_DATA=path/to/data python benchmarks/transfer_text.py sst2 [--seeds 3]    # or sst2-choice
    LIMBECK_DATA=path/to/data python benchmarks/transfer_text.py chnsenticorp --teacher path/of/a/chinese/encoder
    python benchmarks/transfer_text.py --write-page

Every line is a run of the product in one folder: the teacher is trained once, and asked once for every text. Numbers go
to benchmarks/results/transfer_<data>.json; --write-page puts their tables into docs/transfer.md.
"""

import argparse
import json
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from limbeck.pipeline import run
from limbeck.progress import TerminalReporter

ROOT = Path(__file__).resolve().parent.parent
RESULTS, PAGE = ROOT / "benchmarks" / "results", ROOT / "docs" / "transfer.md"
START, END = "<!-- results -->", "<!-- /results -->"
MASKING, POS_SWAP, NGRAM = "{kind='masking'}", "{kind='pos_swap'}", "{kind='ngram'}"

SST2 = """
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

[student]
hidden_size = 150
embedding_size = 100

[distillation]
epochs = 4
batch_size = 64
"""
IMDB_SENTENCES = "{files=['imdb/train.tsv.gz'], text='sentence', split_sentences=true, min_words=4, max_words=40}"
SST2_TEXT = IMDB_SENTENCES.replace("}", ", rows=30_000}")

CHNSENTICORP = """
[corpus]
train = "chnsenticorp/train.noleak.tsv"
dev = "chnsenticorp/dev.tsv"
text = "text_a"
label_names = { 0 = "negative", 1 = "positive" }

[teacher]
checkpoint = "m3e-small-zh"
epochs = 4
learning_rate = 5e-5
max_length = 128

[student]
hidden_size = 150
embedding_size = 100
max_length = 128

[distillation]
epochs = 4
batch_size = 128
"""
CHNSENTICORP_TEXT = "{files=['online_shopping/*.csv'], text='review', max_words=400}"

Variants = Mapping[str, Sequence[str]]


def copies(*methods: str, count: int) -> str:
    """An `augmentation` override."""
    return f"augmentation={{copies={count}, methods=[{', '.join(methods)}]}}"


def variants(text: str, *, count: int) -> Variants:
    """The lines of the table: name → overrides of the recipe. The baseline of each run is the student alone."""
    return {
        "distilled on the same rows": [],
        "+ masking, n-grams": [copies(MASKING, NGRAM, count=count)],
        "+ masking, parts of speech, n-grams": [copies(MASKING, POS_SWAP, NGRAM, count=count)],
        "+ unlabelled text": [f"transfer={text}"],
        "+ both": [f"transfer={text}", copies(MASKING, POS_SWAP, NGRAM, count=count)],
    }


def choices(text: str, *, rows: int) -> Variants:
    """Lines of a table about which text: as many rows of four times as many, chosen in different ways."""
    given, pool = text.rstrip("}"), 4 * rows
    return {
        f"{rows:,} rows, at random": [f"transfer={given}, rows={rows}}}"],
        "nearest to the corpus": [f"transfer={given}, rows={rows}, pool={pool}, choice='nearest'}}"],
        "as many of each class": [f"transfer={given}, rows={rows}, pool={pool}, choice='balanced'}}"],
        "at random, of those the teacher is sure of (0.9)": [
            f"transfer={given}, rows={rows}, pool={pool}, least_confidence=0.9}}"
        ],
        f"{pool:,} rows: all that these were chosen from": [f"transfer={given}, rows={pool}}}"],
    }


DATA: dict[str, tuple[str, Variants]] = {
    "sst2": (SST2, variants(SST2_TEXT, count=10)),
    "sst2-choice": (SST2, choices(IMDB_SENTENCES, rows=10_000)),
    "chnsenticorp": (CHNSENTICORP, variants(CHNSENTICORP_TEXT, count=5)),
}


def main() -> None:
    """Measure one data set, or write the page."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("data", nargs="?", choices=list(DATA))
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--teacher", help="another checkpoint")
    options.add_argument("--set", action="append", default=[], help="a key for all runs, e.g. corpus.max_rows=500")
    options.add_argument("--runs", type=Path, default=Path("runs"))
    options.add_argument("--go-on", action="store_true", help="keep the lines that an earlier, stopped run has written")
    options.add_argument("--write-page", action="store_true")
    asked = options.parse_args()
    if asked.data:
        measure(asked)
    if asked.write_page:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def measure(asked: argparse.Namespace) -> None:
    """Run every line, and write down its numbers as soon as they are there."""
    recipe_text, lines = DATA[asked.data]
    folder = asked.runs / f"transfer-{asked.data}"
    folder.mkdir(parents=True, exist_ok=True)
    recipe = asked.runs / f"transfer-{asked.data}.toml"
    recipe.write_text(recipe_text, encoding="utf-8")
    common = [f"distillation.seeds={list(range(asked.seeds))}", "export.precisions=['fp32']", *asked.set]
    if asked.teacher:
        common.append(f"teacher.checkpoint={asked.teacher}")
    results = RESULTS / f"transfer_{asked.data}.json"
    found: dict[str, Any] = {"data": asked.data, "recipe": recipe_text, "seeds": asked.seeds, "lines": []}
    if asked.go_on and results.is_file():
        found = json.loads(results.read_text(encoding="utf-8"))
    done = {line["name"] for line in found["lines"]}
    for name, overrides in lines.items():
        if name in done:
            continue
        print(f"== {name}", file=sys.stderr, flush=True)
        finished = run(recipe, overrides=[*common, *overrides], out=folder / "run", reporter=TerminalReporter())
        report = finished.report
        if not found["lines"]:
            found |= {"machine": report["machine"], "rows": report["corpus"]["rows"]}
            found["lines"] += [
                line_of("teacher", report, role="teacher"),
                line_of("student alone", report, role="baseline"),
            ]
        found["lines"].append({**line_of(name, report, role="student"), "overrides": list(overrides)})
        results.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def line_of(name: str, report: Mapping[str, Any], *, role: str) -> dict[str, Any]:
    """One line of the table."""
    entry = next(model for model in report["models"] if model["role"] == role)
    gain = entry.get("gain_over_baseline") or {}
    extra = [report[part]["chosen"]["rows"] for part in ("transfer", "augmentation") if report.get(part)]
    return {
        "name": name,
        "accuracy": entry["accuracy"],
        "accuracy_sd": entry["accuracy_sd"],
        "seeds": entry["seed_count"],
        "gain": gain.get("accuracy"),
        "gain_ci95": gain.get("ci95"),
        "extra_rows": sum(extra) if role == "student" else 0,
    }


def page(text: str) -> str:
    """The page with the tables of all results between its marks."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    tables = [table(json.loads(path.read_text(encoding="utf-8"))) for path in sorted(RESULTS.glob("transfer_*.json"))]
    return f"{before}{START}\n\n" + "\n\n".join(tables) + f"\n\n{END}{after}"


def table(found: Mapping[str, Any]) -> str:
    """One data set's results as Markdown."""
    machine = found["machine"]
    checkpoint = tomllib.loads(found["recipe"])["teacher"]["checkpoint"]
    rows = ", ".join(f"{split} {count:,}" for split, count in found["rows"].items())
    lines = [
        f"**{found['data']}** ({rows}; teacher {checkpoint}; accuracy on dev, mean ± spread over seeds; "
        f"{machine.get('gpu', '')}{', ' if 'gpu' in machine else ''}{machine['cpu']}, {machine['cores']} cores)",
        "",
        "| student | rows beside train | accuracy | gain over alone (95 %) |",
        "|---|---:|---:|---:|",
    ]
    for line in found["lines"]:
        spread = f" ± {100 * line['accuracy_sd']:.1f}" if line["seeds"] > 1 else ""
        gain = "" if line["gain"] is None else f"{100 * line['gain']:+.1f} ({_interval(line['gain_ci95'])})"
        lines.append(f"| {line['name']} | {line['extra_rows']:,} | {100 * line['accuracy']:.1f}{spread} | {gain} |")
    command = f"benchmarks/transfer_text.py {found['data']} --seeds {found['lines'][-1]['seeds']}"
    command += " --teacher FOLDER" if checkpoint == "m3e-small-zh" else ""  # which no hub or package has as safetensors
    note = (
        f"Made by `{command}`. The dev rows also chose the epoch. The gain is over the student alone with the same "
        "vocabulary, which grows with the text; the line `student alone` is that of the first run."
    )
    return "\n".join([*lines, "", note])


def _interval(bounds: Sequence[float]) -> str:
    return " to ".join(f"{100 * bound:+.1f}" for bound in bounds)


if __name__ == "__main__":
    main()
