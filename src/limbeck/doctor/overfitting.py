"""Students that forgot, epoch by epoch, what they had already learned of rows they do not train on."""

from collections.abc import Mapping, Sequence
from typing import Any

from limbeck.artifacts.student_folder import StudentFolder
from limbeck.doctor.finding import Finding
from limbeck.doctor.known import Known
from limbeck.doctor.training import last_training
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.student import Transformer

EARLY = 0.5  # the best epoch lies in this first part of the training
LEAST_FALL = 0.005  # of the score on dev, from the best epoch to the last one
FEWEST_ROWS = 2  # that such a fall must be more than


def overfitting(known: Known) -> list[Finding]:
    """Students that were best in the first half of their training, and clearly worse at its end."""
    rows = len(known.corpus.splits["dev"])
    found = [student for student in known.students if is_falling(last_training(student.history), rows=rows)]
    return [_falling(found, known)] if found else []


def is_falling(history: Sequence[Mapping[str, Any]], *, rows: int) -> bool:
    """Whether the best epoch came early, and the last one is below it by half a point and more than two rows."""
    scores = _scores(history)
    if len(scores) < 2 or scores.index(max(scores)) + 1 > EARLY * len(scores):
        return False
    fall = max(scores) - scores[-1]
    return fall > LEAST_FALL and round(fall * rows) > FEWEST_ROWS


def _falling(found: Sequence[StudentFolder], known: Known) -> Finding:
    scores = _scores(last_training(found[0].history))
    seeds, best = len(known.students), max(scores)
    who = "the student was" if seeds == 1 else f"the student was, in {len(found)} of {seeds} seeds,"
    then = f"{best:.1%} on dev after epoch {scores.index(best) + 1}, {scores[-1]:.1%} after epoch {len(scores)}"
    return Finding(
        "overfitting",
        "note",
        f"{who} best early in its training, and worse at the end",
        f"{then}; the best was kept",
        f"It learned train by heart: {_advice(known.recipe)}.",
    )


def _advice(recipe: Recipe) -> str:
    """The strongest remedy that the recipe has not taken yet, first."""
    student, remedies = recipe.student, []
    if recipe.transfer is None:
        remedies.append("give it unlabelled text ([transfer])")
    if not isinstance(student, Transformer) and student.tune_vectors and student.vector_sources != ["random"]:
        remedies.append("let its word vectors stand still (student.tune_vectors = false) and train longer")
    remedies.append("raise student.dropout" if not isinstance(student, Transformer) else "train for fewer epochs")
    return ", or ".join(remedies)


def _scores(history: Sequence[Mapping[str, Any]]) -> list[float]:
    return [epoch.get("dev_score", epoch["dev_accuracy"]) for epoch in history]
