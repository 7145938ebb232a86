"""SST-2 from no labels at all: accuracy against the number of requests to a language model, and human labels beside it.

    LIMBECK_DATA=path/to/data python benchmarks/endpoint_sst2.py [--out benchmarks/results/endpoint_sst2.json]

The "language model" is `benchmarks/chat_server.py`, whose answers are the probabilities of an encoder that was
fine-tuned on other rows of SST-2 (all-MiniLM-L6-v2, on the CPU): so the numbers mean something, and everybody can make
them. The texts are 2,500 rows of train; the person who checks is SST-2's own dev file. The student is of n-grams, which
takes seconds; for each number of requests it is trained on the model's answers, and alone on the human labels of as
many random texts. One seed.
"""

import argparse
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from limbeck.annotation.rounds import Choice
from limbeck.annotation.run import WantedLabels, annotate
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.pipeline import run
from limbeck.progress import SilentReporter
from limbeck.recipe.stages import Stage
from limbeck.teacher.run import opened

HERE = Path(__file__).resolve().parent
CLASSES = ("negative", "positive")
FOR_MODEL, POOL, LEAST_WORDS = 2_000, 2_500, 4
CHOICES: dict[str, Choice] = {"random": "all", "spread": "spread", "uncertain": "uncertain"}  # "all": no rounds
BUDGETS = (100, 200, 400, 800, 1_600)
QUICK = [
    *("student.kind=ngrams", "evaluation.latency_rows=4", "evaluation.throughput_batches=[]", "candidates=[]"),
    *("distillation.epochs=20", "distillation.baseline=true", "evaluation.rival=false", "export.blend=false"),
]


def rows_of(path: Path) -> list[tuple[str, str]]:
    """(text, class) of each row that is longer than a few words."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [(line["sentence"].strip(), CLASSES[int(line["label"])]) for line in lines]


def write(path: Path, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """A csv file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def answers_of_encoder(folder: Path, train: list[tuple[str, str]], texts: list[str]) -> dict[str, dict[str, float]]:
    """Text → probability of each class, by an encoder that is fine-tuned on these rows."""
    write(folder / "model.csv", ("text", "label"), list(train))
    recipe = folder / "model.toml"
    recipe.write_text(
        '[corpus]\ntrain = "model.csv"\n[teacher]\ncheckpoint = "all-MiniLM-L6-v2"\nhead = "mean"\nepochs = 1\n'
        'learning_rate = 2e-4\nmax_length = 64\nprecision = "fp32"\n',
        encoding="utf-8",
    )
    made = run(recipe, out=folder / "model-run", until=Stage.TEACHER).folder
    logits = opened(TeacherFolder(made / "teacher")).logits(texts, None)
    powers = 2.718281828459045 ** (logits - logits.max(axis=1, keepdims=True))
    shares = powers / powers.sum(axis=1, keepdims=True)
    return {text: dict(zip(CLASSES, row.tolist(), strict=True)) for text, row in zip(texts, shares, strict=True)}


def by_model(url: str, pool: list[str], test: list[tuple[str, str]], *, choice: Choice, most: int) -> dict[str, Any]:
    """In the current folder: label, and train a student; its accuracy on the rows that a person has labelled."""
    Path("films-labels").mkdir()
    write(Path("films-labels/check.csv"), ("text", "label"), list(test))
    write(Path("films.csv"), ("text",), [(text,) for text in (*pool, *(text for text, _ in test))])
    wanted = WantedLabels(
        classes=CLASSES,
        url=url,
        model="scripted",
        choice=choice,
        most_texts=most,
        overrides=("teacher.concurrency=16",),
    )
    found = annotate(Path("films.csv"), wanted, runs=Path("../runs"), reporter=SilentReporter())
    facts = json.loads(Path("films-labels/labels.json").read_text(encoding="utf-8"))
    changes = [*wanted.changes, "labeling.store=../runs/.label-store", *QUICK]
    report = run(found.recipe, overrides=changes, reporter=SilentReporter()).report
    return {"asked": facts["answered"], "accuracy": accuracy(report, "ngrams"), "model": facts["right_of_checked"]}


def by_person(pool: list[tuple[str, str]], test: list[tuple[str, str]], *, most: int) -> float:
    """In the current folder: the student alone, on the human labels of random texts."""
    write(Path("gold.csv"), ("text", "label"), list(random.Random(most).sample(pool, most)))
    write(Path("gold-test.csv"), ("text", "label"), list(test))
    Path("gold.toml").write_text(
        '[corpus]\ntrain = "gold.csv"\ntest = "gold-test.csv"\n[teacher]\nkind = "linear"\nnear_chance = "warn"\n'
        '[student]\nkind = "ngrams"\n[[distillation.losses]]\nkind = "soft_targets"\n',
        encoding="utf-8",
    )
    report = run("gold.toml", overrides=QUICK, reporter=SilentReporter()).report
    return accuracy(report, "ngrams-alone")


def accuracy(report: dict[str, Any], name: str) -> float:
    """Of a student on test."""
    return round(float(next(entry["accuracy"] for entry in report["models"] if entry["name"] == name)), 4)


def inside(folder: Path, work: Any, *args: Any, **options: Any) -> Any:
    """The result of the function, called in this new folder."""
    folder.mkdir(parents=True)
    before = Path.cwd()
    os.chdir(folder)
    try:
        return work(*args, **options)
    finally:
        os.chdir(before)


def measure(folder: Path, data: Path, budgets: tuple[int, ...]) -> dict[str, Any]:
    """All runs."""
    train = [row for row in rows_of(data / "sst2" / "train.tsv") if len(row[0].split()) >= LEAST_WORDS]
    test = list(dict(rows_of(data / "sst2" / "dev.tsv")).items())
    known = {text for text, _ in test}
    train = [row for row in dict(train).items() if row[0] not in known]
    random.Random(0).shuffle(train)
    for_model, pool = train[:FOR_MODEL], train[FOR_MODEL : FOR_MODEL + POOL]
    texts = [text for text, _ in (*pool, *test)]
    answers = folder / "answers.json"
    answers.write_text(json.dumps(answers_of_encoder(folder, for_model, texts)), encoding="utf-8")
    lines = []
    command = [sys.executable, str(HERE / "chat_server.py"), "--answers", str(answers)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}"
        for budget in budgets:
            line: dict[str, Any] = {"requests": budget}
            for name, choice in CHOICES.items():
                place = folder / f"{name}-{budget}"
                line[name] = inside(place, by_model, url, [text for text, _ in pool], test, choice=choice, most=budget)
            line["human_labels"] = inside(folder / f"gold-{budget}", by_person, pool, test, most=budget)
            lines.append(line)
            print(json.dumps(line), flush=True)
        server.terminate()
    return {"pool": len(pool), "test": len(test), "rows_of_the_model": len(for_model), "lines": lines}


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=HERE / "results" / "endpoint_sst2.json")
    parser.add_argument("--budgets", type=int, nargs="+", default=BUDGETS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), Path(os.environ["LIMBECK_DATA"]), tuple(given.budgets))
    given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
