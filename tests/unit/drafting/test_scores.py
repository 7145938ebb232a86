"""A column of many numbers is a score; a few whole ones are classes, and the draft has the line that changes that."""

from pathlib import Path

import pytest

from limbeck.drafting.draft import draft_recipe
from limbeck.drafting.draft_teacher import NO_ENCODER
from limbeck.drafting.inspection import Inspection, inspect_file


def inspected(path: Path, heading: str, cells: list[str]) -> Inspection:
    lines = [f"text number {at} is a little longer than a word,{cell}" for at, cell in enumerate(cells)]
    path.write_text("\n".join([f"review,{heading}", *lines]) + "\n", encoding="utf-8")
    return inspect_file(path)


def drafted(found: Inspection) -> str:
    return draft_recipe(found.path, found, data_path=found.path.name, teacher=NO_ENCODER)


@pytest.mark.parametrize("heading", ["rating", "score", "label", "what_they_thought"])
def test_many_decimal_numbers_are_scores_under_any_name(tmp_path: Path, heading: str) -> None:
    found = inspected(tmp_path / "rows.csv", heading, [f"{at % 37 / 10:.1f}" for at in range(120)])

    assert found.is_score
    assert (found.label, found.score_range, found.labels) == (heading, (0.0, 3.6), {})
    assert "scores: from 0 to 3.6" in found.summary()
    text = drafted(found)
    assert 'task = "regression"' in text
    assert 'kind = "logit_mse"' in text
    assert "class_weights" not in text
    assert "label_names" not in text


def test_stars_are_classes_and_the_draft_says_how_they_become_scores(tmp_path: Path) -> None:
    found = inspected(tmp_path / "rows.csv", "stars", [str(at % 5 + 1) for at in range(100)])

    assert not found.is_score
    assert list(found.labels) == ["1", "2", "3", "4", "5"]
    assert '# task = "regression"' in drafted(found)


def test_a_label_with_names_is_taken_before_a_column_of_numbers(tmp_path: Path) -> None:
    lines = [f"text number {at} is longer,{('good', 'bad')[at % 2]},{at / 7:.2f}" for at in range(80)]
    (tmp_path / "rows.csv").write_text("review,label,confidence\n" + "\n".join(lines) + "\n", encoding="utf-8")

    found = inspect_file(tmp_path / "rows.csv")

    assert not found.is_score
    assert found.labels == {"bad": 40, "good": 40}


def test_ids_are_no_scores(tmp_path: Path) -> None:
    lines = [f"{at + 0.5},text number {at} is longer,{('good', 'bad')[at % 2]}" for at in range(80)]
    (tmp_path / "rows.csv").write_text("row_id,review,mood\n" + "\n".join(lines) + "\n", encoding="utf-8")

    assert inspect_file(tmp_path / "rows.csv").label == "mood"
