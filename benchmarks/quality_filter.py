"""A filter for documents: a student of a MiniLM that scores paragraphs, on a Parquet file of a million rows.

    python benchmarks/quality_filter.py --text FOLDER [--keep FOLDER] [--rows 1000000] [--out FILE] [--write-page]

FOLDER holds en-wiki.txt.gz and imdb-unsup.txt.gz, one paragraph a line; fastText (fasttext-wheel) must be importable.
Nobody has rated these texts, so the score takes the place of a quality: a document is one or two sentences of an
encyclopaedia's paragraph, or of a film review, or of both in any order, and its score is the share of its words that
are the encyclopaedia's. The truth is known of every row. What is shown is the road (a teacher that scores, a filter
that is cheap), not that a filter finds good documents. The teacher is all-MiniLM-L6-v2 (from the extra `demo`),
fine-tuned for two epochs, the students are n-grams and a bag of words; fastText, which knows classes alone, learns
whether a score is at least 0.5 from the same labelled rows, and from the teacher's scores of the same unlabelled ones.
The large file is made of paragraphs that no training row is from. Both filters read it in batches and write what they
keep, each in its own process on one thread; the ratio of their speeds is measured apart, by turns in one process.
"""

import argparse
import csv
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

os.environ["OMP_NUM_THREADS"] = "1"
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

import limbeck  # noqa: E402
from benchmarks.page_parts import put_between, table  # noqa: E402
from limbeck.artifacts.corpus import Corpus  # noqa: E402
from limbeck.artifacts.teacher_labels import TeacherLabels  # noqa: E402
from limbeck.artifacts.transfer_text import TransferText  # noqa: E402
from limbeck.text.sentences import split_sentences  # noqa: E402
from limbeck.timing.machine import machine_facts  # noqa: E402

RESULT, PAGE = ROOT / "benchmarks" / "results" / "quality_filter.json", ROOT / "docs" / "scores.md"
PARAGRAPHS, TRAIN_SHARE = 60_000, 0.3  # of each source; of those, the share that is not for the large file
SPLITS = {"train": 1_500, "dev": 300, "test": 600, "transfer": 4_000}
MOST_SENTENCES, MOST_WORDS, BATCH, THRESHOLD, ROUNDS, TIMED = 2, 70, 4_096, 0.5, 15, 4_096
SMALL = 100_000  # rows of the smaller file, to see whether memory grows
FASTTEXT, STUDENTS = "fastText", ("bag-int8", "ngrams-int8")
RECIPE = """
[corpus]
train = "train.csv"
dev = "dev.csv"
test = "test.csv"
label = "score"
task = "regression"
score_range = [0.0, 1.0]
[transfer]
files = ["transfer.csv"]
form = "as_is"
[teacher]
checkpoint = "all-MiniLM-L6-v2"
head = "mean"
epochs = 2
learning_rate = 1e-4
max_length = 96
[student]
kind = "ngrams"
[[candidates]]
kind = "bag"
[distillation]
epochs = 8
baseline = true
[export]
precisions = ["int8"]
blend = false
[evaluation]
score_threshold = 0.5
teacher_int8 = false
latency_rows = 100
throughput_batches = []
"""
Texts = Sequence[str]
Floats = npt.NDArray[np.float64]
Scores = Callable[[Texts], Floats]
Piece = list[str]  # neighbouring sentences


