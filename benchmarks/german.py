"""German tweets with three ways of reading words: by the rules of English, by those of German, and without parts.

    LIMBECK_DATA=data python benchmarks/german.py [--seeds 0 1] [--out FOLDER]
    LIMBECK_DATA=data python benchmarks/german.py --teachers [--seeds 0] [--rows 1000 5009] [--out FOLDER]
    python benchmarks/german.py --write-page

GermEval 2018 (offence or not). No encoder that reads German is taken, so the teacher is linear, as in a draft without
one; a Bi-LSTM and n-grams learn from it. The rules of German cut words into parts that train repeats; "whole words" is
without that. --teachers compares two teachers by the rules of German instead: the linear one, and an encoder that has
read English alone (all-MiniLM-L6-v2 from the extra `demo`), with the settings that the draft of a small English file
has on a CPU; both learn from the first rows of a shuffled train, or from all. Rows of test are judged; numbers go to
benchmarks/results/german.json, and --write-page puts their tables into docs/text.md.
"""

import argparse
import csv
import json
import os
import random
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS, PAGE = ROOT / "benchmarks" / "results" / "german.json", ROOT / "docs" / "text.md"
PLACES = {"ways": ("<!-- german -->", "<!-- /german -->"), "teachers": ("<!-- teachers -->", "<!-- /teachers -->")}
SHOWN = {"linear": "TF-IDF, linear", "bilstm": "Bi-LSTM", "ngrams": "n-grams", "blend-int8": "blend, int8"}
LINEAR = 'kind = "linear"'
ENCODER = """checkpoint = "all-MiniLM-L6-v2"
head = "mean"
epochs = EPOCHS
keep = "latest"
learning_rate = 2e-4
max_length = 96
near_chance = "warn\""""
FEW, EPOCHS = 2_000, {True: 5, False: 3}  # as in the drafts, which fit epochs into some minutes
TEACHERS = {"linear": LINEAR, "English encoder": ENCODER}
WAYS = {"English rules": "en", "whole words": "de", "parts": "de"}  # and the language of the recipe
RECIPE = """
[corpus]
train = "{train}"
test = "{data}/test.csv"
text = "text"
label = "label"
language = "{language}"
[teacher]
{teacher}
[student]
kind = "bilstm"
hidden_size = 100
embedding_size = 100
word_vectors = "random"
max_length = 64
[[candidates]]
kind = "ngrams"
[distillation]
epochs = 6
batch_size = 32
keep = "latest"
seeds = {seeds}
[[distillation.losses]]
kind = "soft_targets"
temperature = 1.0
[evaluation]
throughput_batches = []
"""


