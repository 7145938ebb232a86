"""SST-2 from no labels at all: accuracy against the number of requests to a language model, beside human labels.

    LIMBECK_DATA=path/to/data python benchmarks/endpoint_sst2.py [--out benchmarks/results/endpoint_sst2.json]

The "language model" is `benchmarks/chat_server.py`, whose answers are the probabilities of an all-mpnet-base-v2 that
was fine-tuned on other rows of SST-2 (`endpoint_answers.py`): so the numbers mean something, and everybody can make
them. The texts are of train; the person who checks is SST-2's own dev file. The student is the Bi-LSTM that the
drafted recipe has; for each number of requests it is trained on the model's answers, and alone on the human labels of
as many random texts, with the same settings. `--certain` compares losses that weigh rows by how certain the model is.
"""

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

from benchmarks.endpoint_answers import ANSWERS, RESULTS, Split, split_of, texts_of  # noqa: E402
from limbeck.annotation.rounds import Choice  # noqa: E402
from limbeck.annotation.run import WantedLabels, annotate  # noqa: E402
from limbeck.pipeline import run  # noqa: E402
from limbeck.progress import SilentReporter  # noqa: E402

CLASSES = ("negative", "positive")
CHOICES: dict[str, Choice] = {"random": "all", "spread": "spread", "uncertain": "uncertain"}  # "all": no rounds
BUDGETS = (100, 200, 400, 800, 1_600, 3_200, 6_400)
QUICK = [  # one student, no timing of batches, no plan by the clock: only its accuracy is looked at
    *("candidates=[]", "export.blend=false", "evaluation.rival=false", "evaluation.latency_rows=4", "minutes=600"),
    *("evaluation.throughput_batches=[]", "export.int8_agreement=0.0"),
]
CERTAIN = {
    "soft_targets": '[{kind="soft_targets",temperature=1.0}]',
    "certain_targets": '[{kind="certain_targets"}]',
    "certain_targets, power 2": '[{kind="certain_targets",power=2.0}]',
}


def write(path: Path, header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """A csv file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


@contextmanager
def server(split: Split, positive: Sequence[float], folder: Path) -> Iterator[str]:
    """The address of a server whose answers are these probabilities."""
    shares = {
        text: dict(zip(CLASSES, (1 - p, p), strict=True)) for text, p in zip(texts_of(split), positive, strict=True)
    }
    (folder / "answers.json").write_text(json.dumps(shares), encoding="utf-8")
    command = [sys.executable, str(ROOT / "benchmarks" / "chat_server.py"), "--answers", str(folder / "answers.json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.terminate()


def prepare(split: Split) -> None:
    """In the current folder: the texts, and the sheet that a person has filled in."""
    Path("films-labels").mkdir()
    write(Path("films-labels/check.csv"), ("text", "label"), [(text, CLASSES[label]) for text, label in split.test])
    write(Path("films.csv"), ("text",), [(text,) for text in texts_of(split)])


def by_model(url: str, *, choice: Choice, most: int, losses: str | None = None, seeds: str = "[0]") -> dict[str, Any]:
    """In the current folder: ask, and train a student; its accuracy on the rows that a person has labelled."""
    Path("films.toml").unlink(missing_ok=True)  # drafted for as many rows as there are this time
    wanted = WantedLabels(
        classes=CLASSES,
        url=url,
        model="scripted",
        choice=choice,
        most_texts=most,
        overrides=("teacher.concurrency=16",),
    )
    found = annotate(Path("films.csv"), wanted, reporter=SilentReporter())
    facts = json.loads(Path("films-labels/labels.json").read_text(encoding="utf-8"))
    changes = [*wanted.changes, *QUICK, "distillation.baseline=false", f"distillation.seeds={seeds}"]
    changes += [] if losses is None else [f"distillation.losses={losses}"]
    report = run(found.recipe, overrides=changes, reporter=SilentReporter()).report
    line = {"asked": facts["answered"], "accuracy": accuracy(report, "bilstm"), "model": facts["right_of_checked"]}
    return {**line, "encoder": facts["encoder"]}


def by_person(split: Split) -> float:
    """In the current folder, after `by_model`: the same student alone, on the human labels of the same texts."""
    gold, train = dict(split.pool), Path("films-labels/train.csv")
    with train.open(encoding="utf-8", newline="") as file:
        texts = [line["text"] for line in csv.DictReader(file)]
    rows = [(text, *(str(int(gold[text] == number)) for number in range(len(CLASSES)))) for text in texts]
    write(train, ("text", *CLASSES), rows)
    changes = [*QUICK, 'teacher={kind="linear",near_chance="warn"}', "distillation.baseline=true"]
    report = run("films.toml", out=Path("runs/gold"), overrides=changes, reporter=SilentReporter()).report
    return accuracy(report, "bilstm-alone")


def accuracy(report: dict[str, Any], name: str) -> float:
    """Of a student on test, the mean of its seeds."""
    found: float = next(entry["accuracy"] for entry in report["models"] if entry["name"] == name)
    return round(found, 4)


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """Another current folder for a while."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def accuracy_by_requests(split: Split, url: str, budgets: Sequence[int]) -> Iterator[dict[str, Any]]:
    """For every number of requests a line with every choice, and with the human labels of the random texts."""
    for budget in budgets:
        line: dict[str, Any] = {"requests": budget}
        for name, choice in CHOICES.items():
            line[name] = by_model(url, choice=choice, most=budget)
            if name == "random":
                line["human_labels"] = by_person(split)
        yield line


def accuracy_by_loss(url: str, budgets: Sequence[int]) -> Iterator[dict[str, Any]]:
    """The student on random texts, with and without weights by certainty; the mean of three seeds."""
    for budget in budgets:
        line: dict[str, Any] = {"requests": budget}
        for name, losses in CERTAIN.items():
            line[name] = by_model(url, choice="all", most=budget, losses=losses, seeds="[0,1,2]")
        yield line


def main() -> None:
    """Measure and write; lines that are there already are kept."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--answers", type=Path, default=ANSWERS)
    parser.add_argument("--certain", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--budgets", type=int, nargs="+", default=BUDGETS)
    given = parser.parse_args()
    out = given.out or RESULTS / ("endpoint_certain.json" if given.certain else "endpoint_sst2.json")
    facts = json.loads(given.answers.read_text(encoding="utf-8"))
    split = split_of(Path(os.environ["LIMBECK_DATA"]) / "sst2", texts=facts["pool"])
    positive = facts.pop("positive")
    assert facts["texts"] == split.digest, "these answers are for other texts"
    lines: list[dict[str, Any]] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        server(split, positive, Path(folder)) as url,
        working_in(Path(folder)),
    ):
        prepare(split)
        found = (
            accuracy_by_loss(url, given.budgets) if given.certain else accuracy_by_requests(split, url, given.budgets)
        )
        for line in found:
            lines.append(line)
            print(json.dumps(line), flush=True)
            result = {"model": facts, "pool": len(split.pool), "test": len(split.test), "lines": lines}
            out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        shutil.rmtree("runs")


if __name__ == "__main__":
    main()
