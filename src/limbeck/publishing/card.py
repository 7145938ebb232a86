"""The card of a model as the hub shows it: the one that the run has written, with examples and how to load it."""

import json
from collections.abc import Sequence

from limbeck.artifacts.model_folder import ModelFacts

FENCE = "---"
HEADING = "## From the hub"
MOST_EXAMPLES = 5


def card_with(card: str, facts: ModelFacts, *, repository: str, examples: Sequence[object], has_weights: bool) -> str:
    """The card with a `widget` in its front matter, and a section that says how to load this repository.

    Without a card of its own, the model gets one of a few lines.
    """
    front, body = _split(card)
    if not front:
        front = [
            f"language: {_quoted(facts.language)}",
            "library_name: limbeck",
            "pipeline_tag: text-classification",
            f"tags: {_quoted(['text-classification', 'knowledge-distillation', 'onnx', facts.kind, facts.precision])}",
        ]
        body = f"# {repository.partition('/')[2]}\n"
    front = [line for line in front if not line.startswith("widget:")]
    if widget := _widget(examples):
        front.append(widget)
    section = "\n".join(_section(facts, repository, has_weights=has_weights))
    return "\n".join([FENCE, *front, FENCE, "", body.strip(), "", section]) + "\n"


def _split(card: str) -> tuple[list[str], str]:
    """The lines of the front matter, and the rest."""
    lines = card.splitlines()
    if not lines or lines[0] != FENCE or FENCE not in lines[1:]:
        return [], card
    end = lines.index(FENCE, 1)
    return lines[1:end], "\n".join(lines[end + 1 :])


def _widget(examples: Sequence[object]) -> str:
    """Rows to try the model with, as the hub reads them; JSON is YAML."""
    rows = [
        {"text": one} if isinstance(one, str) else dict(zip(("text", "text_pair"), one, strict=True))  # type: ignore[call-overload]
        for one in examples[:MOST_EXAMPLES]
    ]
    return f"widget: {_quoted(rows)}" if rows else ""


def _section(facts: ModelFacts, repository: str, *, has_weights: bool) -> list[str]:
    row = '("a text", "another text")' if facts.pair else '"a text"'
    lines = [
        *(HEADING, "", "```python", "import limbeck", ""),
        f'model = limbeck.load("hf://{repository}")  # ONNX; needs no PyTorch',
        f"model.predict([{row}])",
        "```",
    ]
    if has_weights:
        lines += [
            *("", "The weights from before the export load with transformers:", ""),
            *("```python", "import limbeck", "from transformers import AutoModelForSequenceClassification", ""),
            "limbeck.register_auto_classes()",
            f'model = AutoModelForSequenceClassification.from_pretrained("{repository}")',
            "```",
        ]
    return lines


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
