"""The report: the teacher and every exported model evaluated and timed."""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from statistics import mean
from typing import Any

import numpy as np

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.candidate import Candidate, RefusedCandidate
from limbeck.artifacts.corpus import Corpus, rarest_and_most_frequent
from limbeck.artifacts.foreign import Foreign
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.predictions import save_predictions
from limbeck.artifacts.report import Report, save_report, save_right_rows
from limbeck.artifacts.run_folder import RunFolder
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.export.teacher import can_be_exported, export_teacher
from limbeck.judging.answers import judged_rows
from limbeck.judging.cascade import cascade
from limbeck.judging.rival import NAME, RivalFolder, make_rival
from limbeck.judging.run import Judgement, chance, example_row, judge
from limbeck.judging.score_cascade import score_cascade
from limbeck.judging.scores import judge_scores, mean_score
from limbeck.pipeline.corrections import compared_with_before
from limbeck.pipeline.predictions import label_names, predictions_of
from limbeck.progress import Reporter
from limbeck.recipe.evaluation import Evaluation
from limbeck.recipe.no_teacher import NONE
from limbeck.recipe.recipe import Recipe
from limbeck.report.html import page
from limbeck.teacher.kinds import kind_of
from limbeck.timing.costs import measure_costs, runnable, teacher_size
from limbeck.timing.machine import machine_facts

ROLES = ("baseline", "student", "export")  # the order of the report, after teacher and rival
STILL_LEARNING = "still learning when its training ended: more epochs (teacher.epochs) may make it better"


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
    rival: RivalFolder | None = None,
    max_size_mb: float | None = None,
    corrections: Mapping[str, Any] | None = None,
    labelled_by: Mapping[str, Any] | None = None,
    refused: Sequence[RefusedCandidate] = (),
    foreign: Foreign | None = None,
    taught: Mapping[str, int] | None = None,
) -> Report:
    """Evaluate all models on the judged split, time them, and write report.json and report.html.

    `members` are the teachers that give the answers: the members of an ensemble, or the teacher itself. The report has
    the teacher's size and speed only if every member can be run; a label file cannot. `teacher_int8` is the teacher as
    an int8 ONNX file. The best candidate is chosen among those that are not larger than `max_size_mb`. Of the
    `refused` ones, which are left out, the report says why. `corrections` is what a review of an earlier run has
    changed in the corpus. `foreign` are rows that belong to no class, which the best model should give no label;
    `taught` says how many others of each source students have learned.
    """
    ordered = sorted(candidates, key=lambda candidate: ROLES.index(candidate.role))
    rows, runnable_members = judged_rows(corpus), runnable(members)
    with written_atomically(out, kind="report", key=key) as scratch:
        judged = _judged(
            ordered,
            corpus=corpus,
            teacher=labels,
            section=section,
            reporter=reporter,
            rival=rival,
            limit=max_size_mb,
            foreign=foreign,
        )
        costs = measure_costs(
            ordered,
            members=runnable_members,
            teacher_int8=teacher_int8,
            labels=labels,
            rows=rows,
            section=section,
            reporter=reporter,
            rival=rival,
        )
        facts = [
            _teacher_facts(teacher, members, runnable_members),
            *([_rival_facts(rival)] if rival else []),
            *(_candidate_facts(candidate) for candidate in ordered),
        ]
        models = [
            {**of_model, **of_quality, **of_cost}
            for of_model, of_quality, of_cost in zip(facts, judged.lines, costs.lines, strict=True)
        ]
        if teacher.facts.kind == NONE:
            models = models[1:]
            judged = replace(judged, lines=judged.lines[1:], answers=judged.answers[1:], right=judged.right[1:])
        data = {
            "run": run_name,
            "corpus": _corpus_facts(corpus),
            "judged_split": corpus.judged_split,
            "judged_rows": len(rows),
            "machine": machine_facts(threads=section.threads),
            "models": models,
            "best": judged.best,
            "choice": judged.choice,
            "refused": [one.as_json() for one in refused],
            "chance": chance(corpus, rows) if corpus.task.has_classes else mean_score(corpus, rows),
            "example": example_row(rows),
            "teacher_int8": costs.teacher_int8,
            "transfer": transfer,
            "augmentation": augmentation,
            "cascade": None,
            "score_cascade": None,
            **_cascade(judged, models[0], models[-len(ordered) :], corpus=corpus, at=section.score_threshold),
            "worst_errors": judged.worst_errors,
            "abstaining": judged.abstaining,
            "taught_foreign": taught,
            "largest_residuals": judged.largest_residuals,
            "slices": _slices(judged, models[-len(ordered) :]),
            "curves": training_curves(ordered),
        }
        judged_lines = zip(models, judged.right, strict=True)
        right = {model["name"]: found.tolist() for model, found in judged_lines if found is not None}
        keys, names = [key.tobytes() for key in rows.keys], label_names(rows, corpus)
        save_right_rows(scratch, right, keys=keys, labels=names)
        predictions = predictions_of([model["name"] for model in models], judged, corpus)
        save_predictions(
            scratch, predictions, rows=rows, labels=names, classes=corpus.labels, multi_label=corpus.is_multi_label
        )
        data["corrections"] = compared_with_before(corrections, models=models, best=judged.best, report=scratch)
        data["labelled_by"] = labelled_by
        save_report(scratch, data=data, page=page(data))
    return Report(out)