def main() -> None:
    """Measure all ways or both teachers, or write the page."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--teachers", action="store_true")
    options.add_argument("--seeds", type=int, nargs="+")
    options.add_argument("--rows", type=int, nargs="+", default=[1000, 5009])
    options.add_argument("--out", type=Path)
    options.add_argument("--write-page", action="store_true")
    asked = options.parse_args()
    if not asked.write_page:
        with tempfile.TemporaryDirectory() as scratch:
            folder = asked.out or Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            if asked.teachers:
                keep("teachers", of_teachers(asked.rows, folder, seeds=asked.seeds or [0]), seeds=asked.seeds or [0])
            else:
                seeds = asked.seeds or [0, 1]
                keep("ways", {way: of_way(way, folder, seeds=seeds) for way in WAYS}, seeds=seeds)
    write_page(json.loads(RESULTS.read_text(encoding="utf-8")))


def keep(name: str, found: dict[str, Any], *, seeds: list[int]) -> None:
    """One part of the file of results; the other stays, and so do earlier numbers of rows with the same seeds."""
    from limbeck.timing.machine import machine_facts

    numbers = json.loads(RESULTS.read_text(encoding="utf-8"))
    earlier = numbers.get(name, {"seeds": seeds, "found": {}})
    found = {**(earlier["found"] if earlier["seeds"] == seeds else {}), **found}
    numbers[name] = {"machine": machine_facts(threads=1), "seeds": seeds, "found": found}
    RESULTS.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")


def write_page(numbers: dict[str, Any]) -> None:
    """Both tables, each in its place."""
    text = PAGE.read_text(encoding="utf-8")
    tables = {"ways": table_of_ways(numbers["ways"]["found"]), "teachers": table_of_teachers(numbers["teachers"])}
    for name, (start, end) in PLACES.items():
        before, _, rest = text.partition(start)
        text = f"{before}{start}\n\n{tables[name]}\n\n{end}{rest.partition(end)[2]}"
    PAGE.write_text(text, encoding="utf-8")


def table_of_ways(ways: dict[str, Any]) -> str:
    """A line for each model, a column for each way."""
    lines = ["| model | " + " | ".join(ways) + " |", "|---|" + "---:|" * len(ways)]
    lines += [f"| {title} | {' | '.join(cell(way, name) for way in ways.values())} |" for name, title in SHOWN.items()]
    return "\n".join(lines)


def table_of_teachers(numbers: dict[str, Any]) -> str:
    """A line for each teacher and number of rows."""
    students = {name: SHOWN[name] for name in ("bilstm", "ngrams", "blend-int8")}
    lines = ["| rows of train | teacher | the teacher itself | " + " | ".join(students.values()) + " |"]
    lines.append("|---:|---|" + "---:|" * (len(students) + 1))
    for key, models in numbers["found"].items():
        rows, _, teacher = key.partition(" ")
        own = next(name for name, model in models.items() if model["role"] == "teacher")
        cells = " | ".join(cell(models, name) for name in (own, *students))
        lines.append(f"| {int(rows):,} | {teacher} | {cells} |")
    return "\n".join(lines)


def cell(models: dict[str, Any], name: str) -> str:
    """Accuracy and macro F1 in %."""
    return f"{100 * models[name]['accuracy']:.1f} ({100 * models[name]['macro_f1']:.1f})"


def of_teachers(counts: list[int], folder: Path, *, seeds: list[int]) -> dict[str, Any]:
    """Both teachers, with so many rows of train each."""
    found = {}
    for count in counts:
        train = folder / f"train-{count}.csv"
        write_part(data_folder() / "train.csv", train, count=count)
        for teacher, lines in TEACHERS.items():
            recipe = folder / f"{count}-{teacher.replace(' ', '-')}.toml"
            lines = lines.replace("EPOCHS", str(EPOCHS[count <= FEW]))
            found[f"{count} {teacher}"] = of_run(recipe, train=train, teacher=lines, language="de", seeds=seeds)
    return found


def write_part(source: Path, out: Path, *, count: int) -> None:
    """The first rows of a shuffled file; the order is always the same."""
    with source.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    random.Random(0).shuffle(rows)
    with out.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *rows[:count]])


def of_way(way: str, folder: Path, *, seeds: list[int]) -> dict[str, Any]:
    """The linear teacher, with one way of reading words."""
    from limbeck.text import language_rules

    plain = language_rules.RULES["de"]
    if way == "whole words":
        language_rules.RULES["de"] = replace(plain, parts="")
    recipe, train = folder / f"{way}.toml", data_folder() / "train.csv"
    try:
        return of_run(recipe, train=train, teacher=LINEAR, language=WAYS[way], seeds=seeds)
    finally:
        language_rules.RULES["de"] = plain


def of_run(recipe: Path, *, train: Path, teacher: str, language: str, seeds: list[int]) -> dict[str, Any]:
    """Accuracy and macro F1 of every model."""
    import limbeck

    given = {"train": train.resolve(), "data": data_folder(), "teacher": teacher, "language": language, "seeds": seeds}
    recipe.write_text(RECIPE.format(**given), encoding="utf-8")
    limbeck.run(recipe, out=recipe.with_suffix(""))
    report = json.loads((recipe.with_suffix("") / "report" / "report.json").read_text(encoding="utf-8"))
    return {
        model["name"]: {key: model.get(key) for key in ("role", "accuracy", "accuracy_sd", "macro_f1", "size_mb")}
        for model in report["models"]
    }


def data_folder() -> Path:
    """Where the rows are."""
    return Path(os.environ["LIMBECK_DATA"]).resolve() / "arena" / "germeval2018"


if __name__ == "__main__":
    main()
