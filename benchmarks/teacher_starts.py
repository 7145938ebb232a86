"""How to fine-tune a teacher on few rows: which epoch to keep, which rate, and whether dev should choose among them.

    LIMBECK_DATA=path/to/data python benchmarks/teacher_starts.py [--checkpoint all-mpnet-base-v2] [--rates 5e-5,1e-4]
                                                                  [--rows 300,1000] [--sets hwu64,mpqa] [--workers 4]
    python benchmarks/teacher_starts.py --collect        # benchmarks/results/teacher_starts.json
    python benchmarks/teacher_starts.py --write-page     # the table of docs/teacher.md

For every set of LIMBECK_DATA/arena, so many rows of train are cut, a tenth of them is dev, and the encoder is
fine-tuned from the fitted head with both rates, and with the higher one for ten epochs. What results is judged on up to
1,000 other rows of train: test is not read. Every result is a file of its own under runs/teacher-starts.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

from safetensors.torch import load_file  # noqa: E402
from torch import Tensor  # noqa: E402

from benchmarks.arena import SETS, rows_of, write  # noqa: E402
from benchmarks.page_parts import table  # noqa: E402
from limbeck.artifacts.corpus import Corpus  # noqa: E402
from limbeck.artifacts.manifest import Key  # noqa: E402
from limbeck.corpus.run import read_corpus  # noqa: E402
from limbeck.progress import SilentReporter  # noqa: E402
from limbeck.recipe.corpus import CorpusSection  # noqa: E402
from limbeck.recipe.teacher import EncoderTeacher  # noqa: E402
from limbeck.teacher.averaged import mean_of  # noqa: E402
from limbeck.teacher.fine_tune import fine_tune, label_loss, start_encoder  # noqa: E402
from limbeck.teacher.probe import fit_head  # noqa: E402
from limbeck.timing.machine import machine_facts  # noqa: E402
from limbeck.training.checkpoints import CHECKPOINT  # noqa: E402
from limbeck.training.epochs import rank  # noqa: E402
from limbeck.training.skill import judged  # noqa: E402
from limbeck.training.tracks import NO_TRACKS  # noqa: E402

RESULTS, PAGE = ROOT / "benchmarks" / "results" / "teacher_starts.json", ROOT / "docs" / "teacher.md"
START, END = "<!-- starts -->", "<!-- /starts -->"
RUNS = Path("runs/teacher-starts")
JUDGED = 1_000
Weights = Mapping[str, Tensor]
Answers = dict[str, Any]  # the logits on dev, and on the rows to judge


def main() -> None:
    """Run what is missing, each set in a process of its own; or collect the results, or write the page."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--checkpoint", default="all-mpnet-base-v2")
    options.add_argument("--rates", default="5e-5,1e-4", help="two")
    options.add_argument("--sets", default=",".join(SETS))
    options.add_argument("--rows", default="300,1000")
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--runs", type=Path, default=RUNS)
    options.add_argument("--one", help="SET,ROWS: this one, in this process")
    options.add_argument("--collect", action="store_true")
    options.add_argument("--write-page", action="store_true")
    asked = options.parse_args()
    if asked.collect:
        collect(asked.runs)
    elif asked.write_page:
        write_page(json.loads(RESULTS.read_text(encoding="utf-8")))
    elif asked.one:
        name, rows = asked.one.split(",")
        run_one(asked, name, rows)
    else:
        run_all(asked)


def run_all(asked: argparse.Namespace) -> None:
    """Every set in a process of its own."""
    tasks = [f"{name},{rows}" for rows in asked.rows.split(",") for name in asked.sets.split(",")]
    passed = [f"--checkpoint={asked.checkpoint}", f"--rates={asked.rates}", f"--runs={asked.runs}"]

    def run(task: str) -> None:
        if not file_of(asked, *task.split(",")).exists():
            subprocess.run([sys.executable, __file__, *passed, f"--one={task}"], check=True)

    with ThreadPoolExecutor(asked.workers) as pool:
        list(pool.map(run, tasks))


def file_of(asked: argparse.Namespace, name: str, rows: str) -> Path:
    """Where the result of a set is kept."""
    return Path(asked.runs) / Path(asked.checkpoint).name / f"{name}-{rows}.json"


