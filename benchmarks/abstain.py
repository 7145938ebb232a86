"""Abstaining: scores compared, foreign intents recognised, distilled beside alone, and what a threshold costs in time.

    LIMBECK_DATA=path/to/data python benchmarks/abstain.py [--keep FOLDER] [--out FILE]
    python benchmarks/abstain.py --write-page

Needs arena/hwu64 and arena/snips. Of each set whole intents are left out of train, dev and test, drawn again each time:
16 of 64 (three times), 2 of 7 (twice). Half of the intents left out help to fit thresholds, the other half are judged.
Small settings, on a CPU: at most 4,000 training rows of HWU64 and 1,500 of SNIPS, the encoder all-MiniLM-L6-v2 (from
the extra `demo`) fine-tuned for two epochs, a Bi-LSTM with and without it, three seeds each. The part about time uses
n-grams with a linear teacher, the fastest student, on 64 and on 2 classes. --keep is a folder that keeps the runs.
--write-page puts the tables into docs/abstaining.md.
"""

import argparse
import csv
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean, median
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

import limbeck  # noqa: E402
from benchmarks.abstain_page import write_page  # noqa: E402
from benchmarks.abstain_scores import FITTED, Answers, answers_of_run, fit_on_dev, scores_of_answers  # noqa: E402
from limbeck.artifacts.model_folder import Abstention  # noqa: E402
from limbeck.progress import SilentReporter  # noqa: E402
from limbeck.runtime.classifier import Classifier  # noqa: E402
from limbeck.runtime.risk_coverage import RiskCoverage, foreign_measures  # noqa: E402
from limbeck.timing.machine import machine_facts  # noqa: E402

RESULT = ROOT / "benchmarks" / "results" / "abstain.json"
LEFT_OUT, ROWS = {"hwu64": 16, "snips": 2}, {"hwu64": 4_000, "snips": 1_500}
DRAWS, DEV_ROWS, FOREIGN_ROWS, ROUNDS = {"hwu64": 3, "snips": 2}, 700, 500, 41
COVERAGES = (0.5, 0.8, 0.9, 0.95, 1.0)
RECIPE = """
[corpus]
train = "train.csv"
dev = "dev.csv"
test = "test.csv"
overlap = "remove"
[augmentation]
copies = 2
[[augmentation.methods]]
kind = "masking"
[teacher]
checkpoint = "all-MiniLM-L6-v2"
head = "mean"
epochs = 2
learning_rate = 1e-4
max_length = 40
[student]
kind = "bilstm"
hidden_size = 100
[distillation]
epochs = 8
batch_size = 64
seeds = [0, 1, 2]
[export]
precisions = ["fp32"]
[evaluation]
teacher_int8 = false
latency_rows = 10
throughput_batches = []
bootstrap_samples = 1000
"""
QUICK = """
[corpus]
train = "train.csv"
[teacher]
kind = "linear"
[student]
kind = "ngrams"
[distillation]
seeds = [0]
baseline = false
[evaluation]
rival = false
latency_rows = 10
throughput_batches = []
bootstrap_samples = 100
"""
RowList = Sequence[tuple[str, str]]


def main() -> None:
    """Measure, or write the page."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--keep", type=Path)
    options.add_argument("--out", type=Path, default=RESULT)
    options.add_argument("--write-page", action="store_true")
    asked = options.parse_args()
    if asked.write_page:
        write_page(json.loads(RESULT.read_text(encoding="utf-8")))
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.keep or Path(scratch)
        draws = [one_draw(name, seed, folder / f"{name}-{seed}") for name in LEFT_OUT for seed in range(DRAWS[name])]
        found = {
            "left_out": LEFT_OUT,
            "train_rows": ROWS,
            "machine": machine_facts(threads=1),
            "draws": draws,
            "time": [time_of(name, classes, folder) for name, classes in (("hwu64", 64), ("sst2", 2))],
        }
    asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def one_draw(name: str, seed: int, folder: Path) -> dict[str, Any]:
    """Train unless the folder has the run, and measure."""
    if not (folder / "run" / "report" / "report.json").is_file():
        write_case(name, seed, folder)
        limbeck.run(folder / "recipe.toml", out=folder / "run")
    report = json.loads((folder / "run" / "report" / "report.json").read_text(encoding="utf-8"))
    found = {
        "set": name,
        "draw": seed,
        "accuracy": {line["name"]: line["accuracy"] for line in report["models"]},
    }
    for variant in ("bilstm", "bilstm-alone"):
        answers = answers_of_run(folder, variant)
        found[variant] = measured(answers) | ({"thresholds": thresholds(answers)} if variant == "bilstm" else {})
    print(json.dumps({key: found[key] for key in ("set", "draw", "accuracy")}), flush=True)
    return found


def write_case(name: str, seed: int, folder: Path) -> None:
    """Files of rows in scope, and of rows of the intents that are left out."""
    train, test = read(name, "train"), read(name, "test")
    names = sorted({label for _, label in train})
    foreign = random.Random(seed).sample(names, LEFT_OUT[name])
    fit, judged = set(foreign[: len(foreign) // 2]), set(foreign[len(foreign) // 2 :])
    random.Random(100 + seed).shuffle(train)
    dev, train = (read(name, "dev"), train) if name == "snips" else (train[:1000], train[1000:])
    inside = {split: [row for row in rows if row[1] not in foreign] for split, rows in (("train", train), ("dev", dev))}
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "train.csv", inside["train"][: ROWS[name]])
    write(folder / "dev.csv", inside["dev"][:DEV_ROWS])
    write(folder / "test.csv", [row for row in test if row[1] not in foreign])
    write(folder / "foreign-dev.csv", [row for row in train + dev if row[1] in fit][:FOREIGN_ROWS])
    write(folder / "foreign-test.csv", [row for row in train + dev + test if row[1] in judged][:FOREIGN_ROWS])
    (folder / "recipe.toml").write_text(RECIPE, encoding="utf-8")


def read(name: str, split: str) -> list[tuple[str, str]]:
    """(text, label) of a file."""
    with (Path(os.environ["LIMBECK_DATA"]) / "arena" / name / f"{split}.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        return [(row["text"], row["label"]) for row in csv.DictReader(file)]


def write(path: Path, rows: RowList) -> None:
    """As csv."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *rows])


