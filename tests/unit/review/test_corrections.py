"""The corrected corpus: classes keep their order, and earlier files are not overwritten."""

import csv
from pathlib import Path

import pytest

import limbeck
from limbeck.artifacts.corpus import Corpus
from limbeck.errors import PathUnusable
from limbeck.progress import SilentReporter
from limbeck.recipe.recipe import Recipe
from limbeck.review.corrections import apply_corrections
from limbeck.review.sheets import write_sheet

SILENT = SilentReporter()
RECIPE = """
[corpus]
train = "rows.csv"
label_names = {"0" = "zebra", "1" = "ant"}
[teacher]
kind = "linear"
"""


@pytest.fixture
def run(tmp_path: Path, toy_rows: tuple[tuple[str, str], ...], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run whose classes are in the order of their numbers, and not of their names."""
    rows = [(text, "0" if label == "negative" else "1") for text, label in toy_rows]
    with (tmp_path / "rows.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    (tmp_path / "animals.toml").write_text(RECIPE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return limbeck.run("animals.toml", until="labeling", reporter=SILENT).folder  # type: ignore[arg-type]


def edited(row_id: str, label: str) -> Path:
    write_sheet(Path("edited.csv"), ["id", "new_label"], [{"id": row_id, "new_label": label}])
    return Path("edited.csv")


def test_classes_keep_their_order_and_splits_their_rows(run: Path) -> None:
    before = Corpus(run / "corpus")

    applied = apply_corrections(run, [edited(before.splits["train"].ids[0], "zebra")])
    after = Corpus(limbeck.run(applied.recipe, until="corpus", reporter=SILENT).folder / "corpus")  # type: ignore[arg-type]

    assert isinstance(limbeck.load_recipe(applied.recipe).recipe, Recipe)
    assert before.labels == after.labels == ["zebra", "ant"]
    for split in ("train", "dev"):
        assert before.splits[split].texts == after.splits[split].texts
    different = (before.splits["train"].labels != after.splits["train"].labels).sum()
    assert different == applied.counts["changed"]


def test_files_of_an_earlier_correction_are_kept(run: Path) -> None:
    sheet = edited(Corpus(run / "corpus").splits["train"].ids[0], "(drop)")
    apply_corrections(run, [sheet])

    with pytest.raises(PathUnusable, match="already exists"):
        apply_corrections(run, [sheet])
    assert apply_corrections(run, [sheet], force=True).counts == {"changed": 0, "dropped": 1, "added": 0}