def main() -> None:
    """Measure, or filter as a process of its own."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--text", type=Path)
    options.add_argument("--keep", type=Path)
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--out", type=Path, default=RESULT)
    options.add_argument("--filter", nargs=4, metavar=("KIND", "MODEL", "IN", "OUT"))
    options.add_argument("--write-page", action="store_true")
    asked = options.parse_args()
    if asked.filter:
        kind, model, source, sink = asked.filter
        print(json.dumps(filtered(scorer(kind, Path(model)), Path(source), Path(sink))))
        return
    if not asked.write_page:
        with tempfile.TemporaryDirectory() as scratch:
            found = measured(asked.keep or Path(scratch), asked.text, rows=asked.rows)
        asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    write_page(json.loads(asked.out.read_text(encoding="utf-8")))


def measured(folder: Path, text: Path, *, rows: int) -> dict[str, Any]:
    """Train both, judge them on test, and filter the large file with both."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "large.parquet").is_file():
        write_files(folder, text, rows=rows)
    if not (folder / "run" / "models" / "best").is_dir():
        (folder / "recipe.toml").write_text(RECIPE, encoding="utf-8")
        limbeck.run(folder / "recipe.toml", out=folder / "run")
    labels = train_fasttext(folder / "fasttext-labels.bin", rows_of(folder / "train.csv"))
    taught = train_fasttext(folder / "fasttext-taught.bin", [*rows_of(folder / "train.csv"), *teachers(folder / "run")])
    places = {**{name: folder / "run" / "models" / name for name in STUDENTS}, FASTTEXT: taught}
    report = json.loads((folder / "run" / "report" / "report.json").read_text(encoding="utf-8"))
    return {
        "data": "sentences of English Wikipedia and of IMDB's unlabelled reviews, mixed",
        "splits": SPLITS,
        "machine": machine_facts(threads=1),
        "best": report["best"],
        "models": {line["name"]: _line(line) for line in report["models"]},
        "fastText": {
            "labels alone": judged(labels, folder / "test.csv"),
            "with the teacher's scores": judged(taught, folder / "test.csv"),
        },
        "filter": {
            kind: {
                name: in_process(kind, place, folder / f"{name}.parquet", folder / f"kept-{kind}-{name}.parquet")
                for name in ("small", "large")
            }
            for kind, place in places.items()
        },
        "rows per second, as a multiple of fastText's": {
            name: ratio(scorer(name, places[name]), scorer(FASTTEXT, taught), folder) for name in STUDENTS
        },
    }


def _line(line: dict[str, Any]) -> dict[str, Any]:
    kept = ("role", "spearman", "spearman_ci95", "mae", "rmse", "size_mb", "at_threshold")
    return {key: line.get(key) for key in kept}


