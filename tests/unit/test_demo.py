"""The demo's data and recipe; the run itself is the pipeline's."""

import csv
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from limbeck import demo, pipeline
from limbeck.recipe.toml import apply_overrides


class Reached(Exception):
    """Stops the demo where its run would begin."""


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    """A package's file at a place with all that is awkward in a path."""
    path = tmp_path / 'o\'neil "and" [sons] é' / "reviews.csv"
    path.parent.mkdir()
    rows = [
        *((f"sentence number {number}", number % 2, "rotten_tomatoes") for number in range(2000)),
        ("a long review", 1, "imdb"),
    ]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label", "source"), *rows])
    return path


def test_the_run_is_given_the_reviews_wherever_they_are(
    reviews: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}

    def reached(recipe: Path, **options: Any) -> None:
        asked.update(options, recipe=recipe)
        raise Reached

    monkeypatch.setattr(demo, "_packaged_reviews", lambda: reviews)
    monkeypatch.setattr(pipeline, "run", reached)
    with pytest.raises(Reached):
        demo.run_demo(tmp_path / "runs", console=Console(quiet=True))

    changed = apply_overrides({}, asked["overrides"], recipe="demo")
    assert changed == {"transfer": {"files": [str(reviews)]}}
    assert asked["out"] == tmp_path / "runs" / "demo"
    assert asked["recipe"].is_file()


def test_train_and_test_share_no_row_and_hold_rotten_tomatoes_alone(reviews: Path, tmp_path: Path) -> None:
    demo._write_data(reviews, tmp_path / "data")

    texts = {}
    for name in ("train", "test"):
        with (tmp_path / "data" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            texts[name] = {row["text"]: row["label"] for row in csv.DictReader(file)}
    assert len(texts["test"]) == demo.TEST_ROWS
    assert len(texts["train"]) == 500
    assert not texts["train"].keys() & texts["test"].keys()
    assert "a long review" not in texts["train"].keys() | texts["test"].keys()
    assert {label for part in texts.values() for label in part.values()} == {"negative", "positive"}
