"""The card of a general transformer: README.md in its folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from limbeck.artifacts.general_folder import GeneralFacts
from limbeck.errors import some
from limbeck.general.card import LANGUAGES

LICENCES = (
    "The weights are new. What the teacher and the text may be used for is said where they are published; this folder "
    "contains no text, and of the teacher the tokens and the weights that the student started from."
)


def write_layers_card(folder: Path, facts: GeneralFacts) -> None:
    """What it is, what it learned from, the curves of its losses, and how to start from it."""
    teacher, settings = facts.encoders[0], facts.settings["general"]
    shape = ", ".join(f"{name} = {value}" for name, value in facts.shape.items())
    form = "AutoModelForMaskedLM" if facts.settings["has_head"] else "AutoModel"
    of_step = settings["batch_size"] * settings["accumulation_steps"]
    texts = f"{facts.text['different']:,} different texts in {some(list(facts.text['files']))}"
    lines = [
        f"# {facts.name}",
        f"A small transformer that was distilled from {teacher['name']} on general text, in "
        f"{LANGUAGES.get(facts.language, facts.language)}, before it has any task. Students start from it with\n"
        f'`student.kind = "transformer"` and `student.start = "general:{facts.name}"`. transformers loads it with\n'
        f"`{form}`.",
        "## What it is",
        f"{shape}; {facts.words:,} tokens, those of its teacher; {facts.settings['parameters']:,} parameters. Its "
        f"teacher has {teacher['layers']} layers of width {teacher['width']}.",
        "## What it learned from",
        f"{facts.sentences:,} windows of up to {settings['window']} tokens, {facts.text['tokens']:,} tokens, of "
        f"{texts}; {facts.settings['steps']:,} steps of {of_step} windows, {facts.minutes:g} minutes in all.",
        "## What it learned",
        "\n".join(f"- {_in_words(loss)}" for loss in settings["losses"]),
        f"It started from {_start(facts.settings['student'])}. Means over windows that were held back:",
        _curves(facts.history),
        f"Windows a second: {facts.settings['speed']['student']:.0f}, where the teacher alone read "
        f"{facts.settings['speed']['teacher']:.0f}.",
        "## Licences",
        LICENCES,
    ]
    (folder / "README.md").write_text("\n\n".join(lines) + "\n", encoding="utf-8")


def _in_words(loss: Mapping[str, Any]) -> str:
    given = ", ".join(f"{key} = {value}" for key, value in loss.items() if key not in ("kind", "weight") and value)
    return f"`{loss['kind']}`, weight {loss['weight']:g}{f' ({given})' if given else ''}"


def _start(student: Mapping[str, Any]) -> str:
    return "random weights" if student["start"] == "random" else f"its teacher ({student['teacher_layers']} layers)"


def _curves(history: list[dict[str, Any]]) -> str:
    names = [name for name in history[0] if name.startswith("dev_") and name != "dev_loss"]
    heads = ["round", "loss", *(name.removeprefix("dev_") for name in names)]
    rows = [[str(one["epoch"]), *(f"{one[name]:.4f}" for name in ("dev_loss", *names))] for one in history]
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, ["---:"] * len(heads), *rows])