def run_one(asked: argparse.Namespace, name: str, rows: str) -> None:
    """Fine-tune with every plan, judge what results, and keep the accuracies."""
    data = os.environ.get("LIMBECK_DATA") or sys.exit("Name the folder of the data sets in LIMBECK_DATA.")
    lower, higher = (float(rate) for rate in asked.rates.split(","))
    plans = {
        "lower rate": {"learning_rate": lower},
        "higher rate": {"learning_rate": higher},
        "higher rate, 10 epochs": {"learning_rate": higher, "epochs": 10},
    }
    with tempfile.TemporaryDirectory() as folder:
        corpus = cut_corpus(Path(data) / "arena" / name, int(rows), folder=Path(folder))
        answers: dict[str, Answers] = {}
        last: dict[str, Weights] = {}
        for plan, settings in plans.items():
            teacher = EncoderTeacher(
                checkpoint=asked.checkpoint,
                head="mean",
                max_length=80,
                **{"epochs": 5, **settings},  # type: ignore[arg-type]  # numbers
            )
            encoder = start_encoder(teacher, corpus=corpus)
            with tempfile.TemporaryDirectory() as work:
                history = fine_tune(
                    encoder,
                    teacher,
                    corpus=corpus,
                    work=Path(work),
                    reporter=SilentReporter(),
                    tracks=NO_TRACKS,
                    name=plan,
                )
                last[plan] = last_of(Path(work))
            answers[f"{plan}: best"] = answered(encoder, corpus)
            answers[f"{plan}: last"] = answered(encoder, corpus, last[plan])
            scores = [entry["dev_score"] for entry in history]
            is_as_good = scores[-1] >= max(scores) - 2 * history[-1]["dev_noise"]
            answers[f"{plan}: latest"] = answers[f"{plan}: {'last' if is_as_good else 'best'}"]
        of_rates = list(plans)[:2]
        answers["of the rates: best"] = max(
            (answers[f"{plan}: last"] for plan in of_rates), key=lambda found: dev_rank(found, corpus)
        )
        answers["of the rates: mean of weights"] = answered(encoder, corpus, mean_of([last[plan] for plan in of_rates]))
        encoder = start_encoder(teacher, corpus=corpus)
        fit_head(encoder, corpus.splits["train"], corpus=corpus, loss=label_loss(corpus), reporter=SilentReporter())
        answers["frozen"] = answered(encoder, corpus)
        accuracy = {
            key: float((found["test"].argmax(1) == corpus.splits["test"].labels).mean())
            for key, found in answers.items()
        }
    file = file_of(asked, name, rows)
    file.parent.mkdir(parents=True, exist_ok=True)
    entry = {
        "checkpoint": Path(asked.checkpoint).name,
        "name": name,
        "rows": int(rows),
        "rates": asked.rates,
        "accuracy": accuracy,
    }
    file.write_text(json.dumps({**entry, "machine": machine_facts(threads=0)}), encoding="utf-8")
    print(name, rows, json.dumps({key: round(100 * value, 1) for key, value in accuracy.items()}), flush=True)


def cut_corpus(data: Path, rows: int, *, folder: Path) -> Corpus:
    """So many rows of a set as train and dev, others as test; those of classes that train lacks are left out."""
    everything, _test = rows_of(data, "1000000", seed=0)
    train = everything[:rows]
    known = {label for _, label in train}
    write(folder / "train.csv", train)
    write(folder / "others.csv", [row for row in everything[rows : rows + JUDGED] if row[1] in known])
    section = CorpusSection(
        train=str(folder / "train.csv"),
        test=str(folder / "others.csv"),
        dev_fraction=0.1,
        text="text",
        label="label",
        language="en",
    )
    key = Key(section={}, inputs={})
    return read_corpus(section, out=folder / "corpus", key=key, reporter=SilentReporter(), name=data.name)


def answered(encoder: Any, corpus: Corpus, weights: Weights | None = None) -> Answers:
    """The logits on dev and test, with these weights or its own."""
    if weights is not None:
        encoder.model.load_state_dict(weights)
    return {split: encoder.logits(rows.texts, rows.pairs) for split, rows in corpus.splits.items() if split != "train"}


def dev_rank(found: Answers, corpus: Corpus) -> tuple[float, float]:
    """How good they are on dev."""
    return rank(judged(found["dev"], corpus.splits["dev"].labels, by_macro_f1=corpus.is_uneven))


def last_of(work: Path) -> Weights:
    """The weights of the last epoch, from the checkpoint of the training."""
    found = load_file(str(work / CHECKPOINT))
    return {name.removeprefix("model."): value for name, value in found.items() if name.startswith("model.")}


def collect(runs: Path) -> None:
    """All results in one small file."""
    found = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(runs.glob("*/*.json"))]
    machines = sorted({json.dumps(entry.pop("machine")) for entry in found})
    text = ",\n".join(json.dumps(entry) for entry in found)
    RESULTS.write_text(f'{{"machines": [{", ".join(machines)}],\n"results": [\n{text}\n]}}\n', encoding="utf-8")


def write_page(found: dict[str, Any]) -> None:
    """The means over sets, between the marks of the page."""
    columns: dict[str, list[dict[str, float]]] = {}
    for entry in found["results"]:
        heading = f"{entry['checkpoint']}, {entry['rows']:,} rows, {entry['rates'].replace(',', ' and ')}"
        columns.setdefault(heading, []).append(entry["accuracy"])
    keys = next(iter(columns.values()))[0]
    cells = [[key, *(f"{100 * mean(one[key] for one in entries):.1f}" for entries in columns.values())] for key in keys]
    heads = ["kept", *(f"{heading}, {len(entries)} sets" for heading, entries in columns.items())]
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(START)
    PAGE.write_text(f"{before}{START}\n\n{table(heads, cells)}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
