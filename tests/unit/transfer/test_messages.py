"""The messages about gathered text."""

from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest

from limbeck.recipe.transfer import Transfer
from limbeck.transfer.run import report_gathered

if TYPE_CHECKING:
    from tests.unit.conftest import RememberingReporter

SHARES = {"upper_case": 0.04, "marks_apart": 0.01, "full_width": 0.0, "chinese_marks": 0.0}
QUALITY: dict[str, Any] = {
    "files": ["a.txt"],
    **dict.fromkeys(("too_short", "too_long", "duplicates", "in_train", "near_duplicates"), 0),
    "overlap": {"mode": "remove", "splits": {"dev": {"rows": 9, "found": 0, "verbatim": 0, "near": 0}}},
    "fresh": 50,
    "kept": 50,
    "form": {"corpus": SHARES, "text": SHARES, "needed": [], "steps": []},
    "domain": {"words_in_train": 0.9, "dev_words_in_train": 0.95, "train_words_found": 0.8},
}


@pytest.fixture
def quality() -> dict[str, Any]:
    return deepcopy(QUALITY)


def notes(reporter: "RememberingReporter", quality: dict[str, Any], **section: Any) -> list[str]:
    report_gathered(quality, Transfer(files=["a.txt"], **section), reporter)
    return reporter.notes


def test_without_anything_suspicious_one_line_is_enough(
    reporter: "RememberingReporter", quality: dict[str, Any]
) -> None:
    quality["near_duplicates"] = 1_200

    (line,) = notes(reporter, quality, split_paragraphs=True)

    assert line.startswith("  50 paragraphs of transfer text from a.txt; dropped:")
    assert "1,200 near duplicates" in line


def test_a_pool_is_reported_with_the_rows_that_the_teacher_will_choose(
    reporter: "RememberingReporter", quality: dict[str, Any]
) -> None:
    quality |= {"drawn": 40, "pool": 40, "kept": 40}

    lines = notes(reporter, quality, rows=10, choice="balanced")

    assert "drawn from 50" in lines[0]
    assert "the teacher will choose 10" in lines[1]


def test_near_and_found_rows_are_reported_separately(reporter: "RememberingReporter", quality: dict[str, Any]) -> None:
    quality["overlap"]["splits"]["dev"] |= {"found": 2, "near": 3}

    assert notes(reporter, quality)[1:] == [
        "  2 dev rows appeared in it and were removed",
        "  3 dev rows nearly appeared in it and were removed",
    ]


def test_rows_that_are_only_reported_are_a_warning(reporter: "RememberingReporter", quality: dict[str, Any]) -> None:
    quality["overlap"]["splits"]["dev"]["near"] = 3

    (line,) = notes(reporter, quality, overlap="report")[1:]

    assert "warning: 3 dev rows nearly appear in it" in line


def test_the_steps_taken_are_reported_with_the_shares_that_required_them(
    reporter: "RememberingReporter", quality: dict[str, Any]
) -> None:
    quality["form"] |= {"corpus": {**SHARES, "upper_case": 0.0}, "needed": ["lowercase"], "steps": ["lowercase"]}

    (line,) = notes(reporter, quality)[1:]

    assert line == "  converted to the corpus's form by lowercase: letters in upper case 4.0% (corpus 0.0%)"


def test_needed_steps_that_the_recipe_does_not_take_are_a_warning(
    reporter: "RememberingReporter", quality: dict[str, Any]
) -> None:
    quality["form"] |= {"corpus": {**SHARES, "marks_apart": 0.99}, "needed": ["spaced"]}

    (line,) = notes(reporter, quality, form="as_is")[1:]

    assert "warning" in line
    assert "1.0% (corpus 99.0%)" in line
    assert 'form = "auto"' in line


def test_text_of_another_domain_is_called_general(reporter: "RememberingReporter", quality: dict[str, Any]) -> None:
    quality["domain"]["words_in_train"] = 0.49

    (line,) = notes(reporter, quality)[1:]

    assert "49% of its running words appear in train (of dev's: 95%): it is general text" in line