def _judged(
    candidates: Sequence[Candidate], *, corpus: Corpus, limit: float | None, foreign: Any, **inputs: Any
) -> Judgement:
    if not corpus.task.has_classes:
        return judge_scores(candidates, corpus=corpus, max_size_mb=limit, **inputs)
    return judge(candidates, corpus=corpus, by=_chosen_by(corpus), max_size_mb=limit, foreign=foreign, **inputs)


def rival_of(recipe: Recipe, corpus: Corpus, run: RunFolder) -> RivalFolder | None:
    """The rival of the students, trained once for a corpus; None if the recipe does not ask for it."""
    if not recipe.evaluation.rival:
        return None
    return run.step(
        "rival",
        kind="rival",
        key=Key(section={}, inputs={"corpus": corpus.fingerprint}),
        load=RivalFolder,
        make=lambda out, key: make_rival(corpus, out=out, key=key, reporter=run.reporter),
    )


def _chosen_by(corpus: Corpus) -> str:
    """What the best model is chosen by; with uneven classes, accuracy would hardly count the rare ones."""
    counts = corpus.facts.get("rows_per_label", {}).get("train", {})
    return "macro F1" if corpus.is_multi_label or rarest_and_most_frequent(counts) else "accuracy"


def _cascade(
    judged: Judgement,
    teacher: Mapping[str, Any],
    others: Sequence[Mapping[str, Any]],
    *,
    corpus: Corpus,
    at: float | None,
) -> dict[str, Any]:
    """The student where it is confident, else the teacher; of scores where they are far from the threshold `at`.
    Nothing without a student or without answers of the teacher."""
    if judged.main is None or judged.paired is None:
        return {}
    student = others[judged.main]
    known: dict[str, Any] = {"dev": judged.dev_paired, "teacher_ms": _p50(teacher), "student_ms": _p50(student)}
    about = {"student": student["name"], "chosen_on": "dev" if judged.dev_paired else corpus.judged_split}
    if corpus.scale is None:
        return {"cascade": {**about, **cascade(judged.paired, **known)}}
    assert at is not None, "answers are paired where there is a threshold"
    span = corpus.scale.span
    return {"score_cascade": {**about, **score_cascade(judged.paired, threshold=at, span=span, **known)}}


