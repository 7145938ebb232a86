"""The runtime against what one would pick instead, from text to label: times, floors, accuracy.

    LIMBECK_DATA=path/to/data python benchmarks/runtime.py [--run runs/sst2] [--only times floor accuracy]
    python benchmarks/runtime.py --write-page

`times`: BERT-base in PyTorch and as ONNX files, smaller transformers, students of words on every engine, and, where
they are installed (pip install model2vec fasttext-wheel), model2vec and fastText. Weights are random, shapes are real.
All take turns as in `limbeck bench`, on one thread and on two, on two sets of texts: 24 words, each of which is one
token for every model (BERT puts two more around them); and texts as they are.
`floor`: what one core can do, where the time of one text goes, and what a text takes that was never read before.
`accuracy`: with --run, every model of a trained run on every engine, on its dev rows, against the fp32 file in
onnxruntime.

Numbers go to benchmarks/results/runtime.json, section by section; --write-page puts their tables into docs/speed.md.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.runtime_accuracy import accuracies
from benchmarks.runtime_models import BILSTM, STUDENTS, subjects
from benchmarks.runtime_page import PAGE, RESULTS, page
from benchmarks.runtime_texts import Corpus, corpus, exact_texts
from limbeck.cores import share_cores
from limbeck.progress import TerminalReporter
from limbeck.runtime.row import Row
from limbeck.text.student_tokenizer import StudentTokenizer
from limbeck.timing.bench import ROUNDS, bench_plans, compared
from limbeck.timing.machine import machine_facts, usable_cores
from limbeck.timing.process import pinned_environment
from limbeck.timing.protocol import Subject, time_models
from limbeck.timing.texts import mixed

WORKER = (sys.executable, str(Path(__file__).with_name("runtime_worker.py")))
FLOOR = (sys.executable, str(Path(__file__).with_name("runtime_floor.py")))
SECTIONS = ("times", "floor", "accuracy")
SECONDS_EXACT, SECONDS_MIXTURE = 1.6, 0.8
TEXTS_LEARNED = 20_000


def main() -> None:
    """Measure what is asked for, or write the page."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--only", nargs="*", choices=SECTIONS, default=SECTIONS)
    options.add_argument("--run", type=Path, action="append", help="a trained run, for `accuracy`; may come again")
    options.add_argument("--work", type=Path, default=Path("runs") / "runtime-benchmark", help="where models are kept")
    options.add_argument("--share", type=float, default=1.0, help="of the usual seconds: 0.1 to see whether all works")
    options.add_argument("--out", type=Path, default=RESULTS)
    options.add_argument("--write-page", action="store_true")
    asked = options.parse_args()
    if asked.write_page:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        return
    share_cores()  # as `limbeck bench` does: two threads of PyTorch that wait for each other spin in each other's way
    found = json.loads(asked.out.read_text(encoding="utf-8")) if asked.out.is_file() else {}
    for section in asked.only:
        if section != "accuracy" or asked.run:
            started = time.monotonic()
            found[section] = MEASURES[section](asked)
            asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            print(f"{section}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)


def times(asked: argparse.Namespace) -> dict[str, Any]:
    """Everyone on every set of texts."""
    learned = corpus()
    everyone = subjects(asked.work, learned)
    threads = sorted({1, min(2, usable_cores())})
    sets = {
        "exact": timed(
            everyone, exact(learned, everyone), threads=threads, batches=[1], seconds=asked.share * SECONDS_EXACT
        ),
        "mixture": timed(
            everyone,
            mixed(learned.others),
            threads=threads,
            batches=[1, 32, 256],
            seconds=asked.share * SECONDS_MIXTURE,
        ),
    }
    return {**circumstances(), "texts": learned.name, "sets": sets}


def exact(learned: Corpus, everyone: Sequence[Subject]) -> list[str]:
    """Texts that have as many tokens for all."""
    from transformers import AutoTokenizer

    teacher = AutoTokenizer.from_pretrained(everyone[0].folder, local_files_only=True)
    student = StudentTokenizer.load(
        next(one.folder for one in everyone if one.name.startswith(BILSTM)) / "tokenizer.json"
    )
    counts: list[Callable[[str], int]] = [
        lambda text: len(teacher(text)["input_ids"]) - 2,
        lambda text: len(student.encode([text], max_length=100)[0]),
    ]
    return exact_texts(learned.texts, counts)


def timed(
    everyone: Sequence[Subject],
    rows: Sequence[Row],
    *,
    threads: Sequence[int],
    batches: Sequence[int],
    seconds: float,
) -> dict[str, Any]:
    """One set of texts: in its order, by everyone."""
    plans = bench_plans(rows, threads=threads, batches=batches, seconds=seconds)
    samples = time_models(everyone, plans=plans, rounds=ROUNDS, reporter=TerminalReporter(), command=WORKER)
    result = compared(everyone, samples)
    for model in result["models"]:
        del model["folder"]  # it tells about the machine
    return {"texts": len(rows), "seconds": seconds, **result}


def floor(asked: argparse.Namespace) -> dict[str, Any]:
    """What one core can do, and the parts of the students' time."""
    learned = corpus()
    everyone = subjects(asked.work, learned)
    students = [one for one in everyone if one.name.partition(",")[0] in STUDENTS]
    models = [{"name": one.name, "folder": str(one.folder), "engine": one.engine} for one in students]
    texts = {"exact": exact(learned, everyone), "learned": learned.texts[:TEXTS_LEARNED], "new": learned.others}
    request = json.dumps({"models": models, **texts})
    done = subprocess.run(
        FLOOR, input=request, env=pinned_environment(1), stdout=subprocess.PIPE, text=True, check=True
    )
    return {**circumstances(), **json.loads(done.stdout)}


def accuracy(asked: argparse.Namespace) -> dict[str, Any]:
    """Every file of the trained runs on every engine."""
    return {**circumstances(), "runs": [accuracies(run) for run in asked.run]}


def circumstances() -> dict[str, Any]:
    """The machine, and how busy it was before."""
    return {"machine": machine_facts(threads=1), "load_average": round(os.getloadavg()[0], 2)}


MEASURES: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "times": times,
    "floor": floor,
    "accuracy": accuracy,
}

if __name__ == "__main__":
    main()
