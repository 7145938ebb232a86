"""The teacher: classes in another order than the corpus's, answers near chance, answers that change."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from limbeck.doctor.finding import Finding
from limbeck.doctor.known import Asked, AskedTwice, Known
from limbeck.errors import some
from limbeck.teacher.kinds import KINDS
from limbeck.training.skill import NEAR_CHANCE, skill

Ints = npt.NDArray[np.int64]

MOSTLY = 0.5  # share of a class's rows that get another class's name
FEWEST_ROWS = 3  # of a class, to tell


def label_order(known: Known) -> list[Finding]:
    """Classes that change places: the rows of each get the name of the next."""
    return [finding for asked in known.asked for finding in _swaps(asked, known.corpus.labels)]


def _swaps(asked: Asked, names: Sequence[str]) -> list[Finding]:
    if asked.rows.labels.ndim == 2:
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
    """(true, predicted): rows."""
    return np.bincount(labels * classes + predicted, minlength=classes * classes).reshape(classes, classes)


def swapped(counts: Ints) -> list[list[int]]:
    """Classes that stand for each other in a ring: most rows of each get the name of the next in the list.

    Where one class is merely taken for another, that other one is not taken for the first, and there is no ring.
    """
    _, best = linear_sum_assignment(-counts)  # the one-to-one naming that would make most rows right
    rows = np.maximum(counts.sum(axis=1), 1)
    rings, seen = [], set()
    for first in range(len(counts)):
        ring, number = [], first
        while number not in seen:
            seen.add(number)
            ring.append(number)
            number = int(best[number])
        is_clear = all(counts[one].sum() >= FEWEST_ROWS and counts[one, best[one]] > MOSTLY * rows[one] for one in ring)
        if len(ring) > 1 and is_clear:
            rings.append(ring)
    return rings


def near_chance(known: Known) -> list[Finding]:
    """Teachers that do hardly better on dev than guessing."""
    found = []
    for asked in known.asked:
        labels = asked.rows.labels
        kappa = skill(asked.logits, labels)
        has_ring = labels.ndim == 1 and bool(_swaps(asked, known.corpus.labels))  # told by the other check
        if kappa is None or kappa >= NEAR_CHANCE or has_ring:
            continue
        said = KINDS[asked.kind].advice
        what = f"the teacher {asked.name} does hardly better than guessing"
        evidence = f"Cohen's kappa {kappa:.2f} on {len(asked.rows):,} dev rows, where 0 is guessing and 1 all right"
        found.append(Finding("teacher-chance", "error", what, f"{evidence}; {said.guessing}", said.when_guessing))
    return found


def steady(known: Known) -> list[Finding]:
    """Teachers that say something else when they are asked again."""
    return [finding for asked in known.asked_twice for finding in _unsteady(asked)]


def _unsteady(asked: AskedTwice) -> list[Finding]:
    if asked.between > asked.tolerance:
        return [
            Finding(
                "teacher-steady",
                "error",
                f"the teacher {asked.name} gives other answers each time it is asked",
                f"logits differ by up to {asked.between:.2g} on {asked.rows:,} rows asked twice "
                f"({asked.tolerance:g} is allowed)",
                "Something in it is random, as dropout is outside of eval mode: mend the model, or write its answers "
                'to a file and give that (kind = "file" in [teacher]).',
            )
        ]
    if asked.from_kept is not None and asked.from_kept > asked.tolerance:
        return [
            Finding(
                "teacher-steady",
                "error",
                f"the kept labels are not what the teacher {asked.name} says",
                f"logits differ by up to {asked.from_kept:.2g} on {asked.rows:,} rows asked again "
                f"({asked.tolerance:g} is allowed)",
                "It was asked in another mode or by another version: delete the run's labels folder and the label "
                "store, then run again.",
            )
        ]
    return []
