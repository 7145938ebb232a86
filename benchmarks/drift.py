"""False and right alarms of `limbeck drift`: streams of a model's own text, and of other text.

    LIMBECK_DATA=path/to/data python benchmarks/drift.py [--streams 100] [--rows 500] [--keep FOLDER] [--out FILE]

Needs sst2, imdb, tnews and arena under LIMBECK_DATA. A bag of words is trained on 8,000 rows of SST-2 with a linear
teacher, without an encoder. From 20,000 other rows of SST-2, every unshifted stream draws its rows, and 2,000 others as
the dev that its profile is made from: the rate of false alarms is one over the draw of both. Shifted streams are drawn
from other files, and compared with the profile of the first draw.
"""

import argparse
import csv
import gzip
import json
import os
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from math import comb
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

import limbeck  # noqa: E402
from limbeck.artifacts.corpus import Corpus  # noqa: E402
from limbeck.artifacts.manifest import MANIFEST, Key, write_manifest  # noqa: E402
from limbeck.artifacts.model_folder import ModelFolder, copy_model  # noqa: E402
from limbeck.artifacts.rows import Rows  # noqa: E402
from limbeck.export.profile import Origin, write_profile  # noqa: E402
from limbeck.runtime.classifier import Classifier  # noqa: E402
from limbeck.runtime.drift.run import DriftResult, drift  # noqa: E402

RESULT = ROOT / "benchmarks" / "results" / "drift.json"
TRAIN_ROWS, POOL_ROWS, DEV_ROWS, FEW = 8_000, 20_000, 2_000, 20
ALPHA, SEED = 0.01, 0
RECIPE = """
[corpus]
train = "train.csv"
[teacher]
kind = "linear"
[student]
kind = "bag"
[distillation]
seeds = [0]
baseline = false
[evaluation]
rival = false
latency_rows = 10
throughput_batches = []
"""
Texts = Sequence[str]


