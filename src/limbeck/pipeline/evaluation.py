"""Room 7: judge and time the teacher and every exported model, and write the report."""

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from limbeck.artifacts.candidate import Candidate
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.report import Report, save_report
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.artifacts.whole import written_whole
from limbeck.judging.answers import judged_rows
from limbeck.judging.cascade import cascade
from limbeck.judging.run import Judgement, judge
from limbeck.progress import Reporter
from limbeck.recipe.evaluation import Evaluation
from limbeck.report.curves import training_curves
from limbeck.report.html import page
from limbeck.timing.cost import teacher_size, weighable
from limbeck.timing.costing import measure_costs
from limbeck.timing.machine import machine_facts

ROLES = ("teacher", "baseline", "student", "export")  # the order of the report


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
    teacher_int8: ModelFolder | None = None,
) -> Report:
    """Judge everything on the judged split, time what ships, and write report.json and report.html.

    `members` are the teachers that are asked whenever the teacher is: those of an ensemble, else itself. Only if each
    can be run, which a file cannot, has the teacher a size and a speed to compare with. `teacher_int8` is the teacher
    once more, as an int8 ONNX file.
    """
    ordered = sorted(candidates, key=lambda candidate: ROLES.index(candidate.role))
    rows, weighed = judged_rows(corpus), weighable(members)
    with written_whole(out, kind="report", key=key) as scratch:
        judged = judge(ordered, corpus=corpus, teacher=labels, section=section, reporter=reporter)
        costs = measure_costs(
            ordered,
            weighed=weighed,
            teacher_int8=teacher_int8,
            labels=labels,
            rows=rows,
            section=section,
            reporter=reporter,
        )
        facts = [_teacher_facts(teacher, weighed), *(_candidate_facts(candidate) for candidate in ordered)]
        models = [
            {**of_model, **of_quality, **of_cost}
            for of_model, of_quality, of_cost in zip(facts, judged.lines, costs.lines, strict=True)
        ]
        data = {
            "run": run_name,
            "corpus": _corpus_facts(corpus),
            "judged_split": corpus.judged_split,
            "judged_rows": len(rows),
            "machine": machine_facts(threads=section.threads),
            "models": models,
            "teacher_int8": costs.teacher_int8,
            "transfer": transfer,
            "augmentation": augmentation,
            "cascade": _cascade(judged, models, split=corpus.judged_split),
            "worst_errors": judged.worst_errors,
            "curves": training_curves(ordered),
        }
        save_report(scratch, data=data, page=page(data))
    return Report(out)


def _cascade(judged: Judgement, models: Sequence[Mapping[str, Any]], *, split: str) -> dict[str, Any] | None:
    """The student where it is sure, else the teacher; None without a student, or where the teacher was silent."""
    if judged.main is None or judged.duel is None:
        return None
    teacher, student = models[0], models[1 + judged.main]
    times = {"teacher_ms": _p50(teacher), "student_ms": _p50(student)}
    return {
        "student": student["name"],
        "chosen_on": "dev" if judged.dev_duel else split,
        **cascade(judged.duel, dev=judged.dev_duel, **times),
    }


def _p50(entry: Mapping[str, Any]) -> float | None:
    return float(entry["latency_ms"]["p50"]) if entry["latency_ms"] else None


def _teacher_facts(teacher: TeacherFolder, weighed: Sequence[TeacherFolder]) -> dict[str, Any]:
    facts = teacher.facts
    return {
        "name": facts.name if facts.kind in ("student", "ensemble") else _last_name(facts.name),
        "role": "teacher",
        "kind": facts.kind,
        **({"members": [_last_name(name) for name in facts.members]} if facts.kind == "ensemble" else {}),
        "precision": facts.precision,
        **({"exported": True} if weighed and all(member.is_exported for member in weighed) else {}),
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
