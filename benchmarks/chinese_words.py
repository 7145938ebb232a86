"""How Chinese text is best cut for a student: by its vocabulary alone, or by jieba at run time.

    LIMBECK_DATA=path/to/data python benchmarks/chinese_words.py --teacher path/of/a/chinese/encoder [--seeds 3]
    python benchmarks/chinese_words.py --write-page

Every way is a run of the product in one folder: the teacher is trained once, and asked once. A third way takes a word
of jieba's that is no token for one unknown, instead of cutting it further. Then the models are timed in one process on
one thread, text by text, taking turns; medians. Numbers go to benchmarks/results/chinese_words.json; --write-page puts
their table into docs/text.md. A gain has a bootstrap interval over rows and seeds, as in reports.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from time import perf_counter
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
from tokenizers.models import Model, WordLevel

from limbeck import load
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.rows import Rows
from limbeck.judging.metrics import gain_interval
from limbeck.pipeline import run
from limbeck.progress import TerminalReporter
from limbeck.text.student_tokenizer import SPECIAL_TOKENS, UNK, UNK_ID, StudentTokenizer

ROOT = Path(__file__).resolve().parent.parent
RESULT, PAGE = ROOT / "benchmarks" / "results" / "chinese_words.json", ROOT / "docs" / "text.md"
START, END = "<!-- chinese words -->", "<!-- /chinese words -->"
RECIPE = """
[corpus]
train = "chnsenticorp/train.noleak.tsv"
dev = "chnsenticorp/dev.tsv"
text = "text_a"
label_names = { 0 = "negative", 1 = "positive" }
max_rows = 3_000
overlap = "remove"

[teacher]
checkpoint = "m3e-small-zh"
epochs = 2
learning_rate = 5e-5
max_length = 128

[student]
hidden_size = 150
embedding_size = 100
max_length = 128

[distillation]
epochs = 4
batch_size = 64
baseline = false

[export]
precisions = ["fp32"]
"""
SAMPLES = 2_000  # of the bootstrap
WAYS = {
    "longest_match": "the vocabulary alone",
    "jieba": "jieba",
    "jieba_whole": "jieba, a word that is no token is unknown",
}
LOADING = """
import sys, time
from pathlib import Path
from limbeck import load
started = time.perf_counter()
model = load(sys.argv[1], threads=1)
seconds = time.perf_counter() - started
memory = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS:"))
print(seconds, int(memory.split()[1]) / 1e3)
"""


def main() -> None:
    """Measure, or write the page."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--teacher", help="a Chinese encoder: a name or a folder")
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--texts", type=int, default=300, help="texts of dev that are timed")
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--set", action="append", default=[], help="a key for all runs, e.g. corpus.max_rows=500")
    options.add_argument("--runs", type=Path, default=Path("runs"))
    options.add_argument("--write-page", action="store_true")
    asked = options.parse_args()
    if asked.teacher:
        RESULT.write_text(json.dumps(measured(asked), indent=1) + "\n", encoding="utf-8")
    if asked.write_page:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def measured(asked: argparse.Namespace) -> dict[str, Any]:
    """Run every way, then time all of them."""
    folder = asked.runs / "chinese-words"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "recipe.toml").write_text(RECIPE, encoding="utf-8")
    seeds = f"distillation.seeds={list(range(asked.seeds))}"
    common = [f"teacher.checkpoint={asked.teacher}", seeds, *asked.set]
    found: dict[str, Any] = {"data": "chnsenticorp", "recipe": RECIPE, "seeds": asked.seeds, "overrides": asked.set}
    lines: dict[str, dict[str, Any]] = {}
    for way in WAYS:
        print(f"== {way}", file=sys.stderr, flush=True)
        report = run_of(way, folder, common)
        found |= {
            "machine": report["machine"],
            "rows": report["corpus"]["rows"],
            "teacher": accuracy(report, "teacher"),
        }
        lines[way] = accuracy(report, "student")
    dev = Corpus(folder / "run" / "corpus").splits["dev"]
    timed = {way: folder / "exports" / way / "0" for way in WAYS}
    parts = [
        gains(folder / "exports", dev, seeds=asked.seeds),
        tokens(timed, dev.texts),
        times(timed, dev.texts[: asked.texts], rounds=asked.rounds),
        loading(timed),
    ]
    for numbers in parts:
        for way in WAYS:
            lines[way] |= numbers[way]
    timing = {"texts": asked.texts, "rounds": asked.rounds, "load_average": round(os.getloadavg()[0], 1)}
    return {**found, "timing": timing, "ways": lines}


def run_of(way: str, folder: Path, common: Sequence[str]) -> dict[str, Any]:
    """The report of one way; its models are copied to where the next run does not replace them."""
    shutil.rmtree(folder / "run" / "vocabulary", ignore_errors=True)  # the third way has the recipe of the second
    with whole_words() if way == "jieba_whole" else nullcontext():
        overrides = [*common, f"student.vocabulary.segmenter={way.removesuffix('_whole')}"]
        finished = run(folder / "recipe.toml", overrides=overrides, out=folder / "run", reporter=TerminalReporter())
    shutil.rmtree(folder / "exports" / way, ignore_errors=True)
    shutil.copytree(folder / "run" / "exports" / "bilstm", folder / "exports" / way)
    return finished.report


def whole_words() -> AbstractContextManager[Any]:
    """Words of jieba's that are no tokens become one unknown each."""

    def looked_up(kept: Sequence[str]) -> Model:
        return WordLevel({word: number for number, word in enumerate([*SPECIAL_TOKENS, *kept])}, unk_token=UNK)

    return patch("limbeck.text.word_tokenizer._looked_up", looked_up)