def measured(answers: Answers) -> dict[str, Any]:
    """Each score: area under the risk-coverage curve, and how well it tells foreign rows; means over the seeds."""
    return {
        score: _means([_of_seed(answers, score, seed) for seed in answers.seeds])
        for score in scores_of_answers(answers)
    }


def _of_seed(answers: Answers, score: str, seed: int) -> dict[str, Any]:
    inside, outside = (scores_of_answers(answers, split=split)[score][seed] for split in ("test", "foreign-test"))
    curve = RiskCoverage.of(inside, answers.right[seed])
    at = [max(0, round(share * len(inside)) - 1) for share in COVERAGES]
    low, high = curve.aurc_interval(samples=1_000)
    return {
        "aurc": curve.aurc,
        "aurc_low": low,
        "aurc_high": high,
        **{f"error at {share:.0%}": float(curve.risks[place]) for share, place in zip(COVERAGES, at, strict=True)},
        **{key: value for key, value in foreign_measures(inside, outside).items() if key != "rows"},
    }


def _means(of_seeds: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {key: mean(one[key] for one in of_seeds) for key in of_seeds[0]}


def thresholds(answers: Answers) -> dict[str, dict[str, float]]:
    """What thresholds that are fitted on dev do on test, for each wish: means over the seeds."""
    return {wish: _means([_worth(answers, wish, seed) for seed in answers.seeds]) for wish in FITTED}


def _worth(answers: Answers, wish: str, seed: int) -> dict[str, float]:
    threshold = fit_on_dev(answers, wish, seed)
    inside, outside = (
        scores_of_answers(answers, split=split)["probability"][seed] for split in ("test", "foreign-test")
    )
    answered = inside >= threshold
    return {
        "coverage": float(answered.mean()),
        "error": float(1 - answers.right[seed][answered].mean()) if answered.any() else 0.0,
        "withheld": float((outside < threshold).mean()),
    }


def time_of(name: str, classes: int, folder: Path) -> dict[str, Any]:
    """µs a text with abstaining and without, by turns in one run: the median ratio, one text at a time and 256."""
    place = folder / f"quick-{name}"
    if not (place / "run" / "models" / "best").is_dir():
        place.mkdir(parents=True, exist_ok=True)
        rows = read(name, "train") if name == "hwu64" else _sst2()
        random.Random(0).shuffle(rows)
        write(place / "train.csv", rows[:4_000])
        (place / "recipe.toml").write_text(QUICK, encoding="utf-8")
        limbeck.run(place / "recipe.toml", out=place / "run", reporter=SilentReporter())
    plain, texts = limbeck.load(place / "run" / "models" / "best", threads=1), [text for text, _ in _texts(place)]
    wary = limbeck.load(place / "run" / "models" / "best", threads=1)
    wary.facts = replace(plain.facts, abstain=Abstention("probability", 0.9))
    assert isinstance(plain, Classifier)
    assert len(plain.labels) == classes
    found = {"set": name, "classes": classes, "kind": plain.facts.kind, "engine": plain.engine}
    for size in (1, 256):
        found[f"ratio, {size} at a time"] = _ratio(plain.predict, wary.predict, texts, size=size)
    return found


def _sst2() -> list[tuple[str, str]]:
    lines = (Path(os.environ["LIMBECK_DATA"]) / "sst2" / "train.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return [
        (text.strip(), ("negative", "positive")[int(label)]) for text, label in (line.split("\t") for line in lines)
    ]


def _texts(place: Path) -> list[tuple[str, str]]:
    with (place / "train.csv").open(encoding="utf-8", newline="") as file:
        return [(row["text"], row["label"]) for row in csv.DictReader(file)][:512]


def _ratio(one: Callable[..., Any], other: Callable[..., Any], texts: Sequence[str], *, size: int) -> float:
    parts = [list(texts[at : at + size]) for at in range(0, len(texts), size)]
    ratios = []
    for turn in range(ROUNDS):
        order = (one, other) if turn % 2 else (other, one)
        taken = {asked: _seconds(asked, parts) for asked in order}
        ratios.append(taken[other] / taken[one])
    return round(median(ratios[1:]), 3)


def _seconds(asked: Callable[..., Any], parts: Sequence[list[str]]) -> float:
    started = time.perf_counter()
    for part in parts:
        asked(part)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
