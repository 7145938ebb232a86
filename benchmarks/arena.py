"""`limbeck run` on files that nobody tuned for, beside what else a user could have taken.

    LIMBECK_DATA=path/to/data python benchmarks/arena.py [--models cpu,tfidf] [--sets hwu64,mpqa] [--rows 300,1000,all]
                                                         [--seeds 0,1,2] [--workers 1] [--set KEY=VALUE]
    python benchmarks/arena.py --time                    # the models of finished runs, once nothing else runs
    python benchmarks/arena.py --collect                 # benchmarks/results/arena.json: what it had, and these runs
    python benchmarks/arena.py --write-page              # docs/arena.md and its picture, from that file

For every set of LIMBECK_DATA/arena, every number of training rows and every seed, the training rows are cut (the same
for everybody), a model learns from them, and answers the test rows, which are read only then. The models `cpu` and
`gpu` are what `limbeck run train.csv` ships as models/best: `cpu` by the draft for machines without a GPU, `gpu` by the
draft for machines with one, which is trained there. A GPU, if there is one, also trains the draft without: that says
nothing about its minutes, and is noted. The rivals learn from the same rows: TF-IDF with a linear SVC, fastText,
model2vec with its own classifier, a frozen encoder with logistic regression, SetFit; those that are not installed are
left out. Every result is a file of its own: a stopped benchmark goes on where it was, several machines can share it.
"""

import argparse
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

import numpy as np  # noqa: E402
import torch  # noqa: E402
from sklearn.metrics import f1_score  # noqa: E402

import limbeck  # noqa: E402
from limbeck.judging.significance import mcnemar  # noqa: E402
from limbeck.timing.machine import machine_facts  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "arena.json"
SETS = (
    "atis",
    "germeval2018",
    "hwu64",
    "mpqa",
    "r8",
    "snips",
    "tweet_emotion",
    "tweet_hate",
    "tweet_irony",
    "tweet_offensive",
)
TIMED_TEXTS, ROUNDS = 200, 5
FEW = 2_000  # rows that fastText reads more often
DRAFTS = ("cpu", "gpu")
Rows = list[tuple[str, str]]  # text and label
Predict = Callable[[Sequence[str]], Sequence[str]]


@dataclass(frozen=True)
class Trained:
    """A model that answers texts: how large it is on disk, how long its training took, and what else is known of it."""

    predict: Predict
    megabytes: float | None
    seconds: float
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """One model on one set, cut to so many rows by this seed."""

    model: str
    name: str
    cut: str
    seed: int

    def file(self, folder: Path) -> Path:
        """Where its result is kept."""
        return folder / "results" / self.model / f"{self.name}-{self.cut}-{self.seed}.json"


