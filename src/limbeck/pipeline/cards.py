"""README.md in every shipped model's folder, kept in step with the report and out of the model's manifest."""

from collections.abc import Sequence
from pathlib import Path

from limbeck.artifacts.model_folder import README, ModelFolder
from limbeck.artifacts.report import Report
from limbeck.recipe.recipe import Recipe
from limbeck.report.model_card import model_card
from limbeck.report.objective import objective_in_words

STAMP = "<!-- written by limbeck from report {} -->"
MARK = STAMP.partition("{")[0]


def write_cards(recipe: Recipe, report: Report, models: Sequence[ModelFolder]) -> None:
    """Write the card of every model that has none, or one of another report.

    A card that was changed stays while the report stays; one without our last line is not ours, and stays for good.
    """
    judged = {entry["name"] for entry in report.data.get("models", [])}
    stamp = STAMP.format(report.fingerprint)
    objective = objective_in_words(recipe.distillation)
    for model in models:
        facts = model.facts()
        path = model.folder / README
        if facts.name in judged and _is_due(path, stamp=stamp):
            card = model_card(report.data, facts.name, objective=objective, max_length=facts.max_length)
            _write(path, f"{card}\n{stamp}\n")


def _is_due(path: Path, *, stamp: str) -> bool:
    if not path.is_file():
        return True
    text = path.read_text(encoding="utf-8", errors="replace")
    return MARK in text and stamp not in text


def _write(path: Path, text: str) -> None:
    """In one step: whoever reads it finds the old card or the new one, never half of one."""
    scratch = path.with_name(f"{path.name}.partial")
    scratch.write_text(text, encoding="utf-8")
    scratch.rename(path)
