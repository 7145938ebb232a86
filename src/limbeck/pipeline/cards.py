"""The cards of the models that ship, from the report that judged them."""

from collections.abc import Sequence
from pathlib import Path

from limbeck.artifacts.model_folder import README, ModelFolder
from limbeck.artifacts.report import Report
from limbeck.recipe.files import GENERAL
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.student import Transformer, WordStudent
from limbeck.report.model_card import model_card, objective_in_words
from limbeck.report.teacher_card import teacher_card

STAMP = "<!-- written by limbeck from report {} -->"
MARK = STAMP.partition("{")[0]


def write_cards(recipe: Recipe, report: Report, models: Sequence[ModelFolder]) -> None:
    """Write the card of every model whose card is missing or belongs to another report.

    A card that a user has edited is kept as long as the report is the same; a card without the stamp is never replaced.
    """
    judged = {entry["name"] for entry in report.data.get("models", [])}
    stamp = STAMP.format(report.fingerprint)
    objective = objective_in_words(recipe.distillation)
    for model in models:
        facts = model.facts()
        path = model.folder / README
        if facts.name in judged and _is_due(path, stamp=stamp):
            card = model_card(
                report.data,
                facts.name,
                objective=objective,
                max_length=facts.max_length,
                folder=model.folder.name,
                start=_start_of(recipe, facts.kind),
            )
            _write(path, f"{card}\n{stamp}\n")


def write_teacher_card(report: Report, model: ModelFolder | None) -> None:
    """Write the card of the kept teacher, if there is one, under the same conditions as those of the students."""
    if model is None:
        return
    stamp, path = STAMP.format(report.fingerprint), model.folder / README
    if _is_due(path, stamp=stamp):
        card = teacher_card(
            report.data, folder=model.folder.name, size_mb=model.size_mb(), max_length=model.facts().max_length
        )
        _write(path, f"{card}\n{stamp}\n")


def _start_of(recipe: Recipe, kind: str) -> str:
    """The name of the general student, or of the checkpoint, that the recipe's student of this kind starts from; empty
    without one."""
    for one in recipe.for_each_student():
        if one.student.kind != kind:
            continue
        if isinstance(one.student, Transformer) and one.student.checkpoint:
            return Path(one.student.checkpoint).name
        if isinstance(one.student, WordStudent) and one.student.is_general:
            return Path(one.student.start.removeprefix(GENERAL)).name
    return ""


def _is_due(path: Path, *, stamp: str) -> bool:
    if not path.is_file():
        return True
    text = path.read_text(encoding="utf-8", errors="replace")
    return MARK in text and stamp not in text


def _write(path: Path, text: str) -> None:
    """Write atomically, so that no reader finds half a card."""
    scratch = path.with_name(f"{path.name}.partial")
    scratch.write_text(text, encoding="utf-8")
    scratch.replace(path)
