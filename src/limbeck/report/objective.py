"""What a student was trained to do, in words, from the recipe."""

import re
from collections.abc import Sequence
from typing import Any

from limbeck.recipe.distillation import Distillation
from limbeck.recipe.losses import AnyLoss
from limbeck.recipe.schedule import Schedule


def objective_in_words(section: Distillation) -> list[str]:
    """A line for every loss, Markdown; under a line for every stage where there are several."""
    if not section.stages:
        return [f"- {_loss(loss)}" for loss in section.losses]
    lines = []
    for number, stage in enumerate(section.stages, start=1):
        lines.append(f"{number}. {stage.epochs} epoch{'' if stage.epochs == 1 else 's'}:")
        lines += [f"   - {_loss(loss)}" for loss in stage.losses]
    return lines


def _loss(loss: AnyLoss) -> str:
    """Its name, its settings, and what it is: the first sentence of its section."""
    table = loss.model_dump(exclude={"kind", "options"}, exclude_none=True)
    settings = ", ".join(f"{key.replace('_', ' ')} {_said(getattr(loss, key))}" for key in table)
    sentences = re.split(r"\.\s+(?=[A-Z])", " ".join((type(loss).__doc__ or "").split()))  # not behind "et al."
    meaning = sentences[0].rstrip(".")
    return f"`{loss.name}` ({settings}): {meaning}."


def _said(value: Any) -> str:
    if isinstance(value, Schedule):
        return f"from {value.start:g} to {value.end:g} ({value.kind.replace('_', ' ')})"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join("→".join(map(str, item)) if isinstance(item, list) else _said(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
