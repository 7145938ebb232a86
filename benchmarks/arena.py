"""`limbeck run` on files that nobody tuned for, beside what else a user could have taken.

    LIMBECK_DATA=path/to/data python benchmarks/arena.py [--sets hwu64,mpqa] [--rows 300,1000,all] [--seeds 0,1,2]
                                                         [--runs DIR] [--out FILE] [--set KEY=VALUE]
    python benchmarks/arena.py --write-page              # docs/arena.md and its picture, from the results

For every set of LIMBECK_DATA/arena, every number of training rows and every seed, the training rows are cut (the same
for everybody), `limbeck run train.csv` drafts and runs its recipe, and the model under models/best answers the test
rows, which are read only then. The rivals of the same row learn from the same training rows: TF-IDF with a linear SVC,
fastText, model2vec with its own classifier, a frozen encoder with logistic regression, SetFit; those that are not
installed are left out. Results are written after every row: a stopped benchmark goes on where it was.
"""

import argparse
import csv
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

import numpy as np  # noqa: E402
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
Rows = list[tuple[str, str]]  # text and label
Predict = Callable[[Sequence[str]], Sequence[str]]


@dataclass(frozen=True)
class Trained:
    """A model that answers texts: how large it is on disk, and how long its training took."""

    predict: Predict
    megabytes: float | None
    seconds: float


def main() -> None:
    """Run what is missing in the results, row by row; or write the page."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sets", default=",".join(SETS))
    options.add_argument("--rows", default="300,1000,all")
    options.add_argument("--seeds", default="0")
    options.add_argument("--runs", type=Path, default=Path("runs/arena"))
    options.add_argument("--out", type=Path, default=RESULTS)
    options.add_argument("--set", action="append", default=[], help="a key of every recipe, as in `limbeck run`")
    options.add_argument("--without-rivals", action="store_true")
    options.add_argument("--write-page", action="store_true")
    asked = options.parse_args()
    if asked.write_page:
        from benchmarks.arena_page import write_page

        write_page(json.loads(asked.out.read_text(encoding="utf-8")))
        return
    data = os.environ.get("LIMBECK_DATA") or sys.exit("Name the folder of the data sets in LIMBECK_DATA.")
    found = json.loads(asked.out.read_text(encoding="utf-8")) if asked.out.exists() else {"rows": []}
    done = {(row["set"], row["train_rows"], row["seed"]) for row in found["rows"]}
    for seed in map(int, asked.seeds.split(",")):
        for count in asked.rows.split(","):
            for name in asked.sets.split(","):
                train, test = cut(Path(data) / "arena" / name, count, seed=seed)
                if (name, len(train), seed) in done:
                    continue
                row = measured(
                    name, train, test, seed=seed, runs=asked.runs, keys=asked.set, rivals=not asked.without_rivals
                )
                found = {"machine": machine_facts(threads=0), "rows": [*found["rows"], {**row, "cut": count}]}
                asked.out.parent.mkdir(parents=True, exist_ok=True)
                asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
                print(json.dumps({name: len(train), **{m["name"]: m["accuracy"] for m in row["models"]}}), flush=True)


def cut(folder: Path, count: str, *, seed: int) -> tuple[Rows, Rows]:
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


def measured(
    name: str, train: Rows, test: Rows, *, seed: int, runs: Path, keys: Sequence[str], rivals: bool
) -> dict[str, Any]:
    """All models on one set: each learns from `train`, and answers `test`."""
    texts, labels = [text for text, _ in test], np.array([label for _, label in test])
    ours, facts = limbeck_run(name, train, test, seed=seed, runs=runs, keys=keys)
    right: dict[str, Any] = {}
    models = []
    for model, learn in {"limbeck": lambda _rows: ours, **(RIVALS if rivals else {})}.items():
        trained = learn(train)
        if trained is None:
            continue
        answers = np.array(list(trained.predict(texts)))
        right[model] = answers == labels
        models.append(
            {
                "name": model,
                "accuracy": float(right[model].mean()),
                "macro_f1": float(f1_score(labels, answers, average="macro", zero_division=0)),
                "microseconds": microseconds(trained.predict, texts),
                "megabytes": trained.megabytes,
                "minutes": trained.seconds / 60,
                "mcnemar_p": None if model == "limbeck" else mcnemar(right["limbeck"], right[model])["p"],
            }
        )
    return {"set": name, "train_rows": len(train), "test_rows": len(test), "seed": seed, **facts, "models": models}


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


def limbeck_run(
    name: str, train: Rows, test: Rows, *, seed: int, runs: Path, keys: Sequence[str]
) -> tuple[Trained, dict[str, Any]]:
    """The model that `limbeck run train.csv` ships, and what its report says of the teacher and the candidates."""
    folder = runs / f"{name}-{len(train)}-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write(folder / "train.csv", train)
    write(folder / "test.csv", test)
    changes = [f"corpus.split_seed={seed}", f"distillation.seeds=[{seed}]", *keys]
    words = [sys.executable, "-m", "limbeck", "run", "train.csv", *(word for key in changes for word in ("--set", key))]
    started = time.perf_counter()
    with (folder / "run.log").open("w", encoding="utf-8") as log:
        subprocess.run(words, cwd=folder, stdout=log, stderr=subprocess.STDOUT, check=True)
    seconds = time.perf_counter() - started
    run = folder / "runs" / "train"
    report = json.loads((run / "report" / "report.json").read_text(encoding="utf-8"))
    best = run / "models" / "best"
    model = limbeck.load(best, threads=1)
    facts = {
        "best": report.get("best"),
        "report": {entry["name"]: {"role": entry["role"], "accuracy": entry["accuracy"]} for entry in report["models"]},
    }
    megabytes = sum(file.stat().st_size for file in best.rglob("*") if file.is_file()) / 1e6
    return Trained(lambda texts: np.array(model.predict(texts)).tolist(), megabytes, seconds), facts


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
    """fastText with word pairs and character n-grams; the best of twelve settings on rows held out of train."""
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
    from limbeck.drafting.draft import OFFLINE_CHECKPOINT
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