def main() -> None:
    """Train, draw, compare, write."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--streams", type=int, default=100)
    asked.add_argument("--rows", type=int, default=500)
    asked.add_argument("--keep", type=Path, help="folder of the run, to use its model again")
    asked.add_argument("--out", type=Path, default=RESULT)
    said = asked.parse_args()
    data, dice = Path(os.environ["LIMBECK_DATA"]), random.Random(SEED)
    rows = sst2(data)
    dice.shuffle(rows)
    pool = rows[TRAIN_ROWS : TRAIN_ROWS + POOL_ROWS]
    with tempfile.TemporaryDirectory() as scratch:
        run = said.keep or Path(scratch) / "run"
        found = measured(trained(run, rows[:TRAIN_ROWS]), pool, others(data, pool), dice=dice, said=said)
    said.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


def sst2(data: Path) -> list[tuple[str, str]]:
    """(text, label) of the training rows, each text once."""
    with (data / "sst2" / "train.tsv").open(encoding="utf-8") as file:
        lines = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        next(lines)
        found = {text.strip(): label for text, label in lines}
    return [(text, ("negative", "positive")[int(label)]) for text, label in found.items()]


def others(data: Path, pool: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """The texts of each kind of shift."""
    with gzip.open(data / "imdb" / "dev.tsv.gz", "rt", encoding="utf-8") as file:
        imdb = [line.rstrip("\n").split("\t")[2] for line in file][1:]
    with (data / "tnews" / "dev.tsv").open(encoding="utf-8") as file:
        chinese = [line.split("\t")[0] for line in file]
    positive = [text for text, label in pool if label == "positive"]
    negative = [text for text, label in pool if label == "negative"]
    mixed = positive[: 3 * len(negative) // 7] + negative[: len(negative)]
    return {
        "IMDB: whole reviews": imdb,
        "IMDB: the first 60 characters": [text[:60].rpartition(" ")[0] for text in imdb],
        "tweets (emotion)": arena(data, "tweet_emotion"),
        "questions to an assistant (HWU64)": arena(data, "hwu64"),
        "German tweets": arena(data, "germeval2018"),
        "Chinese headlines (TNEWS)": chinese,
        "SST-2 with 70 % negative instead of 44 %": mixed,
        "SST-2 without spaces before punctuation": [text.replace(" ,", ",").replace(" .", ".") for text, _ in pool],
        "SST-2 with a typo in every fifth word": [mistyped(text) for text, _ in pool],
    }


def mistyped(text: str) -> str:
    """With the first two letters exchanged in every fifth word."""
    words = text.split()
    return " ".join(word[1::-1] + word[2:] if place % 5 == 2 else word for place, word in enumerate(words))


def arena(data: Path, name: str) -> list[str]:
    """The training texts of a set."""
    with (data / "arena" / name / "train.csv").open(encoding="utf-8", newline="") as file:
        return [row["text"] for row in csv.DictReader(file)]


def trained(run: Path, rows: Sequence[tuple[str, str]]) -> ModelFolder:
    """The model, trained unless the folder has it."""
    if not (run / "models" / "best").is_dir():
        run.parent.mkdir(parents=True, exist_ok=True)
        with (run.parent / "train.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("text", "label"), *rows])
        (run.parent / "drift.toml").write_text(RECIPE, encoding="utf-8")
        limbeck.run(run.parent / "drift.toml", out=run)
    return ModelFolder(run / "models" / "best")


def measured(
    model: ModelFolder,
    pool: Sequence[tuple[str, str]],
    shifted: dict[str, list[str]],
    *,
    dice: random.Random,
    said: argparse.Namespace,
) -> dict[str, Any]:
    """Alarms of all streams."""
    texts = [text for text, _ in pool]
    with tempfile.TemporaryDirectory() as scratch:
        folders = profiles(model, Path(scratch))
        sizes = {}
        for rows in (said.rows, FEW):
            found = []
            for _ in range(said.streams):
                drawn = dice.sample(texts, DEV_ROWS + rows)
                found.append(compared(folders(drawn[:DEV_ROWS]), drawn[DEV_ROWS:], Path(scratch)))
            sizes[str(rows)] = summary(found, at_most=most_alarms(said.streams))
        folder = folders(dice.sample(texts, DEV_ROWS))
        right = {
            name: summary([compared(folder, dice.sample(other, said.rows), Path(scratch)) for _ in range(FEW)])
            for name, other in shifted.items()
        }
    return {"alpha": ALPHA, "dev_rows": DEV_ROWS, "rows": said.rows, "unshifted": sizes, "shifted": right}


def profiles(model: ModelFolder, scratch: Path) -> Callable[[Texts], Path]:
    """A function that gives a copy of the model the profile of other rows of dev."""
    folder = scratch / "model"
    folder.mkdir()
    copy_model(model, folder)
    train = Corpus(model.folder.parent.parent / "corpus").splits["train"]
    facts, classifier = model.facts(), Classifier(model, threads=1)

    def profiled(texts: Texts) -> Path:
        rows = Rows.of(ids=[str(number) for number in range(len(texts))], texts=texts)
        (folder / MANIFEST).unlink(missing_ok=True)
        write_profile(folder, facts, rows=rows, logits_of=classifier.logits, origin=Origin(train=train))
        write_manifest(folder, kind="model", key=Key(section={}, inputs={}))
        return folder

    return profiled


def compared(model: Path, texts: Texts, scratch: Path) -> DriftResult:
    """What `limbeck drift` finds in a file of these texts."""
    file = scratch / "stream.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    return drift(model, file, alpha=ALPHA)


def summary(found: Sequence[DriftResult], **more: int) -> dict[str, Any]:
    """How many streams raised an alarm, and by which signals; the mean of each signal's effect."""
    names = [signal.name for signal in found[0].signals]
    signals = [{signal.name: signal for signal in one.signals} for one in found]
    return {
        "streams": len(found),
        "alarms": sum(one.is_drift for one in found),
        **more,
        "by_signal": {name: sum(one[name].is_drift for one in signals) for name in names},
        "effect": {name: round(sum(one[name].effect for one in signals) / len(found), 4) for name in names},
    }


def most_alarms(streams: int) -> int:
    """More alarms than this come with a chance below one in a hundred if the rate is the stated one."""
    chances = [comb(streams, alarms) * ALPHA**alarms * (1 - ALPHA) ** (streams - alarms) for alarms in range(streams)]
    return next(most for most in range(streams) if 1 - sum(chances[: most + 1]) < 0.01)


if __name__ == "__main__":
    main()
