"""The objective: losses that say nothing for so many classes, and terms that drown beside others."""

from limbeck.distillation.drowned import drowned_terms
from limbeck.distillation.empty_losses import empty_losses
from limbeck.doctor.finding import Finding
from limbeck.doctor.known import Known


def empty(known: Known) -> list[Finding]:
    """Losses that are degenerate for the class count of the corpus."""
    classes = len(known.corpus.labels)
    notes = [note.partition(": ") for note in empty_losses(known.recipe.distillation.every_loss, classes=classes)]
    return [
        Finding(
            "empty-losses",
            "warning",
            f"{kind} says little or nothing with {classes} classes",
            why,
            "Take logit_mse or soft_targets in its place in distillation.losses.",
        )
        for kind, _, why in notes
    ]


def drowned(known: Known) -> list[Finding]:
    """Terms of the objective that hardly count beside another, by the losses while the students learned."""
    lines_of: dict[str, list[str]] = {}  # kind → a line for each student in which it drowns
    for student in known.students:
        for kind, line in {line.split()[0]: line for line in drowned_terms(student.history)}.items():
            lines_of.setdefault(kind, []).append(line)
    return [_drowning(kind, lines, seeds=len(known.students)) for kind, lines in lines_of.items()]


def _drowning(kind: str, lines: list[str], *, seeds: int) -> Finding:
    evidence, _, advice = lines[0].partition(": ")
    where = f"; so in {len(lines)} of {seeds} seeds" if seeds > 1 else ""
    advice = f"{advice[0].upper()}{advice[1:]}."
    return Finding("drowned-losses", "warning", f"{kind} hardly counts in the objective", evidence + where, advice)
