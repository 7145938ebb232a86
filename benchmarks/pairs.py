"""Students that compare two texts word by word beside siamese ones, alone and distilled, on small cuts of pairs.

    LIMBECK_DATA=path/to/data python benchmarks/pairs.py [--sets qqp,mrpc,rte,afqmc] [--variants siamese,attend]
    python benchmarks/pairs.py --time          # µs a pair, every student on every engine that runs it
    python benchmarks/pairs.py --write-page

Of every set, TRAIN rows are learned from, DEV rows choose the epoch and TEST rows of the published train file are what
is counted: all three are drawn from the rows of one file with a seed. The teacher of QQP is the offline encoder,
fine-tuned on those rows. For the other sets only students alone are compared, beside a linear teacher that nothing is
learned from, unless --encoder asks for that encoder. Every result is kept at once.
"""

import argparse
import csv
import json
import os
import random
import statistics
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

from benchmarks.page_parts import put_between, table  # noqa: E402
from limbeck.timing.machine import machine_facts  # noqa: E402

RESULTS, PAGE = ROOT / "benchmarks" / "results" / "pairs.json", ROOT / "docs" / "models.md"
START, END = "<!-- pairs -->", "<!-- /pairs -->"
TRAIN, DEV, TEST = 2_000, 500, 2_000
EPOCHS = {True: (5, 10), False: (1, 8)}  # of the student distilled, from an encoder or not, and alone
SEED = 0
# File, header, columns of both texts and the label, language, and tokens of an input.
SETS: dict[str, tuple[str, bool, tuple[str | int, str | int, str | int], str, int]] = {
    "qqp": ("qqp/train10k.tsv", True, ("question1", "question2", "is_duplicate"), "en", 48),
    "mrpc": ("mrpc/train.tsv", True, ("#1 String", "#2 String", "Quality"), "en", 64),
    "rte": ("rte/train.tsv", True, ("sentence1", "sentence2", "label"), "en", 96),
    "afqmc": ("afqmc/train.txt", False, (0, 1, 2), "zh", 48),
}
OF_GENERAL = ('student.start="general:english"', "student.hidden_size=150", "student.embedding_size=200")
ATTEND = 'student.pairing="attend"'
VARIANTS: dict[str, tuple[str, ...]] = {
    "siamese": (),
    "attend": (ATTEND,),
    "attend, no copies": (ATTEND,),
    "attend, two layers": (ATTEND, "student.layers=2"),
    "siamese bag": ('student={kind="bag",embedding_size=150}',),
    "attend bag": ('student={kind="bag",embedding_size=150,pairing="attend"}',),
    "siamese, general": OF_GENERAL,
    "attend, general": (*OF_GENERAL, ATTEND),
    "attend, general, no copies": (*OF_GENERAL, ATTEND),
    "attend, pairs by encoder": (ATTEND, "augmentation.methods.0.checkpoint=all-MiniLM-L6-v2"),
}
RECIPE = """
[corpus]
train = "train.csv"
dev = "dev.csv"
test = "test.csv"
text = "text"
pair = "pair"
label = "label"
language = "{language}"
{copies}
[teacher]
{teacher}

[student]
kind = "bilstm"
hidden_size = 100
embedding_size = 150
max_length = {tokens}

[distillation]
epochs = {epochs}
batch_size = 32
baseline_epochs = {baseline_epochs}
seeds = [{seed}]

[export]
precisions = ["int8"]

[evaluation]
teacher_int8 = false
latency_rows = 1
latency_rounds = 1
throughput_rows = 1
throughput_batches = []
"""
DISTILLED = ("qqp",)  # the sets whose teacher is the offline encoder by itself
ENCODER = 'checkpoint = "all-MiniLM-L6-v2"\nepochs = 3\nlearning_rate = 1e-4\nmax_length = {tokens}'
COPIES = """
[augmentation]
copies = 2
[[augmentation.methods]]
kind = "pairing"
[[augmentation.methods]]
kind = "masking"
"""