def main() -> None:
    """Run what is missing in the results; or collect them, or write the page."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--models", default=",".join(["cpu", *RIVALS]), help=f"of {', '.join([*DRAFTS, *RIVALS])}")
    options.add_argument("--sets", default=",".join(SETS))
    options.add_argument("--rows", default="300,1000,all")
    options.add_argument("--seeds", default="0")
    options.add_argument("--runs", type=Path, default=Path("runs/arena"))
    options.add_argument("--out", type=Path, default=RESULTS)
    options.add_argument("--set", action="append", default=[], help="a key of every recipe, as in `limbeck run`")
    options.add_argument("--checkpoint", help="the teacher's encoder, where the draft's own cannot be fetched")
    options.add_argument("--workers", type=int, default=1, help="runs at a time; with one alone, times mean something")
    options.add_argument("--time", action="store_true")
    options.add_argument("--collect", action="store_true")
    options.add_argument("--write-page", action="store_true")
    asked = options.parse_args()
    if asked.time:
        time_models(asked.runs)
    if asked.collect:
        collect(asked.runs / "results", out=asked.out)
    if asked.write_page:
        from benchmarks.arena_page import write_page

        write_page(json.loads(asked.out.read_text(encoding="utf-8")))
    if asked.time or asked.collect or asked.write_page:
        return
    data = os.environ.get("LIMBECK_DATA") or sys.exit("Name the folder of the data sets in LIMBECK_DATA.")
    tasks = [
        task
        for seed in map(int, asked.seeds.split(","))
        for cut in asked.rows.split(",")
        for name in asked.sets.split(",")
        for model in asked.models.split(",")
        if not (task := Task(model, name, cut, seed)).file(asked.runs).exists()
        and (model in DRAFTS or cut != "all" or not seed)  # all rows are the same for every seed
    ]
    with ThreadPoolExecutor(asked.workers) as pool:
        failed = [task for task in pool.map(lambda task: failure_of(task, Path(data), asked), tasks) if task]
    if failed:
        sys.exit(f"{len(failed)} of {len(tasks)} failed; each folder has its run.log: {', '.join(failed)}")


def failure_of(task: Task, data: Path, asked: argparse.Namespace) -> str | None:
    """Run the task; its name if that failed: the others go on."""
    try:
        run_task(task, data, asked)
    except subprocess.CalledProcessError:
        return f"{task.model} {task.name} {task.cut} {task.seed}"
    return None


def run_task(task: Task, data: Path, asked: argparse.Namespace) -> None:
    """Train the model, let it answer the test rows, and keep what was found."""
    train, test = rows_of(data / "arena" / task.name, task.cut, seed=task.seed)
    is_ours = task.model in DRAFTS
    trained = limbeck_run(task, train, test, asked) if is_ours else RIVALS[task.model](train)
    if trained is None:
        return
    found = {**measured(trained, test, is_timed=asked.workers == 1), "train_rows": len(train)}
    found |= {"machine": machine_facts(threads=0), "workers": asked.workers, **trained.facts}
    file = task.file(asked.runs)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.with_suffix(".partial").write_text(json.dumps({**asdict(task), **found}, indent=1) + "\n", encoding="utf-8")
    file.with_suffix(".partial").rename(file)
    shown = {"accuracy": round(found["accuracy"], 4), "minutes": round(found["minutes"], 2), **trained.facts}
    print(task.name, task.cut, task.seed, task.model, json.dumps(shown), flush=True)


def rows_of(folder: Path, count: str, *, seed: int) -> tuple[Rows, Rows]:
    """Training rows, at most so many, and all test rows. The seed chooses the rows; "all" are the same for any."""
    train, test = read(folder / "train.csv"), read(folder / "test.csv")
    if count == "all":
        return train, test
    random.Random(seed).shuffle(train)
    return train[: int(count)], test


def read(path: Path) -> Rows:
    """The rows of a file with the header `text,label`."""
    with path.open(encoding="utf-8", newline="") as file:
        return [(row["text"], row["label"]) for row in csv.DictReader(file)]


def measured(trained: Trained, test: Rows, *, is_timed: bool) -> dict[str, Any]:
    """How a model does on the test rows."""
    texts, labels = [text for text, _ in test], np.array([label for _, label in test])
    answers = np.array(list(trained.predict(texts)))
    right = answers == labels
    return {
        "test_rows": len(test),
        "accuracy": float(right.mean()),
        "macro_f1": float(f1_score(labels, answers, average="macro", zero_division=0)),
        "microseconds": microseconds(trained.predict, texts) if is_timed else None,
        "megabytes": trained.megabytes,
        "minutes": trained.seconds / 60,
        "right": b64encode(np.packbits(right).tobytes()).decode(),  # row by row, to compare models
    }


def microseconds(predict: Predict, texts: Sequence[str]) -> float:
    """For one text at a time: the median over texts of each text's fastest round."""
    chosen = list(texts[:TIMED_TEXTS])
    predict(chosen[:1])
    best = [float("inf")] * len(chosen)
    for _ in range(ROUNDS):
        for place, text in enumerate(chosen):
            start = time.perf_counter()
            predict([text])
            best[place] = min(best[place], time.perf_counter() - start)
    return median(best) * 1e6


def time_models(runs: Path) -> None:
    """The shipped models of finished runs, one after the other: runs side by side say nothing of times."""
    for file in sorted(path for draft in DRAFTS for path in (runs / "results" / draft).glob("*.json")):
        entry = json.loads(file.read_text(encoding="utf-8"))
        folder = runs / entry["model"] / file.stem
        if entry["microseconds"] is not None or not folder.exists():
            continue
        texts = [text for text, _ in read(folder / "test.csv")]
        entry["microseconds"] = microseconds(labels_by(shipped(folder)), texts)
        file.write_text(json.dumps(entry, indent=1) + "\n", encoding="utf-8")


def shipped(folder: Path) -> limbeck.Classifier:
    """The best model of the run in this folder."""
    return limbeck.load(folder / "runs" / "train" / "models" / "best", threads=1)


def labels_by(model: limbeck.Classifier) -> Predict:
    """What a model answers, a label for each text."""
    return lambda texts: np.array(model.predict(texts)).tolist()


