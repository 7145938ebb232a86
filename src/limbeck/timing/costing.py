"""Timing the teacher, its int8 file and every candidate side by side, and all cost keys of the report."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from limbeck.artifacts.candidate import Candidate
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.rows import Rows, runtime_rows
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.progress import Reporter
from limbeck.recipe.evaluation import Evaluation
from limbeck.runtime.row import Row
from limbeck.timing.clock import Subject, time_models
from limbeck.timing.cost import Cost, engine_of, seconds, teacher_subject, with_speedups
from limbeck.timing.int8_teacher import int8_agreement, int8_cost, int8_subject
from limbeck.timing.work import candidate_work, teacher_work

SEED_OF_TIMED_TEXTS = 0


@dataclass(frozen=True)
class Costs:
    """What everyone takes."""

    lines: list[Cost]  # the teacher, which is all its members, then each candidate
    teacher_int8: Cost | None


def measure_costs(
    candidates: Sequence[Candidate],
    *,
    weighed: Sequence[TeacherFolder],
    teacher_int8: ModelFolder | None,
    labels: TeacherLabels,
    rows: Rows,
    section: Evaluation,
    reporter: Reporter,
) -> Costs:
    """Everything that can be run, over the same texts; `weighed` are the members of the teacher, if all can be run."""
    agreement = int8_agreement(teacher_int8, labels=labels, rows=rows, reporter=reporter) if teacher_int8 else None
    int8 = teacher_int8 if agreement else None
    subjects = [*map(teacher_subject, weighed), *map(_subject, candidates), *([int8_subject(int8)] if int8 else [])]
    timings = time_models(section, subjects=subjects, rows=timed_rows(rows), reporter=reporter)
    of_teacher, of_others = timings[: len(weighed)], timings[len(weighed) :]
    teacher = {"engine": _engine(subjects[: len(weighed)]), **seconds(of_teacher), **teacher_work(weighed, rows)}
    others = [
        {"engine": engine_of(_subject(candidate)), **seconds([timing]), **candidate_work(candidate, rows)}
        for candidate, timing in zip(candidates, of_others, strict=False)  # the last timing may be the int8 file's
    ]
    of_int8 = int8_cost(int8, agreement, of_others[-1]) if int8 and agreement else None
    lines = [with_speedups(cost, teacher=teacher, int8=of_int8) for cost in (teacher, *others)]
    return Costs(lines=lines, teacher_int8=of_int8)


def _engine(members: Sequence[Subject]) -> str | None:
    """What runs a teacher; of an ensemble each engine once; None where it cannot be run."""
    return " and ".join(dict.fromkeys(map(engine_of, members))) or None


def timed_rows(rows: Rows) -> list[Row]:
    """The rows in an order that has nothing to do with their place in the file, the same for every model and run."""
    texts = runtime_rows(rows)
    return [texts[place] for place in np.random.default_rng(SEED_OF_TIMED_TEXTS).permutation(len(texts))]


def _subject(candidate: Candidate) -> Subject:
    folder, facts = candidate.shipped.folder, candidate.shipped.facts()
    return Subject(name=candidate.name, kind="model", folder=folder, max_length=facts.max_length)
