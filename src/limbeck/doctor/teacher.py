"""Checks of the teacher: classes in another order than the corpus's, answers near chance, answers that change."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from limbeck.doctor.finding import Finding, Level
from limbeck.doctor.known import Asked, AskedTwice, Known
from limbeck.errors import some
from limbeck.teacher.kinds import KINDS
from limbeck.training.skill import MIN_OTHERS, NEAR_CHANCE, are_scores, rows_of_others, skill

Ints = npt.NDArray[np.int64]

MOSTLY = 0.5  # share of a class's rows that are predicted as another class
MIN_ROWS = 3  # of a class, to decide


def label_order(known: Known) -> list[Finding]:
    """Classes that are swapped: the rows of each are predicted as the next."""
    return [finding for asked in known.asked for finding in _swaps(asked, known.corpus.labels)]


def _swaps(asked: Asked, names: Sequence[str]) -> list[Finding]:
    if asked.rows.labels.ndim == 2 or are_scores(asked.rows.labels):
        return []
    counts = confusion(asked.rows.labels, asked.logits.argmax(axis=1), classes=len(names))
    return [
        Finding(
            "label-order",
            "error",
            f"the teacher {asked.name} has {some([names[number] for number in cycle], most=4)} in another order",
            some([_given(counts, number, of=names, given=given) for number, given in _steps(cycle)], most=2),
            KINDS[asked.kind].advice.when_swapped,
        )
        for cycle in swapped(counts)
    ]


def _steps(cycle: Sequence[int]) -> list[tuple[int, int]]:
    return list(zip(cycle, [*cycle[1:], cycle[0]], strict=True))


def _given(counts: Ints, number: int, *, of: Sequence[str], given: int) -> str:
    share = counts[number, given] / counts[number].sum()
    return f"{share:.0%} of the {counts[number].sum():,} dev rows of '{of[number]}' get '{of[given]}'"


def confusion(labels: Ints, predicted: Ints, *, classes: int) -> Ints:
    """(true, predicted): number of rows."""
    return np.bincount(labels * classes + predicted, minlength=classes * classes).reshape(classes, classes)


def swapped(counts: Ints) -> list[list[int]]:
    """Classes that are swapped in a cycle: most rows of each are predicted as the next in the list.

    If one class is merely confused with another, the other is not confused with it, and there is no cycle.
    """
    _, best = linear_sum_assignment(-counts)  # the one-to-one renaming with which most rows are right
    rows = np.maximum(counts.sum(axis=1), 1)
    cycles, seen = [], set()
    for first in range(len(counts)):
        cycle, number = [], first
        while number not in seen:
            seen.add(number)
            cycle.append(number)
            number = int(best[number])
        is_clear = all(counts[one].sum() >= MIN_ROWS and counts[one, best[one]] > MOSTLY * rows[one] for one in cycle)
        if len(cycle) > 1 and is_clear:
            cycles.append(cycle)
    return cycles


def near_chance(known: Known) -> list[Finding]:
    """Teachers that are hardly better on dev than guessing."""
    found = []
    for asked in known.asked:
        labels = asked.rows.labels
        kappa = skill(asked.logits, labels)
        is_swapped = labels.ndim == 1 and bool(_swaps(asked, known.corpus.labels))  # reported by `label_order`
        if kappa is None or kappa >= NEAR_CHANCE or is_swapped:
            continue
        advice = KINDS[asked.kind].advice
        what = f"the teacher {asked.name} is hardly better than guessing"
        measure = "Spearman's correlation" if are_scores(labels) else "Cohen's kappa"
        evidence = f"{measure} {kappa:.2f} on {len(asked.rows):,} dev rows, where 0 is guessing and 1 is perfect"
        others = rows_of_others(labels)
        level: Level = "error"
        if others is not None and others < MIN_OTHERS:  # as limbeck.teacher.chance: it may be bad luck
            level, evidence = "warning", f"{evidence}; only {others} of them are not of the most frequent class"
        found.append(Finding("teacher-chance", level, what, f"{evidence}; {advice.guessing}", advice.when_guessing))
    return found


def steady(known: Known) -> list[Finding]:
    """Teachers whose answers change when they are asked again."""
    return [finding for asked in known.asked_twice for finding in _unsteady(asked)]


def _unsteady(asked: AskedTwice) -> list[Finding]:
    if asked.between > asked.tolerance:
        return [
            Finding(
                "teacher-steady",
                "error",
                f"the teacher {asked.name} gives different answers each time it is asked",
                f"logits differ by up to {asked.between:.2g} on {asked.rows:,} rows asked twice "
                f"({asked.tolerance:g} is allowed)",
                "Something in it is random, such as dropout outside eval mode: fix the model, or write its answers to "
                'a file and use that (kind = "file" in [teacher]).',
            )
        ]
    if asked.from_kept is not None and asked.from_kept > asked.tolerance:
        return [
            Finding(
                "teacher-steady",
                "error",
                f"the stored labels differ from the answers of the teacher {asked.name}",
                f"logits differ by up to {asked.from_kept:.2g} on {asked.rows:,} rows asked again "
                f"({asked.tolerance:g} is allowed)",
                "It was asked in another mode or by another version: delete the run's labels folder and the label "
                "store, then run again.",
            )
        ]
    return []