def accuracy(report: Mapping[str, Any], role: str) -> dict[str, float]:
    """Mean and spread over the seeds."""
    entry = next(model for model in report["models"] if model["role"] == role)
    return {"accuracy": round(entry["accuracy"], 4), "accuracy_sd": round(entry["accuracy_sd"] or 0.0, 4)}


def gains(exports: Path, dev: Rows, *, seeds: int) -> dict[str, dict[str, Any]]:
    """How much more accurate each way is than the first."""
    correct = {
        way: np.array([_is_right(exports / way / str(seed), dev) for seed in range(seeds)])  # (seeds, rows)
        for way in WAYS
    }
    first, *others = WAYS
    found: dict[str, dict[str, Any]] = {first: {}}
    for way in others:
        interval = gain_interval(correct[way], correct[first], samples=SAMPLES)
        gain = float(correct[way].mean() - correct[first].mean())
        found[way] = {"gain": round(gain, 4), "gain_ci95": [round(bound, 4) for bound in interval]}
    return found


def _is_right(model: Path, dev: Rows) -> npt.NDArray[np.bool_]:
    return np.asarray(load(model).logits(dev.texts).argmax(axis=1) == dev.labels)


def tokens(models: Mapping[str, Path], texts: Sequence[str]) -> dict[str, dict[str, float]]:
    """How many tokens a text becomes, and how many of them are unknown."""
    found = {}
    for way, folder in models.items():
        rows = StudentTokenizer.load(folder / "tokenizer.json").encode(texts, max_length=100_000)
        count = sum(map(len, rows))
        unknown = sum(row.count(UNK_ID) for row in rows)
        found[way] = {"tokens_a_text": round(count / len(texts), 1), "unknown_share": round(unknown / count, 4)}
    return found


def times(models: Mapping[str, Path], texts: Sequence[str], *, rounds: int) -> dict[str, dict[str, float]]:
    """Microseconds a text for tokenising and from text to label, and how many times those of the first way."""
    classifiers = {way: load(folder, threads=1) for way, folder in models.items()}
    tokenizers = {way: StudentTokenizer.load(folder / "tokenizer.json") for way, folder in models.items()}
    tokenising: dict[str, list[float]] = {way: [] for way in models}
    predicting: dict[str, list[float]] = {way: [] for way in models}
    for number in range(rounds + 1):
        for text in texts:
            for way in models:
                started = perf_counter()
                tokenizers[way].encode([text], max_length=classifiers[way].facts.max_length)
                between = perf_counter()
                classifiers[way].predict([text])
                ended = perf_counter()
                if number:  # the first round warms up
                    tokenising[way].append(between - started)
                    predicting[way].append(ended - between)
    first = next(iter(models))
    found: dict[str, dict[str, float]] = {way: {} for way in models}
    for name, samples in {"tokenising": tokenising, "text_to_label": predicting}.items():
        medians = {way: statistics.median(samples[way]) for way in models}
        for way, median in medians.items():
            found[way] |= {f"{name}_us": round(1e6 * median), f"{name}_times": round(median / medians[first], 2)}
    return found


def loading(models: Mapping[str, Path]) -> dict[str, dict[str, float]]:
    """Seconds that `load` takes in a fresh process, and the memory that the process then has; on Linux."""
    found = {}
    for way, folder in models.items():
        command = [sys.executable, "-c", LOADING, str(folder)]
        done = [subprocess.run(command, check=True, capture_output=True, text=True).stdout.split() for _ in range(3)]
        seconds, megabytes = (statistics.median(map(float, column)) for column in zip(*done, strict=True))
        found[way] = {"load_seconds": round(seconds, 2), "memory_mb": round(megabytes)}
    return found


def page(text: str) -> str:
    """The page with the table between its marks."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n\n{table(json.loads(RESULT.read_text(encoding='utf-8')))}\n\n{END}{after}"


def table(found: Mapping[str, Any]) -> str:
    """The results as Markdown."""
    lines = [
        "| cut by | accuracy | gain (95 %) | unknown tokens | tokenising | text to label | loading |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for way, numbers in found["ways"].items():
        cells = [
            WAYS[way],
            f"{100 * numbers['accuracy']:.1f} ± {100 * numbers['accuracy_sd']:.1f}",
            gained(numbers),
            f"{numbers['unknown_share']:.1%}",
            *(f"× {numbers[f'{name}_times']:.1f}" for name in ("tokenising", "text_to_label")),
            f"{numbers['load_seconds']:.1f} s, {numbers['memory_mb']:,} MB",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    rows = ", ".join(f"{split} {count:,}" for split, count in found["rows"].items())
    teacher = f"{100 * found['teacher']['accuracy']:.1f}"
    setup = (
        f"ChnSentiCorp without its leaked rows ({rows}); accuracy on dev, mean ± spread over {found['seeds']} seeds,\n"
        f"the teacher's {teacher}. Times are of one text on one thread, as multiples of the first line's."
    )
    return "\n".join([*lines, "", setup])


def gained(numbers: Mapping[str, Any]) -> str:
    """The gain in points, with its interval; nothing for the first way."""
    if "gain" not in numbers:
        return ""
    low, high = (100 * bound for bound in numbers["gain_ci95"])
    return f"{100 * numbers['gain']:+.1f} ({low:+.1f} to {high:+.1f})"


if __name__ == "__main__":
    main()
