"""German tweets with three ways of reading words: by the rules of English, by those of German, and cut into parts.

    LIMBECK_DATA=data python benchmarks/german.py [--seeds 0 1] [--out FOLDER]

GermEval 2018 (offence or not). No encoder that reads German is taken, so the teacher is linear, as in a draft without
one; a Bi-LSTM and n-grams learn from it. "parts" is the German rules with rare and compound words cut into parts that
train repeats, as Korean is cut. Rows of test are judged; numbers go to benchmarks/results/german.json.
"""

import argparse
import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "german.json"
WAYS = {"english": "en", "german": "de", "parts": "de"}  # and the language of the recipe
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
    """Measure all ways."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    options.add_argument("--out", type=Path)
    asked = options.parse_args()
    from limbeck.timing.machine import machine_facts

    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.out or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        found = {way: of_way(way, folder, seeds=asked.seeds) for way in WAYS}
    numbers = {"machine": machine_facts(threads=1), "seeds": asked.seeds, "ways": found}
    RESULTS.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")


def of_way(way: str, folder: Path, *, seeds: list[int]) -> dict[str, Any]:
    """Accuracy and macro F1 of every model."""
    import limbeck
    from limbeck.text import language_rules
    from limbeck.text.word_patterns import SPACED_UNIT

    data = Path(os.environ["LIMBECK_DATA"]) / "arena" / "germeval2018"
    recipe = folder / f"{way}.toml"
    recipe.write_text(RECIPE.format(data=data, language=WAYS[way], seeds=seeds), encoding="utf-8")
    plain = language_rules.RULES["de"]
    if way == "parts":
        language_rules.RULES["de"] = replace(plain, parts=SPACED_UNIT)
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
