"""Room 7: judge and time the teacher and every exported model, and write the report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key, file_digest
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.report import Report, save_report
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.artifacts.whole import written_whole
from limbeck.evaluation.clock import Subject, time_models
from limbeck.evaluation.cost import seconds, teacher_size, teacher_subject, weighable, with_speedup
from limbeck.evaluation.html import page
from limbeck.evaluation.machine import machine_facts
from limbeck.evaluation.quality import (
    Answers,
    TeacherAnswers,
    answers_of,
    gain,
    judged_rows,
    quality,
    runtime_rows,
)
from limbeck.progress import Reporter
from limbeck.recipe.evaluation import Evaluation
from limbeck.runtime.row import Row

ROLES = ("teacher", "baseline", "student", "export")  # the order of the report
SEED_OF_TIMED_TEXTS = 0
CURVE_KEYS = ("epoch", "loss", "dev_accuracy")


@dataclass(frozen=True)
class Candidate:
    """One line of the report: a student or baseline in one precision, exported once per seed."""

    name: str  # "bilstm", "bilstm-alone", "bilstm-int8"
    role: str  # "baseline", "student" or "export"
    exports: dict[int, ModelFolder]  # seed → exported model
    shipped: ModelFolder  # the copy that ships
    students: dict[int, StudentFolder]  # seed → trained student, for its training curve


def evaluate(
    section: Evaluation,
    *,
    corpus: Corpus,
    transfer: Mapping[str, Any] | None,
    augmentation: Mapping[str, Any] | None,
    teacher: TeacherFolder,
    members: Sequence[TeacherFolder],
    labels: TeacherLabels,
    candidates: Sequence[Candidate],
    run_name: str,
    out: Path,
    key: Key,
    reporter: Reporter,
) -> Report:
    """Judge everything on the judged split, time what ships, and write report.json and report.html.

    `members` are the teachers that are asked whenever the teacher is: an encoder itself, those of an ensemble, none
    for a file. Only if all are encoders has the teacher a size and a speed to compare with.
    """
    ordered = sorted(candidates, key=lambda candidate: ROLES.index(candidate.role))
    rows, weighed = judged_rows(corpus), weighable(members)
    with written_whole(out, kind="report", key=key) as scratch:
        judged = _judged(ordered, corpus=corpus, teacher=labels, rows=rows, section=section, reporter=reporter)
        costs = _costs(ordered, weighed=weighed, rows=rows, section=section, reporter=reporter)
        facts = [_teacher_facts(teacher, weighed), *(_candidate_facts(candidate) for candidate in ordered)]
        models = [
            {**of_model, **of_quality, **of_cost}
            for of_model, of_quality, of_cost in zip(facts, judged, costs, strict=True)
        ]
        data = {
            "run": run_name,
            "corpus": _corpus_facts(corpus),
            "judged_split": corpus.judged_split,
            "judged_rows": len(rows),
            "machine": machine_facts(threads=section.threads),
            "models": models,
            "transfer": transfer,
            "augmentation": augmentation,
            "curves": _curves(ordered),
        }
        save_report(scratch, data=data, page=page(data))
    return Report(out)


def timed_rows(rows: Rows) -> list[Row]:
    """The rows in an order that has nothing to do with their place in the file, the same for every model and run."""
    texts = runtime_rows(rows)
    return [texts[place] for place in np.random.default_rng(SEED_OF_TIMED_TEXTS).permutation(len(texts))]


def _judged(
    candidates: Sequence[Candidate],
    *,
    corpus: Corpus,
    teacher: TeacherLabels,
    rows: Rows,
    section: Evaluation,
    reporter: Reporter,
) -> list[dict[str, Any]]:
    """The quality of the teacher, on the rows it said something of; then of every candidate, on all rows."""
    known, samples = TeacherAnswers.of(teacher, rows), section.bootstrap_samples
    total = len(rows) * sum(len(candidate.exports) for candidate in candidates)
    with reporter.bar("judging", total=total, unit="rows") as bar:
        answers = [answers_of(candidate.exports, rows=rows, bar=bar) for candidate in candidates]
    baseline = next((said for said, who in zip(answers, candidates, strict=True) if who.role == "baseline"), None)
    lines = [quality(said, names=corpus.labels, samples=samples) for said in (known.answers, *answers)]
    lines[0] |= {"teacher_agreement": 1.0 if len(known.places) else None, "judged_rows": len(known.places)}
    for line, said, candidate in zip(lines[1:], answers, candidates, strict=True):
        line |= {**known.compared(said), **_shipped(candidate, said)}
        if candidate.role != "baseline":
            line["gain_over_baseline"] = gain(said, baseline=baseline, samples=samples)
    return [{**line, **_positive_f1(line, corpus)} for line in lines]


def _positive_f1(line: Mapping[str, Any], corpus: Corpus) -> dict[str, Any]:
    """The F1 of the second class, which is what people mean by the F1 of a corpus of equal and unequal pairs."""
    if not corpus.is_pair or corpus.is_multi_label or len(corpus.labels) != 2:
        return {}
    return {"f1_positive": line["per_class"][1]["f1"] if line["per_class"] else None}


def _shipped(candidate: Candidate, answers: Answers) -> dict[str, Any]:
    """Which seed's copy ships, and its accuracy: told by the file itself."""
    shipped = file_digest(candidate.shipped.graph)
    for (seed, export), accuracy in zip(candidate.exports.items(), answers.accuracies, strict=True):
        if file_digest(export.graph) == shipped:
            return {"seeds": list(candidate.exports), "shipped_seed": seed, "shipped_accuracy": accuracy}
    return {"seeds": list(candidate.exports), "shipped_seed": None, "shipped_accuracy": None}


