"""Checks of a language model as the teacher: classes that it never answers, and answers that depend on the position."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from limbeck.doctor.finding import Finding
from limbeck.doctor.known import Known
from limbeck.errors import some
from limbeck.recipe.endpoint import EndpointTeacher
from limbeck.recipe.teacher import each_teacher
from limbeck.teacher.endpoints.quality import p_of_positions

CHECK = "language-model"
MIN_ROWS = 100  # answers, below which a class may be missing by chance
SURELY = 1e-4  # probability of counts as uneven as these, if the position did not matter
CLEARLY = 1.25  # times as often as others: a difference that is certain but small does not matter
EXPECTED = 5  # answers for a class, by the share that the labelled rows give it, to miss it


@dataclass(frozen=True)
class LanguageModelAnswers:
    """What a language model answered in a run: for each class, and for each position in the list of choices."""

    name: str
    classes: npt.NDArray[np.int64]  # (classes)
    positions: npt.NDArray[np.int64] | None  # None where the order is always the same
    labelled: npt.NDArray[np.int64]  # (classes) rows of the corpus that have this label


def answers_of_model(known: Known) -> list[Finding]:
    """Classes that it never uses, and positions that it prefers; nothing for other teachers."""
    if known.corpus.scale is not None:
        return []
    if not any(isinstance(one, EndpointTeacher) for one in each_teacher(known.recipe.teacher)):
        return []
    found: LanguageModelAnswers = known.part("model_answers")
    if found.classes.sum() < MIN_ROWS:
        return []
    return [*_never_used(found, known.corpus.labels), *_by_position(found)]


def _never_used(found: LanguageModelAnswers, names: list[str]) -> list[Finding]:
    rows, labelled = int(found.classes.sum()), max(int(found.labelled.sum()), 1)
    unused = [
        name
        for name, answered, given in zip(names, found.classes, found.labelled, strict=True)
        if not answered and (not found.labelled.any() or rows * given / labelled >= EXPECTED)
    ]
    if not unused:
        return []
    evidence = f"none of {rows:,} answers is {some([repr(name) for name in unused], most=6)}"
    advice = "Say in a line what belongs to these classes: descriptions in [teacher]; or show examples (examples)."
    return [Finding(CHECK, "warning", f"{found.name} never uses {len(unused):,} of the classes", evidence, advice)]


def _by_position(found: LanguageModelAnswers) -> list[Finding]:
    if found.positions is None or found.positions.sum() < MIN_ROWS:
        return []
    counts, mean = found.positions, float(found.positions.mean())
    if p_of_positions(counts.tolist()) >= SURELY or counts.max() < CLEARLY * mean:
        return []
    place = int(counts.argmax())
    evidence = (
        f"the choice at position {place + 1} of {len(counts)} is the answer for {counts[place] / counts.sum():.0%} of "
        f"{counts.sum():,} texts, {1 / len(counts):.0%} would be expected: the order is another one for every text"
    )
    advice = "Its answers say little about these texts: take a larger model, describe the classes, or show examples."
    return [Finding(CHECK, "warning", f"{found.name} answers by the position of a class", evidence, advice)]
