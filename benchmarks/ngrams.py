"""A student of n-grams against fastText, one text a call, from text to label.

    LIMBECK_DATA=path/to/data python benchmarks/ngrams.py [--sets hwu64,tweet_emotion] [--rounds 20] [--out FILE]
    python benchmarks/ngrams.py --write-page

Needs fastText (pip install fasttext-wheel), and train.csv of each set under LIMBECK_DATA/arena. fastText reads words,
pairs of words and parts of words, as in benchmarks/arena.py. The student has the shape that its recipe would give it on
the same rows, in int8, with random weights; it is timed with the reader of n-grams in C++ and with the one in Python.
fastText's time includes lower case and single spaces, which it needs as well. All are in one process and take turns;
the time of a round is the median over its texts, and the medians of the rounds are shown. "new" are texts that are read
for the first time, after many others. --write-page puts the table into docs/speed.md.
"""

import argparse
import csv
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from math import ceil, log2
from pathlib import Path
from statistics import median
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

import torch  # noqa: E402

from limbeck.artifacts.atomic_folder import written_atomically  # noqa: E402
from limbeck.artifacts.manifest import Key  # noqa: E402
from limbeck.artifacts.model_folder import ModelFolder  # noqa: E402
from limbeck.artifacts.rows import Rows  # noqa: E402
from limbeck.artifacts.student_folder import StudentFacts, StudentFolder, save_student_facts  # noqa: E402
from limbeck.distillation.ngram_vocabulary import MOST_BYTES, WITHOUT_VECTOR, width_of_ngrams  # noqa: E402
from limbeck.export import export_student  # noqa: E402
from limbeck.models.size import parameter_count  # noqa: E402
from limbeck.models.students import word_student  # noqa: E402
from limbeck.progress import SilentReporter  # noqa: E402
from limbeck.recipe.export import Export  # noqa: E402
from limbeck.recipe.student import Ngrams  # noqa: E402
from limbeck.runtime.classifier import load  # noqa: E402
from limbeck.runtime.engine import SingleNetwork, open_engine  # noqa: E402
from limbeck.runtime.inputs import inputs_of  # noqa: E402
from limbeck.runtime.probabilities import best_labels  # noqa: E402
from limbeck.text.ngrams import NgramIds, NgramSettings  # noqa: E402
from limbeck.text.student_tokenizer import StudentTokenizer  # noqa: E402
from limbeck.timing.machine import machine_facts  # noqa: E402

RESULT, PAGE = ROOT / "benchmarks" / "results" / "ngrams.json", ROOT / "docs" / "speed.md"
MARKED = re.compile(r"<!-- n-grams -->.*?<!-- /n-grams -->", re.DOTALL)
KNOWN, NEW, BLOCK = 500, 1_000, 50  # texts; new ones are timed in blocks
FASTTEXT, IN_CPP, IN_PYTHON = "fastText", "ngrams, int8", "ngrams, int8, reader in Python"
KEY, SILENT = Key(section={}, inputs={}), SilentReporter()

Texts = Sequence[str]
Predict = Callable[[str], object]


def main() -> None:
    """Measure, or write the page."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sets", default="hwu64,tweet_emotion")
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--out", type=Path, default=RESULT)
    options.add_argument("--write-page", action="store_true")
    asked = options.parse_args()
    if asked.write_page:
        found = json.loads(RESULT.read_text(encoding="utf-8"))
        PAGE.write_text(MARKED.sub(lambda _: table(found), PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        return
    torch.set_num_threads(1)
    sets = {name: measured(name, rounds=asked.rounds) for name in asked.sets.split(",")}
    found = {"machine": machine_facts(threads=1), "load_average": round(os.getloadavg()[0], 2), "sets": sets}
    asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(table(found))


def measured(name: str, *, rounds: int) -> dict[str, Any]:
    """One set: microseconds of a text for each model, and how many times those of fastText that is."""
    path = Path(os.environ["LIMBECK_DATA"]) / "arena" / name / "train.csv"
    with path.open(encoding="utf-8", newline="") as file:
        texts, labels = zip(*((row["text"], row["label"]) for row in csv.DictReader(file)), strict=True)
    with tempfile.TemporaryDirectory() as folder:
        models = {FASTTEXT: fasttext(texts, labels), **students(Path(folder), texts, sorted({*labels}))}
        known, new = texts[:KNOWN], texts[KNOWN : KNOWN + NEW]
        for predict in models.values():
            timed(predict, known)
        seen = [{model: timed(predict, known) for model, predict in models.items()} for _ in range(rounds)]
        blocks = [new[first : first + BLOCK] for first in range(0, len(new), BLOCK)]
        fresh = [{model: timed(predict, block) for model, predict in models.items()} for block in blocks]
    taken = {"known": seen, "new": fresh}
    of_model = {
        model: {f"{which}_{name}": value for which, rows in taken.items() for name, value in compared(rows, model)}
        for model in models
    }
    return {"classes": len({*labels}), "words": median(len(text.split()) for text in known), "models": of_model}


def compared(rounds: Sequence[dict[str, float]], model: str) -> list[tuple[str, float]]:
    """The medians over the rounds: of the time, and of the time divided by fastText's in the same round."""
    ratio = median(times[model] / times[FASTTEXT] for times in rounds)
    return [("us", median(times[model] for times in rounds)), ("ratio", ratio)]