def collect(results: Path, *, out: Path) -> None:
    """All results as one small file: the answers row by row become tests of each rival against ours.

    Results that the file has already, of another machine or another day, stay until the same one is measured again.
    """
    new = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(results.glob("*/*.json"))]
    of_case = {(entry["model"], entry["name"], entry["cut"], entry["seed"]): entry for entry in [*kept_in(out), *new]}
    found = list(of_case.values())
    seeds = {(entry["name"], entry["cut"], entry["seed"]) for entry in found}
    found += [
        {**entry, "seed": seed}
        for entry in list(found)
        if entry["cut"] == "all" and entry["model"] not in DRAFTS
        for name, cut, seed in sorted(seeds)
        if (name, cut) == (entry["name"], "all") and (entry["model"], name, cut, seed) not in of_case
    ]
    kept: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for entry in found:
        kept.setdefault((entry["name"], entry["cut"], entry["seed"]), []).append(entry)
    for together in kept.values():
        ours = {entry["model"]: entry for entry in together if entry["model"] in DRAFTS}
        for entry in together:
            if entry["model"] not in DRAFTS:
                entry["mcnemar_p"] = {name: mcnemar(right_of(one), right_of(entry))["p"] for name, one in ours.items()}
    machines = list({json.dumps(entry["machine"]): entry["machine"] for entry in found}.values())
    if changed := sorted({str(entry["name"]) for entry in found if entry.get("changed")}):
        sys.exit(f"Runs with --set are not the draft's own: move them out of {results} first ({', '.join(changed)}).")
    text = ",\n".join(json.dumps({**entry, "machine": machines.index(entry["machine"])}) for entry in found)
    out.write_text(f'{{"machines": {json.dumps(machines)},\n"results": [\n{text}\n]}}\n', encoding="utf-8")


def kept_in(out: Path) -> list[dict[str, Any]]:
    """The results of an earlier collection."""
    if not out.exists():
        return []
    found = json.loads(out.read_text(encoding="utf-8"))
    return [{**entry, "machine": found["machines"][entry["machine"]]} for entry in found["results"]]


def right_of(entry: dict[str, Any]) -> Any:
    """Whether each test row was answered right."""
    bits = np.frombuffer(b64decode(entry["right"]), dtype=np.uint8)
    return np.unpackbits(bits)[: entry["test_rows"]].astype(bool)


def limbeck_run(task: Task, train: Rows, test: Rows, asked: argparse.Namespace) -> Trained:
    """The model that `limbeck run train.csv` ships, and what its report says of the teacher and the candidates."""
    folder = asked.runs / task.model / f"{task.name}-{task.cut}-{task.seed}"
    is_new = not (folder / "train.toml").exists()  # a run that was stopped goes on, with the minutes from then on
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "train.csv", train)
    write(folder / "test.csv", test)
    changes = [f"corpus.split_seed={task.seed}", f"distillation.seeds=[{task.seed}]", *asked.set]
    changes += [f"teacher.checkpoint={json.dumps(asked.checkpoint)}"] if asked.checkpoint else []
    started = time.perf_counter()
    command = [sys.executable, "-m", "limbeck"]
    hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": ""} if task.model == "cpu" else None
    with (folder / "run.log").open("w", encoding="utf-8") as log:
        for words, variables in (
            *([(["init", "train.csv"], hidden)] if is_new else []),
            (["run", "train.toml", *(word for key in changes for word in ("--set", key))], None),
        ):
            subprocess.run(
                [*command, *words], cwd=folder, env=variables, stdout=log, stderr=subprocess.STDOUT, check=True
            )
    seconds = time.perf_counter() - started
    run = folder / "runs" / "train"
    report = json.loads((run / "report" / "report.json").read_text(encoding="utf-8"))
    best = run / "models" / "best"
    model = shipped(folder)
    facts = {
        "best": report.get("best"),
        "teacher": next((entry["accuracy"] for entry in report["models"] if entry["role"] == "teacher"), None),
        "report": {entry["name"]: round(entry["accuracy"], 4) for entry in report["models"]},
        "checkpoint": asked.checkpoint,
        "continued": not is_new,
        "trained_on": "GPU" if torch.cuda.is_available() else "CPU",
        "changed": [key for key in asked.set if not key.startswith("evaluation.")],  # those change no model
    }
    megabytes = sum(file.stat().st_size for file in best.rglob("*") if file.is_file()) / 1e6
    return Trained(labels_by(model), megabytes, seconds, facts)


