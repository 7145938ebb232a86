"""Labels that are written in several ways become one class."""

from collections import Counter
from pathlib import Path
from typing import Any

from limbeck.artifacts.manifest import Key
from limbeck.corpus import read_corpus
from limbeck.drafting.draft import draft_recipe
from limbeck.drafting.inspection import inspect_file
from limbeck.drafting.spellings import names_of_spellings
from limbeck.recipe.load import load_recipe

SPELLINGS = ["Refund", "refund ", "Refund", " REFUND", "Refund", "Shipping", "Shipping", "shipping", "Lost  parcel"]


def test_the_most_frequent_spelling_is_the_name() -> None:
    counts = Counter({"refund": 2, "Refund": 5, "REFUND": 1, "Praise": 4, "lost parcel": 3, "Lost  Parcel": 2})

    assert names_of_spellings(counts) == {"refund": "Refund", "REFUND": "Refund", "Lost  Parcel": "lost parcel"}


def test_labels_that_differ_in_more_stay_apart() -> None:
    assert names_of_spellings({"re-fund": 1, "refund": 2, "refunds": 3, "C": 1, "C++": 1}) == {}


def test_a_draft_makes_them_one_class_and_the_corpus_reads_it_so(tmp_path: Path, key: Key, reporter: Any) -> None:
    rows = [(f"text {number} about {label.strip().lower()}", label) for number in range(9) for label in SPELLINGS]
    data = tmp_path / "a.csv"
    data.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows), encoding="utf-8")

    found = inspect_file(data)
    recipe = tmp_path / "a.toml"
    recipe.write_text(draft_recipe(data, found, data_path="a.csv"), encoding="utf-8")
    corpus = read_corpus(
        load_recipe(recipe).recipe.corpus, name="a", out=tmp_path / "corpus", key=key, reporter=reporter
    )

    assert found.labels == {"Lost  parcel": 9, "Refund": 45, "Shipping": 27}
    assert any("refund → Refund" in note for note in found.notes)
    assert corpus.labels == ["Lost  parcel", "Refund", "Shipping"]
    assert not any("label_names has" in note for note in reporter.notes)
