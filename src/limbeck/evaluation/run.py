"""Room 7: judge and time the teacher and every exported model, and write the report."""

from collections.abc import Sequence
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
from limbeck.artifacts.transfer_text import TransferText
from limbeck.artifacts.whole import written_whole
from limbeck.evaluation.clock import Subject, Timing, time_models
from limbeck.evaluation.html import page
from limbeck.evaluation.machine import machine_facts
from limbeck.evaluation.quality import Answers, answers_of, gain, judged_rows, quality, runtime_rows
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
    transfer: TransferText | None,
    teacher: TeacherFolder,
    labels: TeacherLabels,
    candidates: Sequence[Candidate],
    run_name: str,
    out: Path,
    key: Key,
    reporter: Reporter,
) -> Report:
    """Judge everything on the judged split, time what ships, and write report.json and report.html."""
    ordered = sorted(candidates, key=lambda candidate: ROLES.index(candidate.role))
    rows = judged_rows(corpus)
    with written_whole(out, kind="report", key=key) as scratch:
        judged = _judged(ordered, teacher=labels, rows=rows, names=corpus.labels, section=section, reporter=reporter)
        subjects = [_teacher_subject(teacher), *(_subject(candidate) for candidate in ordered)]
        timings = time_models(section, subjects=subjects, rows=timed_rows(rows), reporter=reporter)
        facts = [_teacher_facts(teacher), *(_candidate_facts(candidate) for candidate in ordered)]
        models = [
            {**of_model, **of_quality, **_cost(timing, teacher=timings[0])}
            for of_model, of_quality, timing in zip(facts, judged, timings, strict=True)
        ]
        data = {
            "run": run_name,
            "corpus": _corpus_facts(corpus),
            "judged_split": corpus.judged_split,
            "judged_rows": len(rows),
            "machine": machine_facts(threads=section.threads),
            "models": models,
            "transfer": transfer.quality if transfer else None,
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
    teacher: TeacherLabels,
    rows: Rows,
    names: Sequence[str],
    section: Evaluation,
    reporter: Reporter,
) -> list[dict[str, Any]]:
    """The quality of the teacher, then of every candidate."""
    teacher_answers = Answers(labels=rows.labels, logits=teacher.for_rows(rows.ids)[np.newaxis])
    total = len(rows) * sum(len(candidate.exports) for candidate in candidates)
    with reporter.bar("judging", total=total, unit="rows") as bar:
        answers = [answers_of(candidate.exports, rows=rows, bar=bar) for candidate in candidates]
    baseline = next((said for said, who in zip(answers, candidates, strict=True) if who.role == "baseline"), None)
    samples = section.bootstrap_samples
    lines = [
        quality(said, teacher=teacher_answers, names=names, samples=samples) for said in (teacher_answers, *answers)
    ]
    for line, said, candidate in zip(lines[1:], answers, candidates, strict=True):
        line |= _shipped(candidate, said)
        if candidate.role != "baseline":
            line["gain_over_baseline"] = gain(said, baseline=baseline, samples=samples)
    return lines


def _shipped(candidate: Candidate, answers: Answers) -> dict[str, Any]:
    """Which seed's copy ships, and its accuracy: told by the file itself."""
    shipped = file_digest(candidate.shipped.graph)
    for (seed, export), accuracy in zip(candidate.exports.items(), answers.accuracies, strict=True):
        if file_digest(export.graph) == shipped:
            return {"seeds": list(candidate.exports), "shipped_seed": seed, "shipped_accuracy": accuracy}
    return {"seeds": list(candidate.exports), "shipped_seed": None, "shipped_accuracy": None}


def _teacher_subject(teacher: TeacherFolder) -> Subject:
    return Subject(name="teacher", kind="teacher", folder=teacher.folder, max_length=teacher.facts.max_length)


def _subject(candidate: Candidate) -> Subject:
    folder, facts = candidate.shipped.folder, candidate.shipped.facts()
    return Subject(name=candidate.name, kind="model", folder=folder, max_length=facts.max_length)


def _teacher_facts(teacher: TeacherFolder) -> dict[str, Any]:
    """The checkpoint's last name stands for it: a path in front would tell about the machine."""
    facts = teacher.facts
    weights = sum(path.stat().st_size for path in teacher.folder.rglob("*.safetensors"))
    return {
        "name": PurePosixPath(facts.name).name or facts.name,
        "role": "teacher",
        "kind": "encoder",
        "precision": facts.precision,
        "parameters": facts.parameters,
        "parameters_without_embeddings": facts.parameters_without_embeddings,
        "size_mb": weights / 1e6,
        "dev_accuracy": facts.dev_accuracy,
    }


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


def _cost(timing: Timing, *, teacher: Timing) -> dict[str, Any]:
    return {
        "latency_ms": {"p50": timing.p50_ms, "p95": timing.p95_ms, "samples": len(timing.samples_ms)},
        "rows_per_second": timing.rows_per_second,
        "speedup_over_teacher": teacher.p50_ms / timing.p50_ms,
    }


def _corpus_facts(corpus: Corpus) -> dict[str, Any]:
    return {**corpus.facts, "rows": {split: len(rows) for split, rows in corpus.splits.items()}}


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
