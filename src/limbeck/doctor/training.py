"""Checks of the training: still improving when it ended, overfitting, and losses that have little effect."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from limbeck.artifacts.student_folder import StudentFacts, StudentFolder
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.distillation.objective import empty_losses, weak_terms
from limbeck.doctor.finding import Finding
from limbeck.doctor.known import Known
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.student import WordStudent
from limbeck.teacher.kinds import kind_of
from limbeck.training.epochs import is_rising, on_dev, rise_in_words, score_of


def epochs(known: Known) -> list[Finding]:
    """Trainings whose last epoch was the best one, by more than noise."""
    return [*_of_teacher(known), *(_of_students(known) if known.has("students") else ())]


def _of_teacher(known: Known) -> Iterator[Finding]:
    """The teacher, or each member of an ensemble."""
    teacher = known.teacher
    places = [teacher.folder.parent / "teachers" / name for name in teacher.facts.members]
    for folder in [TeacherFolder(place) for place in places if (place / "teacher.json").is_file()] or [teacher]:
        path, facts = folder.folder / "history.json", folder.facts
        is_trained_here = path.is_file() and kind_of(facts).traits.has_tokens
        history = json.loads(path.read_text(encoding="utf-8")) if is_trained_here else []
        if is_rising(history, rows=len(known.corpus.splits["dev"])):
            name = folder.folder.name if teacher.facts.members else facts.name
            yield _rising(f"the teacher {name} was", history, key="teacher.epochs")


def _of_students(known: Known) -> Iterator[Finding]:
    rising = rising_students(known)
    if rising:
        seeds = len(known.students)
        who = "the student was" if seeds == 1 else f"the student was, in {len(rising)} of {seeds} seeds,"
        key = "epochs of the last of distillation.stages" if known.recipe.distillation.stages else "distillation.epochs"
        yield _rising(who, last_training(rising[0].history), key=key)


def _rising(who: str, history: Sequence[Mapping[str, Any]], *, key: str) -> Finding:
    what = f"{who} still improving when training ended"
    return Finding("epochs", "warning", what, rise_in_words(history), f"Raise {key}.")


def guessing(known: Known) -> list[Finding]:
    """Students that hardly do better on dev than guessing, and those that only another learning rate helped."""
    found = [student.facts for student in known.students]
    weak, helped = [one for one in found if one.near_chance], [one for one in found if one.attempts]
    if weak:
        tried = f", with learning rates {_rates(weak[0])}" if weak[0].attempts else ""
        what = f"{_who(weak, found)} hardly better on dev than guessing"
        advice = "Check label-order and contradictions, give it more epochs, or compare with `baseline = true`."
        return [Finding("student-chance", "error", what, f"{weak[0].near_chance}{tried}", advice)]
    if helped:
        what = f"{_who(helped, found)} trained again, because its learning rate did not suit it"
        evidence = f"{helped[0].attempts[0]['problem'] or 'the loss was not finite'}; tried: {_rates(helped[0])}"
        return [
            Finding("student-chance", "note", what, evidence, "Set distillation.learning_rate to the one that helped.")
        ]
    return []


def _who(found: Sequence[StudentFacts], of_all: Sequence[StudentFacts]) -> str:
    return "the student was" if len(of_all) == 1 else f"the student was, in {len(found)} of {len(of_all)} seeds,"


def _rates(facts: StudentFacts) -> str:
    return ", ".join(f"{one['learning_rate']:.2g} ({on_dev(one)})" for one in facts.attempts)


def rising_students(known: Known) -> list[StudentFolder]:
    """The students whose last epoch was clearly better than all before."""
    rows = len(known.corpus.splits["dev"])
    return [student for student in known.students if is_rising(last_training(student.history), rows=rows)]


def last_training(history: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The epochs of the last training stage; all epochs if there is only one."""
    return [epoch for epoch in history if epoch.get("stage") == history[-1].get("stage")]


EARLY = 0.5  # the best epoch is in this first part of the training
MIN_FALL = 0.005  # of the score on dev, from the best epoch to the last one
MIN_ROWS_LOST = 2  # such a fall must be more than this many rows


def overfitting(known: Known) -> list[Finding]:
    """Students that were best in the first half of their training and clearly worse at its end."""
    rows = len(known.corpus.splits["dev"])
    found = [student for student in known.students if is_falling(last_training(student.history), rows=rows)]
    return [_falling(found, known)] if found else []


def is_falling(history: Sequence[Mapping[str, Any]], *, rows: int) -> bool:
    """Whether the best epoch came early, and the last is below it by more than half a point and more than two rows."""
    scores = _scores(history)
    if len(scores) < 2 or scores.index(max(scores)) + 1 > EARLY * len(scores):
        return False
    fall = max(scores) - scores[-1]
    return fall > MIN_FALL and round(fall * rows) > MIN_ROWS_LOST


def _falling(found: Sequence[StudentFolder], known: Known) -> Finding:
    scores = _scores(last_training(found[0].history))
    seeds, best = len(known.students), max(scores)
    who = "the student was" if seeds == 1 else f"the student was, in {len(found)} of {seeds} seeds,"
    first, last = (f"{score:.1%}" if known.corpus.task.has_classes else f"{score:.3f}" for score in (best, scores[-1]))
    then = f"{first} on dev after epoch {scores.index(best) + 1}, {last} after epoch {len(scores)}"
    return Finding(
        "overfitting",
        "note",
        f"{who} best early in its training, and worse at the end",
        f"{then}; the best was kept",
        f"It overfits train: {_advice(known.recipe)}.",
    )


def _advice(recipe: Recipe) -> str:
    """The remedies that the recipe does not use yet, the strongest first."""
    student, remedies = recipe.student, []
    if recipe.transfer is None:
        remedies.append("give it unlabelled text ([transfer])")
    if isinstance(student, WordStudent) and student.tune_vectors and student.vector_sources != ["random"]:
        remedies.append("freeze its word vectors (student.tune_vectors = false) and train longer")
    remedies.append("raise student.dropout" if isinstance(student, WordStudent) else "train for fewer epochs")
    return ", or ".join(remedies)


def _scores(history: Sequence[Mapping[str, Any]]) -> list[float]:
    return [score_of(epoch) for epoch in history]


def empty(known: Known) -> list[Finding]:
    """Losses that have little or no effect for the class count of the corpus."""
    classes = len(known.corpus.labels)  # a score has one
    notes = [note.partition(": ") for note in empty_losses(known.recipe.distillation.every_loss, classes=classes)]
    return [
        Finding(
            "empty-losses",
            "warning",
            f"{kind} has little or no effect with {classes} classes",
            why,
            "Replace it with logit_mse or soft_targets in distillation.losses.",
        )
        for kind, _, why in notes
    ]


def weak_losses(known: Known) -> list[Finding]:
    """Terms of the objective that contribute hardly anything, by the losses during training."""
    lines_of: dict[str, list[str]] = {}  # kind → a line for each student in which it is weak
    for student in known.students:
        for kind, line in {line.split()[0]: line for line in weak_terms(student.history)}.items():
            lines_of.setdefault(kind, []).append(line)
    return [_weak_loss(kind, lines, seeds=len(known.students)) for kind, lines in lines_of.items()]


def _weak_loss(kind: str, lines: list[str], *, seeds: int) -> Finding:
    evidence, _, advice = lines[0].partition(": ")
    where = f"; in {len(lines)} of {seeds} seeds" if seeds > 1 else ""
    advice = f"{advice[0].upper()}{advice[1:]}."
    return Finding("weak-losses", "warning", f"{kind} hardly counts in the objective", evidence + where, advice)