def main() -> None:
    """Run what is missing, or write the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sets", default=",".join(SETS))
    options.add_argument("--variants", default="siamese;attend")
    options.add_argument("--seed", type=int, default=SEED)
    options.add_argument("--runs", type=Path, default=Path("runs/pairs"))
    options.add_argument("--encoder", action="store_true", help="distil in every set, from the offline encoder")
    options.add_argument("--time", action="store_true")
    options.add_argument("--write-page", action="store_true")
    asked = options.parse_args()
    if asked.write_page:
        write_page(json.loads(RESULTS.read_text(encoding="utf-8")))
        return
    for name in asked.sets.split(","):
        folder = (asked.runs / name).resolve()
        if asked.time:
            keep([], times=times_of(folder))
            continue
        data = os.environ.get("LIMBECK_DATA") or sys.exit("Name the folder of the data sets in LIMBECK_DATA.")
        prepare(name, Path(data), folder, seed=asked.seed, encoder=asked.encoder)
        for variant in asked.variants.split(";"):
            keep([run_variant(name, variant, folder, seed=asked.seed)])


def prepare(name: str, data: Path, folder: Path, *, seed: int, encoder: bool) -> None:
    """The three files and the recipe of a set."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = rows_of(name, data)
    random.Random(SEED).shuffle(rows)
    test, rows = rows[: min(TEST, len(rows) // 4)], rows[min(TEST, len(rows) // 4) :]
    for split, part in {"test": test, "dev": rows[:DEV], "train": rows[DEV : DEV + TRAIN]}.items():
        with (folder / f"{split}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("text", "pair", "label"), *part])
    language, tokens = SETS[name][3:]
    has_encoder = name in DISTILLED or encoder
    teacher = ENCODER.format(tokens=2 * tokens) if has_encoder else 'kind = "linear"\nnear_chance = "warn"'
    copies = COPIES if has_encoder else ""
    epochs, alone = EPOCHS[has_encoder]
    values = {"language": language, "tokens": tokens, "teacher": teacher, "copies": copies, "seed": seed}
    text = RECIPE.format(**values, epochs=epochs, baseline_epochs=alone)
    (folder / "pairs.toml").write_text(text, encoding="utf-8")
    (folder / "plain.toml").write_text(text.replace(COPIES, ""), encoding="utf-8")


def rows_of(name: str, data: Path) -> list[tuple[str, str, str]]:
    """Text, second text and label of every row of the set's train file."""
    path, header, columns, *_ = SETS[name]
    with (data / path).open(encoding="utf-8-sig", newline="") as file:
        as_csv = csv.reader(file, delimiter="\t")
        lines = list(as_csv) if name == "qqp" else [line.rstrip("\r\n").split("\t") for line in file]
    places = [lines[0].index(str(column)) for column in columns] if header else [int(column) for column in columns]
    rows = [line for line in lines[int(header) :] if len(line) > max(places)]
    return [(line[places[0]], line[places[1]], line[places[2]]) for line in rows]


def run_variant(name: str, variant: str, folder: Path, *, seed: int) -> dict[str, Any]:
    """One student, alone and distilled; the teacher and its labels are those of the first variant."""
    place = folder / "runs" / "pairs"
    sets = [word for key in VARIANTS[variant] for word in ("--set", key)]
    with (folder / "run.log").open("a", encoding="utf-8") as log:
        recipe = "plain.toml" if "no copies" in variant else "pairs.toml"
        command = [sys.executable, "-m", "limbeck", "run", recipe, "--out", "runs/pairs", *sets]
        subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=True, cwd=folder)
    report = json.loads((place / "report" / "report.json").read_text(encoding="utf-8"))
    by_role = {entry["role"]: entry for entry in report["models"]}
    kept = folder / "models" / variant.replace(" ", "-").replace(",", "")
    kept.parent.mkdir(exist_ok=True)
    if not kept.exists():
        models = place / "models"
        next(models.glob("*-int8")).rename(kept)
    entry = {"set": name, "variant": variant, "seed": seed, "rows": report["corpus"]["rows"]["train"]}
    learned = report["corpus"]["language"] == "en" and "encoder" in {model["kind"] for model in report["models"]}
    entry |= {"judged_rows": report["judged_rows"], "machine": machine_facts(threads=1)["cpu"]}
    for role in ("rival", "baseline", *(("teacher", "export") if learned else ())):
        if role in by_role:
            entry |= {role: by_role[role]["accuracy"], f"{role} F1": by_role[role]["macro_f1"]}
    return entry


def times_of(folder: Path) -> dict[str, dict[str, float]]:
    """µs for one pair a call: every model in turn, five times; the median of the medians, as the machine is shared."""
    from limbeck.errors import EngineUnusable
    from limbeck.runtime.classifier import load

    with (folder / "test.csv").open(encoding="utf-8", newline="") as file:
        pairs = [(row["text"], row["pair"]) for row in csv.DictReader(file)][:200]
    classifiers = {}
    for path in sorted((folder / "models").iterdir()):
        for engine in ("native", "onnx"):
            try:
                classifiers[f"{path.name}, {engine}"] = load(path, engine=engine)
            except EngineUnusable:
                continue
    found: dict[str, list[float]] = {name: [] for name in classifiers}
    for _ in range(5):
        for name, classifier in classifiers.items():
            found[name].append(statistics.median(_seconds(classifier, pair) for pair in pairs))
    return {folder.name: {name: round(1e6 * statistics.median(each), 1) for name, each in found.items()}}


def _seconds(classifier: Any, pair: tuple[str, str]) -> float:
    started = perf_counter()
    classifier.predict([pair])
    return perf_counter() - started


def keep(found: list[dict[str, Any]], *, times: dict[str, dict[str, float]] | None = None) -> None:
    """Add results to the file, in place of earlier ones of the same set, variant and seed."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"runs": [], "microseconds": {}}
    new = {(entry["set"], entry["variant"], entry["seed"]): entry for entry in (*kept["runs"], *found)}
    kept = {"runs": [new[key] for key in sorted(new)], "microseconds": {**kept["microseconds"], **(times or {})}}
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found or times), flush=True)


def write_page(results: dict[str, Any]) -> None:
    """Put the table between the marks of docs/models.md."""
    runs, lines = results["runs"], []
    sets = [name for name in SETS if any(entry["set"] == name for entry in runs)]

    def mean(variant: str | None, role: str) -> dict[str, float]:
        of_set: dict[str, list[float]] = {}
        for entry in runs:
            if role in entry and (variant is None or entry["variant"] == variant):
                of_set.setdefault(entry["set"], []).append(entry[role])
        return {name: statistics.mean(values) for name, values in of_set.items()}

    for title, role in (("TF-IDF and a linear model", "rival"), ("teacher", "teacher")):
        lines.append([title, "", *_percents(mean(None, role), sets)])
    for variant in VARIANTS:
        for how, role in (("labels alone", "baseline"), ("distilled", "export")):
            if values := mean(variant, role):
                lines.append([variant, how, *_percents(values, sets)])
    text = table(["student", "learned from", *sets], lines, words=["student", "learned from"])
    put_between(PAGE, text, start=START, end=END)


def _percents(by_set: dict[str, float], sets: list[str]) -> list[str]:
    return [f"{100 * by_set[name]:.1f}" if name in by_set else "" for name in sets]


if __name__ == "__main__":
    main()