def write(path: Path, rows: Rows) -> None:
    """A csv with the header `text,label`."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *rows])


def tfidf(train: Rows) -> Trained:
    """Ten lines of scikit-learn: words and characters, a linear SVC."""
    import pickle

    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline, make_union
    from sklearn.svm import LinearSVC

    started = time.perf_counter()
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    characters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True)
    model = make_pipeline(make_union(words, characters), LinearSVC())
    model.fit([text for text, _ in train], [label for _, label in train])
    seconds = time.perf_counter() - started
    return Trained(model.predict, len(pickle.dumps(model)) / 1e6, seconds)


def fasttext(train: Rows) -> Trained | None:
    """fastText with word pairs and character n-grams, and more epochs for few rows."""
    if find_spec("fasttext") is None:
        return None
    import fasttext as library

    names = sorted({label for _, label in train})
    numbers = {label: number for number, label in enumerate(names)}
    epochs = 100 if len(train) <= FEW else 25
    with tempfile.TemporaryDirectory() as folder:
        file, saved = Path(folder) / "train.txt", Path(folder) / "model.bin"
        lines = (f"__label__{numbers[label]} {' '.join(text.lower().split())}" for text, label in train)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        started = time.perf_counter()
        model = library.train_supervised(
            str(file), epoch=epochs, lr=1.0, wordNgrams=2, minn=3, maxn=6, dim=100, bucket=200_000, thread=2, verbose=0
        )
        seconds = time.perf_counter() - started
        model.save_model(str(saved))
        megabytes = saved.stat().st_size / 1e6

    def predict(texts: Sequence[str]) -> list[str]:
        # The binding below `predict`, which fails with numpy 2.
        found = model.f.multilinePredict([" ".join(text.lower().split()) + "\n" for text in texts], 1, 0.0, "strict")
        return [names[int(line[0].removeprefix("__label__"))] if line else names[0] for line in found[0]]

    return Trained(predict, megabytes, seconds)


def model2vec(train: Rows) -> Trained | None:
    """Static vectors distilled from the draft's own encoder, and model2vec's classifier on top."""
    if find_spec("model2vec") is None:
        return None
    from model2vec.train import StaticModelForClassification

    started = time.perf_counter()
    static = deepcopy(static_vectors())
    model = StaticModelForClassification.from_static_model(model=static)
    model.fit([text for text, _ in train], [label for _, label in train])
    seconds = time.perf_counter() - started
    size = static.embedding.nbytes / 1e6
    return Trained(lambda texts: model.predict(list(texts)), size, seconds)


@cache
def static_vectors() -> Any:
    """The same for every set: it depends on the encoder alone."""
    from model2vec.distill import distill

    return distill(model_name=encoder_folder())


def frozen(train: Rows) -> Trained:
    """The draft's own encoder, frozen: the mean of its states, then logistic regression."""
    import torch
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from transformers import AutoModel, AutoTokenizer

    folder = encoder_folder()
    tokenizer, encoder = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()

    def vectors(texts: Sequence[str]) -> Any:
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        found = np.zeros((len(texts), encoder.config.hidden_size), dtype=np.float32)
        with torch.inference_mode():
            for start in range(0, len(order), 64):
                places = order[start : start + 64]
                chosen = [texts[place] for place in places]
                batch = tokenizer(chosen, padding=True, truncation=True, max_length=128, return_tensors="pt")
                mask = batch["attention_mask"].unsqueeze(-1)
                states = encoder(**batch).last_hidden_state
                found[places] = ((states * mask).sum(1) / mask.sum(1)).numpy()
        return found

    started = time.perf_counter()
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=300))
    model.fit(vectors([text for text, _ in train]), [label for _, label in train])
    seconds = time.perf_counter() - started
    return Trained(lambda texts: list(model.predict(vectors(list(texts)))), None, seconds)


def setfit(train: Rows) -> Trained | None:
    """SetFit on the draft's own encoder with its defaults, where it can be imported."""
    if len(train) > 1000 or find_spec("setfit") is None or find_spec("sentence_transformers") is None:
        return None
    from datasets import Dataset

    try:
        from setfit import SetFitModel, Trainer, TrainingArguments
    except ImportError:  # it needs packages that it does not name
        return None

    names = sorted({label for _, label in train})
    numbers = [names.index(label) for _, label in train]
    rows = Dataset.from_dict({"text": [text for text, _ in train], "label": numbers})
    started = time.perf_counter()
    model = SetFitModel.from_pretrained(encoder_folder())
    Trainer(model=model, args=TrainingArguments(max_steps=300, batch_size=16), train_dataset=rows).train()
    seconds = time.perf_counter() - started
    return Trained(lambda texts: [names[int(number)] for number in model.predict(list(texts))], None, seconds)


def encoder_folder() -> str:
    """The encoder that a draft without a GPU takes, or the folder that LIMBECK_ENCODER names."""
    if named := os.environ.get("LIMBECK_ENCODER"):
        return named
    from limbeck.drafting.draft_teacher import OFFLINE_CHECKPOINT
    from limbeck.models.checkpoint import find_checkpoint

    return str(find_checkpoint(OFFLINE_CHECKPOINT))


RIVALS: dict[str, Callable[[Rows], Trained | None]] = {
    "tfidf": tfidf,
    "fastText": fasttext,
    "model2vec": model2vec,
    "frozen encoder": frozen,
    "SetFit": setfit,
}


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