def timed(predict: Predict, texts: Texts) -> float:
    """The median over the texts, in microseconds."""
    times = []
    for text in texts:
        started = time.perf_counter_ns()
        predict(text)
        times.append(time.perf_counter_ns() - started)
    return median(times) / 1000


def fasttext(texts: Texts, labels: Sequence[str]) -> Predict:
    """As in benchmarks/arena.py; two epochs, as what it learns does not matter here."""
    import fasttext as library

    names = sorted({*labels})
    numbers = {label: number for number, label in enumerate(names)}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "train.txt"
        pairs = zip(texts, labels, strict=True)
        file.write_text("".join(f"__label__{numbers[label]} {_line(text)}" for text, label in pairs), encoding="utf-8")
        options = {"wordNgrams": 2, "minn": 3, "maxn": 6, "dim": 100, "bucket": 200_000}
        model = library.train_supervised(str(file), epoch=2, lr=1.0, thread=1, verbose=0, **options)

    def predict(text: str) -> str:
        # The binding below `predict`, which fails with numpy 2.
        found = model.f.multilinePredict([_line(text)], 1, 0.0, "strict")
        return names[int(found[0][0][0].removeprefix("__label__"))]

    return predict


def _line(text: str) -> str:
    return " ".join(text.lower().split()) + "\n"


def students(folder: Path, texts: Texts, labels: list[str]) -> dict[str, Predict]:
    """The same model with both readers."""
    torch.manual_seed(0)
    section = Ngrams(kind="ngrams")
    width = width_of_ngrams(section, classes=len(labels), pair=False)
    tokenizer = StudentTokenizer.from_json(NgramSettings(buckets=_buckets(texts, width)).to_json())
    network = word_student(section, vocabulary_size=len(tokenizer), embedding_size=width, labels=labels, pair=False)
    with written_atomically(folder / "student", kind="student", key=KEY) as scratch:
        network.save_pretrained(scratch)
        tokenizer.save(scratch / "tokenizer.json")
        facts = StudentFacts(
            name="ngrams", kind="ngrams", role="student", seed=0, labels=labels, language="en", pair=False,
            max_length=section.max_length, parameters=parameter_count(network), parameters_without_embeddings=0,
            best_epoch=1, dev_accuracy=0.5,
        )  # fmt: skip
        save_student_facts(scratch, facts, history=[])
    model = export_student(
        Export(int8_agreement=0.0, calibrate=False),  # random weights say no label with confidence
        student=StudentFolder(folder / "student"),
        rows=Rows.of(ids=[str(number) for number in range(64)], texts=list(texts[:64])),
        precision="int8",
        out=folder / "model",
        key=KEY,
        reporter=SILENT,
    )
    classifier, in_python = load(model.folder, threads=1), _with_reader_in_python(model)
    return {
        IN_CPP: lambda text: classifier.predict([text]),
        IN_PYTHON: lambda text: best_labels(in_python.logits([text]), labels),
    }


def _buckets(texts: Texts, width: int) -> int:
    """A power of two, about twice the number of different n-grams, within the usual size of a file."""
    rows = NgramIds(NgramSettings(buckets=1 << 32)).read(texts, max_length=256)
    wanted = 1 << ceil(log2(2 * len({number for row in rows for number in row})))
    while wanted * (width + WITHOUT_VECTOR) > MOST_BYTES:
        wanted //= 2
    return wanted


def _with_reader_in_python(model: ModelFolder) -> SingleNetwork:
    facts = model.facts()
    inputs = inputs_of(model, facts)
    return SingleNetwork(inputs, open_engine(model, facts, inputs, choice="auto", threads=1))


def table(found: dict[str, Any]) -> str:
    """The part of the page."""
    lines = [
        "| texts | model | read before µs | against fastText | new µs | against fastText |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for name, result in found["sets"].items():
        for model, times in result["models"].items():
            texts = f"{name}: {result['words']:g} words, {result['classes']} classes"
            before = f"{times['known_us']:.1f} | {times['known_ratio']:.2f}×"
            lines.append(f"| {texts} | {model} | {before} | {times['new_us']:.1f} | {times['new_ratio']:.2f}× |")
    machine = found["machine"]
    return "\n".join(["<!-- n-grams -->", "", *lines, "", f"{machine['cpu']}, one thread.", "", "<!-- /n-grams -->"])


if __name__ == "__main__":
    main()
