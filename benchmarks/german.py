"""German tweets with three ways of reading words: by the rules of English, by those of German, and without parts.

    LIMBECK_DATA=data python benchmarks/german.py [--seeds 0 1] [--out FOLDER]
    python benchmarks/german.py --write-page

GermEval 2018 (offence or not). No encoder that reads German is taken, so the teacher is linear, as in a draft without
one; a Bi-LSTM and n-grams learn from it. The rules of German cut words into parts that train repeats; "whole words" is
without that. Rows of test are judged; numbers go to
benchmarks/results/german.json, and --write-page puts their table into docs/text.md.
"""

import argparse
import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS, PAGE = ROOT / "benchmarks" / "results" / "german.json", ROOT / "docs" / "text.md"
START, END = "<!-- german -->", "<!-- /german -->"
SHOWN = {"linear": "TF-IDF, linear", "bilstm": "Bi-LSTM", "ngrams": "n-grams", "blend-int8": "blend, int8"}
WAYS = {"English rules": "en", "whole words": "de", "parts": "de"}  # and the language of the recipe
RECIPE = """
[corpus]
train = "{data}/train.csv"
test = "{data}/test.csv"
text = "text"
label = "label"
language = "{language}"
[teacher]
kind = "linear"
[student]
kind = "bilstm"
hidden_size = 100
embedding_size = 100
word_vectors = "random"
max_length = 64
[[candidates]]
kind = "ngrams"
[distillation]
epochs = 6
batch_size = 32
keep = "latest"
seeds = {seeds}
[[distillation.losses]]
kind = "soft_targets"
temperature = 1.0
[evaluation]
throughput_batches = []
"""


def main() -> None:
    """Measure all ways, or write the page."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    options.add_argument("--out", type=Path)
    options.add_argument("--write-page", action="store_true")
    asked = options.parse_args()
    if not asked.write_page:
        measure(asked.seeds, asked.out)
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    _, _, after = rest.partition(END)
    numbers = json.loads(RESULTS.read_text(encoding="utf-8"))
    PAGE.write_text(f"{before}{START}\n\n{table(numbers['ways'])}\n\n{END}{after}", encoding="utf-8")


def table(ways: dict[str, Any]) -> str:
    """A line for each model, a column for each way."""
    lines = ["| model | " + " | ".join(ways) + " |", "|---|" + "---:|" * len(ways)]
    for name, title in SHOWN.items():
        cells = [f"{100 * way[name]['accuracy']:.1f} ({100 * way[name]['macro_f1']:.1f})" for way in ways.values()]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def measure(seeds: list[int], out: Path | None) -> None:
    """All ways, into the file of results."""
    from limbeck.timing.machine import machine_facts

    with tempfile.TemporaryDirectory() as scratch:
        folder = out or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        found = {way: of_way(way, folder, seeds=seeds) for way in WAYS}
    numbers = {"machine": machine_facts(threads=1), "seeds": seeds, "ways": found}
    RESULTS.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")


def of_way(way: str, folder: Path, *, seeds: list[int]) -> dict[str, Any]:
    """Accuracy and macro F1 of every model."""
    import limbeck
    from limbeck.text import language_rules

    data = Path(os.environ["LIMBECK_DATA"]) / "arena" / "germeval2018"
    recipe = folder / f"{way}.toml"
    recipe.write_text(RECIPE.format(data=data, language=WAYS[way], seeds=seeds), encoding="utf-8")
    plain = language_rules.RULES["de"]
    if way == "whole words":
        language_rules.RULES["de"] = replace(plain, parts="")
    try:
        limbeck.run(recipe, out=folder / way)
    finally:
        language_rules.RULES["de"] = plain
    report = json.loads((folder / way / "report" / "report.json").read_text(encoding="utf-8"))
    return {
        model["name"]: {key: model.get(key) for key in ("role", "accuracy", "accuracy_sd", "macro_f1", "size_mb")}
        for model in report["models"]
    }


if __name__ == "__main__":
    main()
