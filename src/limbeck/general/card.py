"""The card of a general student: README.md in its folder."""

from pathlib import Path

from limbeck.artifacts.general_folder import GeneralFacts
from limbeck.errors import some
from limbeck.kinds import STUDENT_KINDS

HOW_TO_LOAD = "transformers loads it after `import limbeck.models`; its classifier is not trained."
LANGUAGES = {"en": "English", "zh": "Chinese"}


def write_card(folder: Path, facts: GeneralFacts) -> None:
    """What it is, what it learned from, how near it comes, and how to start from it."""
    settings, text = facts.settings["general"], facts.text
    shape = ", ".join(f"{name} = {value}" for name, value in facts.shape.items())
    encoders = "\n".join(f"| {one['name']} | {one['width']} | {one['cosine']:.3f} |" for one in facts.encoders)
    curve = "\n".join(f"| {epoch['epoch']} | {epoch['loss']:.4f} | {_cosines(epoch)} |" for epoch in facts.history)
    lines = [
        f"# {facts.name}",
        f"A {STUDENT_KINDS[facts.kind].title} that was taught the sentence vectors of {_names(facts)}, in "
        f"{LANGUAGES.get(facts.language, facts.language)}, before it has any task. Students start from it with\n"
        f'`student.start = "general:{facts.name}"`, which takes over its vectors of words and its body.',
        *([HOW_TO_LOAD] if settings["table"] == "fp16" else []),
        "## What it is",
        f"{shape}; {facts.words:,} words with vectors of {facts.width} numbers, stored as {settings['table']}.",
        "## What it learned from",
        f"{facts.sentences:,} different sentences and fragments, of {text.get('texts', 0):,} texts in "
        f"{some(list(text.get('files', [])))}; {settings['epochs']} epochs, {facts.minutes:g} minutes in all.",
        "## How near it comes",
        "Mean cosine to each encoder on sentences that were held back:",
        f"| encoder | width | cosine |\n|---|---:|---:|\n{encoders}",
        f"| epoch | loss | cosine |\n|---:|---:|---:|\n{curve}",
        "## Licences",
        "The weights are new. What encoders and text may be used for is said where they are published; this folder "
        "contains neither.",
    ]
    (folder / "README.md").write_text("\n\n".join(lines) + "\n", encoding="utf-8")


def _names(facts: GeneralFacts) -> str:
    return " and ".join(str(one["name"]) for one in facts.encoders)


def _cosines(epoch: dict[str, float]) -> str:
    return ", ".join(f"{value:.3f}" for name, value in epoch.items() if name.startswith("cosine_"))