def _costs(
    candidates: Sequence[Candidate],
    *,
    weighed: Sequence[TeacherFolder],
    rows: Rows,
    section: Evaluation,
    reporter: Reporter,
) -> list[dict[str, Any]]:
    """The time of the teacher, which is that of all its members, then of every candidate."""
    subjects = [*map(teacher_subject, weighed), *map(_subject, candidates)]
    timings = time_models(section, subjects=subjects, rows=timed_rows(rows), reporter=reporter)
    teacher = seconds(timings[: len(weighed)])
    costs = [teacher, *(seconds([timing]) for timing in timings[len(weighed) :])]
    return [with_speedup(cost, teacher=teacher) for cost in costs]


def _subject(candidate: Candidate) -> Subject:
    folder, facts = candidate.shipped.folder, candidate.shipped.facts()
    return Subject(name=candidate.name, kind="model", folder=folder, max_length=facts.max_length)


def _teacher_facts(teacher: TeacherFolder, weighed: Sequence[TeacherFolder]) -> dict[str, Any]:
    facts = teacher.facts
    return {
        "name": _last_name(facts.name),
        "role": "teacher",
        "kind": facts.kind,
        **({"members": [_last_name(name) for name in facts.members]} if facts.kind == "ensemble" else {}),
        "precision": facts.precision,
        **teacher_size(weighed),
        "dev_accuracy": facts.dev_accuracy,
    }


def _last_name(name: str) -> str:
    """The last part of a checkpoint's or file's name: a path in front would tell about the machine."""
    return PurePosixPath(name).name or name


def _candidate_facts(candidate: Candidate) -> dict[str, Any]:
    facts = candidate.shipped.facts()
    folder = candidate.shipped.folder
    return {
        "name": candidate.name,
        "role": candidate.role,
        "kind": facts.kind,
        "precision": facts.precision,
        "parameters": facts.parameters,
        "parameters_without_embeddings": facts.parameters_without_embeddings,
        "size_mb": candidate.shipped.size_mb(),
        "folder": f"{folder.parent.name}/{folder.name}",  # within the run
    }


def _corpus_facts(corpus: Corpus) -> dict[str, Any]:
    rows = {split: len(rows) for split, rows in corpus.splits.items()}
    return {**corpus.facts, "multi_label": corpus.is_multi_label, "rows": rows}


def _curves(candidates: Sequence[Candidate]) -> list[dict[str, Any]]:
    """The history of every trained student once, however many files were exported from it."""
    curves: dict[tuple[str, int], dict[str, Any]] = {}
    for candidate in candidates:
        for seed, student in candidate.students.items():
            facts = student.facts
            epochs = [{key: epoch[key] for key in CURVE_KEYS} for epoch in student.history]
            curve = {"name": facts.name, "role": facts.role, "seed": seed, "epochs": epochs}
            curves.setdefault((facts.name, seed), curve)
    return list(curves.values())
