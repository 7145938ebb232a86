"""Timing the teacher, its int8 file and every candidate side by side, and all cost keys of the report."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from limbeck.artifacts.candidate import Candidate
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.rows import Rows, runtime_rows
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.judging.metrics import share_equal
from limbeck.progress import Reporter
from limbeck.recipe.evaluation import Evaluation
from limbeck.runtime.classifier import load
from limbeck.runtime.row import Row
from limbeck.timing.clock import Subject, Timing, time_models
from limbeck.timing.cost import Cost, engine_of, seconds, teacher_subject, with_speedups
from limbeck.timing.work import candidate_work, spread, teacher_work
from limbeck.training.skill import predicted

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


NAME = "teacher-int8"
MOST_ROWS = 256
MOST_CHARACTERS = 60_000  # of long texts fewer rows are asked: a large teacher takes seconds for a page of text
LEAST_AGREEMENT = 0.8  # below, it is another model than the teacher, and its speed says nothing


def int8_agreement(model: ModelFolder, *, labels: TeacherLabels, rows: Rows, reporter: Reporter) -> Cost | None:
    """On how many of the rows it gives the teacher's label, and how many were asked; None where it is not the teacher
    any more."""
    asked = _sample(rows.select(np.flatnonzero(labels.covers(rows.ids))))
    if not len(asked):
        return {"agreement": None, "agreement_rows": 0}
    exported = load(model.folder)
    both = labels.for_rows(asked.ids), exported.logits(runtime_rows(asked))
    multi_label = exported.facts.multi_label
    agreement = share_equal(*(predicted(said, multi_label=multi_label) for said in both))
    if agreement < LEAST_AGREEMENT:
        reporter.note(
            f"  the teacher as an int8 file says what the teacher said on {agreement:.1%} of {len(asked):,} rows "
            f"alone: it is left out"
        )
        return None
    return {"agreement": agreement, "agreement_rows": len(asked)}


def int8_subject(model: ModelFolder) -> Subject:
    """The file as something to be timed."""
    return Subject(name=NAME, kind="model", folder=model.folder, max_length=model.facts().max_length)


def int8_cost(model: ModelFolder, agreement: Cost, timing: Timing) -> Cost:
    """What the report says of it."""
    engine = engine_of(int8_subject(model))
    return {"size_mb": model.size_mb(), "engine": engine, **seconds([timing]), **agreement}


def _sample(rows: Rows) -> Rows:
    """Evenly spread; at least one where there is any."""
    if not len(rows):
        return rows
    fitting = int(MOST_CHARACTERS / max(1.0, float(np.median(rows.characters))))
    return spread(rows, most=max(1, min(MOST_ROWS, fitting)))