def _slices(judged: Judgement, others: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The slices of the main candidate, with its name."""
    if judged.main is None or judged.slices is None:
        return None
    return {"model": others[judged.main]["name"], **judged.slices}


def _p50(entry: Mapping[str, Any]) -> float | None:
    return float(entry["latency_ms"]["p50"]) if entry["latency_ms"] else None


def _teacher_facts(
    teacher: TeacherFolder, members: Sequence[TeacherFolder], runnable_members: Sequence[TeacherFolder]
) -> dict[str, Any]:
    facts = teacher.facts
    reasons = [reason for member in members if (reason := kind_of(member.facts).advice.cost_unknown)]
    of_member = "a member of it" if facts.members else "it"
    return {
        "name": kind_of(facts).report_name(facts),
        "role": "teacher",
        "kind": facts.kind,
        **({"members": [PurePosixPath(name).name for name in facts.members]} if facts.members else {}),
        "precision": facts.precision,
        **({"exported": True} if runnable_members and all(member.is_exported for member in runnable_members) else {}),
        **({"cost_unknown": f"{of_member} is {reasons[0]}"} if reasons and not runnable_members else {}),
        **teacher_size(runnable_members),
        "dev_accuracy": facts.dev_accuracy,
        **({} if facts.dev_spearman is None else {"dev_spearman": facts.dev_spearman}),
        **({"remarks": [STILL_LEARNING]} if any(member.facts.still_learning for member in members) else {}),
    }


def _rival_facts(rival: RivalFolder) -> dict[str, Any]:
    return {
        "name": NAME,
        "role": "rival",
        "kind": NAME,
        "precision": "fp64",
        "parameters_without_embeddings": None,
        **{key: rival.facts[key] for key in ("parameters", "size_mb", "train_rows", "of_train_rows")},
    }


def _candidate_facts(candidate: Candidate) -> dict[str, Any]:
    facts = candidate.shipped.facts()
    folder = candidate.shipped.folder
    return {
        "name": candidate.name,
        "role": candidate.role,
        "kind": facts.kind,
        **({"members": [member.folder for member in facts.members]} if facts.members else {}),
        "precision": facts.precision,
        "parameters": facts.parameters,
        "parameters_without_embeddings": facts.parameters_without_embeddings,
        "size_mb": candidate.shipped.size_mb(),
        **_pruned(candidate),
        "folder": f"{folder.parent.name}/{folder.name}",  # within the run
        **({"remarks": remarks} if (remarks := _remarks(candidate)) else {}),
    }


def _remarks(candidate: Candidate) -> list[str]:
    """What was found out about its students while they were trained."""
    weak = {seed: student.facts.near_chance for seed, student in candidate.students.items()}
    found = [f"hardly better on dev than guessing, seed {seed}: {why}" for seed, why in weak.items() if why]
    if pruned := _pruned(candidate):
        sizes = f"packed (zip) it has {pruned['packed_mb']:.2f} MB, and unpacked as many as without"
        found.append(f"{pruned['sparsity']:.1%} of its weights are zero: {sizes}")
    return found


def _pruned(candidate: Candidate) -> dict[str, float]:
    """The share of zeros in its weights, averaged over seeds, and the size of its folder in a zip file; empty if it
    was not pruned."""
    shares = [one.facts.sparsity for one in candidate.students.values() if one.facts.sparsity is not None]
    return {"sparsity": mean(shares), "packed_mb": candidate.shipped.packed_mb()} if shares else {}


def _corpus_facts(corpus: Corpus) -> dict[str, Any]:
    rows = {split: len(rows) for split, rows in corpus.splits.items()}
    return {**corpus.facts, "multi_label": corpus.is_multi_label, "rows": rows}


FOLDER = "exports/teacher-int8"


@contextmanager
def int8_teacher(
    section: Evaluation,
    teacher: TeacherFolder,
    corpus: Corpus,
    run: RunFolder,
    *,
    kept: ModelFolder | None = None,
    members: Sequence[TeacherFolder] = (),
) -> Iterator[ModelFolder | None]:
    """The teacher as an int8 file, removed at the end: it is as large as the rest of the run, and is not shipped.

    If it is `kept` under models/, that one. None if the recipe does not ask for it, or the teacher is no encoder,
    nor several of them.
    """
    folder = run.folder / FOLDER
    try:
        if section.teacher_int8 and kept is not None:
            yield kept
        elif section.teacher_int8 and can_be_exported(teacher, members):
            yield export_teacher(
                teacher,
                language=corpus.language,
                pair=corpus.is_pair,
                precision="int8",
                out=folder,
                key=Key(section={"precision": "int8"}, inputs={"teacher": teacher.fingerprint}),
                reporter=run.reporter,
                members=members,
            )
        else:
            yield None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(folder.with_name(f"{folder.name}.partial"), ignore_errors=True)


KEYS = ("epoch", "loss", "dev_accuracy", "dev_spearman", "losses")  # accuracy of labels, Spearman of scores
MAX_POINTS = 120  # per training


def training_curves(candidates: Iterable[Candidate]) -> list[dict[str, Any]]:
    """The history of every trained student, once per student however many files were exported from it; of none that
    was finished at its start."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for candidate in candidates:
        for seed, student in candidate.students.items():
            if student.history:
                found.setdefault((student.facts.name, seed), _curve(student, seed))
    return list(found.values())


def _curve(student: StudentFolder, seed: int) -> dict[str, Any]:
    return {
        "name": student.facts.name,
        "role": student.facts.role,
        "seed": seed,
        "epochs": [{key: epoch[key] for key in KEYS if key in epoch} for epoch in student.history],
        "points": [thinned(points) for points in student.points],
    }


def thinned(points: Sequence[dict[str, float]], *, max_points: int = MAX_POINTS) -> list[dict[str, float]]:
    """At most `max_points` of the points, evenly spaced, the first and the last included."""
    positions = np.linspace(0, len(points) - 1, num=min(max_points, len(points))).round().astype(int)
    return [points[position] for position in positions]
