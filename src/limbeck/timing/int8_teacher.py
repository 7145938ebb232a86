"""The teacher as an int8 ONNX file: how often it says what the teacher said, and what it costs."""

import numpy as np

from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.rows import Rows, runtime_rows
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.judging.metrics import share_equal
from limbeck.progress import Reporter
from limbeck.runtime.classifier import load
from limbeck.timing.clock import Subject, Timing
from limbeck.timing.cost import Cost, engine_of, seconds
from limbeck.timing.work import spread
from limbeck.training.skill import predicted

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