def write_files(folder: Path, text: Path, *, rows: int) -> None:
    """Training rows of one part of the paragraphs, the large files of the others."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    dice = random.Random(0)
    sources = [pieces_of(text / f"{name}.txt.gz") for name in ("en-wiki", "imdb-unsup")]
    parts = [(found[: int(TRAIN_SHARE * len(found))], found[int(TRAIN_SHARE * len(found)) :]) for found in sources]
    for split, count in SPLITS.items():
        with (folder / f"{split}.csv").open("w", encoding="utf-8", newline="") as file:
            documents_of_split = list(documents([first for first, _ in parts], count, dice))
            heading = ("text",) if split == "transfer" else ("text", "score")
            csv.writer(file).writerows([heading, *(one[: len(heading)] for one in documents_of_split)])
    schema = pa.schema([("id", pa.int64()), ("text", pa.string()), ("score", pa.float64())])
    for name, count in (("small", min(SMALL, rows)), ("large", rows)):
        made = documents([second for _, second in parts], count, random.Random(1))
        with pq.ParquetWriter(folder / f"{name}.parquet.partial", schema, compression="zstd") as writer:
            for start in range(0, count, 50_000):
                block = [next(made) for _ in range(min(50_000, count - start))]
                ids, texts, scores = range(start, start + len(block)), *zip(*block, strict=True)
                writer.write_table(pa.table([list(ids), list(texts), list(scores)], schema=schema))
        (folder / f"{name}.parquet.partial").rename(folder / f"{name}.parquet")


def pieces_of(path: Path) -> list[Piece]:
    """Sentences of paragraphs that are spread over the file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    found = []
    for line in lines[:: max(1, len(lines) // PARAGRAPHS)]:
        sentences = [one for one in split_sentences(line[:2_000], language="en") if 4 <= len(one.split()) <= MOST_WORDS]
        if sentences:
            found.append(sentences)
    random.Random(2).shuffle(found)
    return found


def documents(sources: Sequence[Sequence[Piece]], count: int, dice: random.Random) -> Iterator[tuple[str, float]]:
    """Texts, and the share of their words that are of the first source: a fifth have it alone, a fifth the other."""
    for _ in range(count):
        kind = dice.random()
        used = [place for place, without in enumerate((0.2 <= kind < 0.4, kind < 0.2)) if not without]
        chosen = {place: _neighbours(dice.choice(sources[place]), dice) for place in used}
        words = {place: sum(len(one.split()) for one in piece) for place, piece in chosen.items()}
        order = dice.sample(used, len(used))
        text = " ".join(one for place in order for one in chosen[place])
        yield text, round(words.get(0, 0) / sum(words.values()), 4)


def _neighbours(piece: Piece, dice: random.Random) -> Piece:
    count = dice.randint(1, min(MOST_SENTENCES, len(piece)))
    start = dice.randint(0, len(piece) - count)
    return piece[start : start + count]


def rows_of(path: Path) -> list[tuple[str, float]]:
    """(text, score) of a file."""
    with path.open(encoding="utf-8", newline="") as file:
        return [(row["text"], float(row["score"])) for row in csv.DictReader(file)]


def teachers(run: Path) -> list[tuple[str, float]]:
    """The teacher's scores of the unlabelled text."""
    rows, scale = TransferText(run / "transfer").rows, Corpus(run / "corpus").scale
    assert scale is not None
    scores = scale.scores(TeacherLabels(run / "labels").for_rows(rows.ids)[:, 0])
    return list(zip(rows.texts, scores.tolist(), strict=True))


def train_fasttext(place: Path, rows: Sequence[tuple[str, float]]) -> Path:
    """Words and pairs of words, as filters of web text have them."""
    import fasttext

    if not place.is_file():
        file = place.with_suffix(".txt")
        lines = (f"__label__{int(score >= THRESHOLD)} {_words(text)}\n" for text, score in rows)
        file.write_text("".join(lines), encoding="utf-8")
        options = {"wordNgrams": 2, "dim": 100, "epoch": 25, "lr": 0.5, "bucket": 200_000, "thread": 1, "verbose": 0}
        fasttext.train_supervised(str(file), **options).save_model(str(place))
    return place


def _words(text: str) -> str:
    return " ".join(text.lower().split())


def scorer(kind: str, place: Path) -> Scores:
    """Scores of texts, on one thread."""
    if kind != FASTTEXT:
        model = limbeck.load(place, threads=1)
        return lambda texts: np.asarray(model.scores(list(texts)))
    import fasttext

    fasttext.FastText.eprint = lambda _: None
    found = fasttext.load_model(str(place))

    def scores(texts: Texts) -> Floats:
        # The binding below `predict`, which fails with numpy 2. Of two labels it repeats the probability of the first.
        answers = found.f.multilinePredict([f"{_words(text)}\n" for text in texts], 1, 0.0, "strict")
        both = ((labels[0], float(sure[0])) for labels, sure in zip(*answers, strict=True))
        return np.array([sure if label == "__label__1" else 1 - sure for label, sure in both])

    return scores


def judged(model: Path, path: Path) -> dict[str, float]:
    """fastText on the rows of test."""
    from scipy.stats import spearmanr
    from sklearn.metrics import f1_score, roc_auc_score

    rows = rows_of(path)
    scores = scorer(FASTTEXT, model)
    given, true = scores([text for text, _ in rows]), np.array([score for _, score in rows])
    return {
        "spearman": float(spearmanr(given, true).statistic),
        "auc": float(roc_auc_score(true >= THRESHOLD, given)),
        "f1": float(f1_score(true >= THRESHOLD, given >= THRESHOLD)),
        "size_mb": model.stat().st_size / 1e6,
    }


def filtered(scores: Scores, source: Path, sink: Path) -> dict[str, float]:
    """Write the rows of at least THRESHOLD, batch by batch; how many they are, how many of them rightly so, seconds,
    and the most memory of this process."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = kept = right = wanted = 0
    started = time.perf_counter()
    # Without these settings pyarrow keeps what it has read, row group after row group.
    opened = pq.ParquetFile(source, pre_buffer=False, buffer_size=1 << 20)
    with opened as documents, pq.ParquetWriter(sink, documents.schema_arrow) as writer:
        for batch in documents.iter_batches(batch_size=BATCH):
            keeps = scores(batch["text"].to_pylist()) >= THRESHOLD
            is_good = batch["score"].to_numpy() >= THRESHOLD
            writer.write_batch(batch.filter(pa.array(keeps)))
            rows, kept = rows + len(batch), kept + int(keeps.sum())
            right, wanted = right + int((keeps & is_good).sum()), wanted + int(is_good.sum())
    seconds = time.perf_counter() - started
    return {
        "rows": rows,
        "kept": kept,
        "precision": right / max(kept, 1),
        "recall": right / max(wanted, 1),
        "seconds": round(seconds, 2),
        "peak_mb": round(_most_memory(), 1),
    }


def _most_memory() -> float:
    """Of this process since it was started, in MB; what `getrusage` gives may be its parent's."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def in_process(kind: str, model: Path, source: Path, sink: Path) -> dict[str, float]:
    """The filter as a process of its own, whose memory nobody else uses."""
    command = [sys.executable, __file__, "--filter", kind, str(model), str(source), str(sink)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print(kind, source.name, found, flush=True)
    return found


def ratio(one: Scores, other: Scores, folder: Path) -> dict[str, float]:
    """The time of the other divided by that of the first, by turns: median and quartiles of the rounds. Each round has
    texts that neither has read before, as a filter has: models remember words."""
    import pyarrow.parquet as pq

    found = []
    with pq.ParquetFile(folder / "small.parquet") as documents:
        batches = [batch["text"].to_pylist() for batch in islice(documents.iter_batches(TIMED), ROUNDS + 1)]
    for turn, texts in enumerate(batches):
        order = (one, other) if turn % 2 else (other, one)
        taken = {scores: _seconds(scores, texts) for scores in order}
        found.append(taken[other] / taken[one])
    low, high = np.quantile(found[1:], [0.25, 0.75]).tolist()
    return {"median": median(found[1:]), "low": low, "high": high}


def _seconds(scores: Scores, texts: Texts) -> float:
    started = time.perf_counter()
    scores(texts)
    return time.perf_counter() - started


def write_page(found: dict[str, Any]) -> None:
    """Put the tables between their marks in docs/scores.md."""
    lines = [
        [name, f"{line['spearman']:.3f}", *_at(line["at_threshold"]), f"{line['size_mb']:.1f}"]
        for name, line in found["models"].items()
    ]
    lines += [
        [
            f"fastText, {name}",
            *(f"{line[key]:.3f}" for key in ("spearman", "auc", "f1")),
            f"{line['size_mb']:.1f}",
        ]
        for name, line in found["fastText"].items()
    ]
    put_between(
        PAGE,
        table(["on the rows of test", "Spearman", "AUC at 0.5", "F1 at 0.5", "MB"], lines),
        start="<!-- quality -->",
        end="<!-- /quality -->",
    )
    shown = [
        [
            f"{kind}, {line['rows']:,} rows",
            f"{100 * line['kept'] / line['rows']:.1f} %",
            f"{100 * line['precision']:.1f} %",
            f"{100 * line['recall']:.1f} %",
            f"{line['peak_mb']:,.0f} MB",
        ]
        for kind, files in found["filter"].items()
        for line in files.values()
    ]
    by_turns = found["rows per second, as a multiple of fastText's"]
    speed = "; ".join(
        f"{name} {line['median']:.2f} times as many (quartiles {line['low']:.2f} to {line['high']:.2f})"
        for name, line in by_turns.items()
    )
    speed = f"Rows per second beside fastText, by turns in one process, on one thread: {speed}."
    put_between(
        PAGE,
        table(["filter", "kept", "of these at least 0.5", "of all such rows", "most memory"], shown) + f"\n\n{speed}",
        start="<!-- filter -->",
        end="<!-- /filter -->",
    )


def _at(found: dict[str, Any] | None) -> list[str]:
    return ["", ""] if not found else [f"{found['auc']:.3f}", f"{found['f1']:.3f}"]


if __name__ == "__main__":
    main()
