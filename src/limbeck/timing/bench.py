"""`limbeck bench`: which models are compared, on which texts, and the results as numbers.

The protocol is that of the report (`protocol.py`), tuned for steady-state speed rather than for a short run: eight
rounds, as many calls as the seconds allow, repeated texts, and uncounted calls at the start of each turn. The base
install is enough; only the process of a teacher loads PyTorch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

from limbeck.artifacts.model_folder import CARD, ModelFolder, open_model
from limbeck.artifacts.report import made_after_report
from limbeck.artifacts.run_folder import Run
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.errors import ArtifactError, ArtifactMissing, DependencyMissing, EngineUnusable, in_shell, some
from limbeck.progress import Reporter
from limbeck.runtime.classifier import Classifier
from limbeck.runtime.engine import EngineChoice
from limbeck.runtime.row import Row, characters
from limbeck.timing.machine import machine_facts, usable_cores
from limbeck.timing.protocol import Case, CasePlan, Subject, TimedModel, time_models
from limbeck.timing.texts import TextFile, file_rows, mixed, own_rows

Result = dict[str, Any]
EngineOfBench = EngineChoice | Literal["all"]

ROUNDS = 8
SETTLING_SECONDS = 0.02
MOST_SECONDS_PER_CALL = 30.0
PERCENTILES = {"p50": 50, "p95": 95, "p99": 99}
EVERY_ENGINE: tuple[EngineChoice, ...] = ("onnx", "native")
TEACHER_ADVICE = (
    "Give a Hugging Face folder with config.json and weights, the teacher of a run (runs/NAME/teacher), or a model."
)


class ModelsNotAlike(ArtifactError):
    """Models that read one text per row and models that read two cannot be timed on the same rows."""

    def __init__(self, *, of_pairs: Sequence[str], of_single_texts: Sequence[str]) -> None:
        self.of_pairs, self.of_single_texts = tuple(of_pairs), tuple(of_single_texts)
        super().__init__(
            "models of single texts and models of pairs cannot be timed on the same rows",
            found=f"single texts: {some(of_single_texts)}; pairs: {some(of_pairs)}",
            advice="Time them in two calls.",
        )


def bench(
    models: Sequence[Path],
    *,
    reporter: Reporter,
    teacher: Path | None = None,
    texts: TextFile | None = None,
    engine: EngineOfBench = "auto",
    threads: Sequence[int] = (),
    batches: Sequence[int] = (32, 256),
    seconds: float = 2.0,
) -> Result:
    """Time models, from text to label, and compute how much faster each is than the teacher, or than the slowest.

    `models` are folders of exported models, or of runs; without `threads`, they are timed on one thread and on all
    usable CPUs. `seconds` is how long each model is timed in each case.
    """
    subjects = subjects_of(models, teacher=teacher, engine=engine, reporter=reporter)
    rows = _rows(subjects, texts)
    counts = sorted({*threads} or {1, usable_cores()})
    plans = bench_plans(mixed(rows), threads=counts, batches=sorted({1, *batches}), seconds=seconds)
    timed = time_models(subjects, plans=plans, rounds=ROUNDS, reporter=reporter)
    return {
        "machine": machine_facts(threads=counts[0]),
        "texts": _text_facts(rows, texts),
        "seconds": seconds,
        **compared(subjects, timed),
    }


def bench_plans(
    rows: Sequence[Row], *, threads: Sequence[int], batches: Sequence[int], seconds: float
) -> list[CasePlan]:
    """Every batch size on every number of threads, each for `seconds` per model.

    All models go through the rows in order, each as far as its seconds allow. With one row per call, a model has a turn
    in every round, however slow it is: percentiles of fewer calls would be meaningless.
    """
    return [
        CasePlan(
            Case(count, batch),
            texts=[rows],
            seconds=seconds / ROUNDS,
            every_round=batch == 1,
            most_seconds_per_call=MOST_SECONDS_PER_CALL,
            settling_seconds=SETTLING_SECONDS,
        )
        for count in threads
        for batch in batches
    ]


def compared(subjects: Sequence[Subject], timed: Sequence[TimedModel]) -> Result:
    """The numbers of every model, and how many times faster than the reference it is in each case."""
    place = _reference(subjects, timed)
    reference, name = timed[place], subjects[place].name
    is_one = [one.name for one in subjects].count(name) == 1
    return {
        "measured_by": name if is_one else f"{name} on {reference.engine}",
        "models": [_line(one, its, reference) for one, its in zip(subjects, timed, strict=True)],
    }


def _line(subject: Subject, timed: TimedModel, reference: TimedModel) -> Result:
    return {
        "name": subject.name,
        "engine": timed.engine,
        "folder": str(subject.folder),
        "size_mb": round(subject.size_mb, 2),
        "cases": [_case(case, timed, reference) for case in timed.cases],
    }


def _case(case: Case, timed: TimedModel, reference: TimedModel) -> Result:
    timing, other = timed.cases[case], reference.cases.get(case)
    return {
        "threads": case.threads,
        "batch": case.batch,
        "call_ms": {name: timing.percentile(share) for name, share in PERCENTILES.items()},
        "calls": len(timing.samples_ms),
        "rows_per_second": timing.rows_per_second,
        "times_faster": other.percentile(50) / timing.percentile(50) if other else None,
    }


def _reference(subjects: Sequence[Subject], timed: Sequence[TimedModel]) -> int:
    """Index of the first teacher; without one, of the model that is slowest on one text."""
    for place, subject in enumerate(subjects):
        if subject.is_teacher:
            return place
    first = next(iter(timed[0].cases))
    return int(np.argmax([its.cases[first].percentile(50) for its in timed]))


def _rows(subjects: Sequence[Subject], texts: TextFile | None) -> list[Row]:
    pair = any(one.pair for one in subjects)
    if texts is not None:
        return file_rows(texts, pair=pair)
    language = next((one.language for one in subjects if one.language), "en")
    return own_rows(language, pair=pair)


def _text_facts(rows: Sequence[Row], texts: TextFile | None) -> Result:
    return {
        "source": str(texts.path) if texts else "built in",
        "count": len(rows),
        "pairs": not isinstance(rows[0], str),
        "median_characters": int(np.median([characters(row) for row in rows])),
    }


def subjects_of(
    paths: Sequence[Path], *, teacher: Path | None, engine: EngineOfBench, reporter: Reporter
) -> list[Subject]:
    """All models at these paths, the teacher first; for a run, all its models and its teacher."""
    given = [_given_teacher(teacher)] if teacher else []
    runs = [path for path in paths if (path / "run.json").is_file()]
    own = [found for run in runs if (found := _run_teacher(run, reporter=reporter))] if not teacher else []
    models = {
        folder.resolve(): folder
        for path in paths
        for folder in (_models_of(path, reporter=reporter) if path in runs else [path])
    }
    exported = [one for folder in models.values() for one in _on_engines(open_model(folder), engine=engine)]
    subjects = _renamed([*given, *own, *exported])
    _refuse_mixed(subjects)
    return subjects


def _models_of(run: Path, *, reporter: Reporter) -> list[Path]:
    """The models that ship. They are timed even if the run changed since, with a note that they are older."""
    models = Run(run).models
    folders = [folder for name, folder in models.items() if name != "best" or len(models) == 1]  # a copy of another
    if not folders:
        reason, advice = "it has no models yet", f"Continue with: limbeck run {in_shell(run)}"
        raise ArtifactMissing(folder=run, kind="run with models", reason=reason, advice=advice)
    if changed := made_after_report(run):
        reporter.note(
            f"  {run.name} was changed and not finished: its models are from before that ({some(changed)} "
            f"{'is' if len(changed) == 1 else 'are'} newer). Continue with: limbeck run {in_shell(run)}"
        )
    return folders


def _on_engines(model: ModelFolder, *, engine: EngineOfBench) -> Iterator[Subject]:
    """The model on the requested engine; or on each engine that can run it."""
    facts = model.facts()
    subject = Subject(
        name=model.folder.resolve().name,
        kind="model",
        folder=model.folder,
        language=facts.language,
        pair=facts.pair,
        max_length=facts.max_length,
    )
    if engine == "auto":
        yield subject
        return
    for one in EVERY_ENGINE if engine == "all" else (engine,):
        try:
            if one == "native":
                Classifier(model, threads=1, engine=one)  # raises here, before any process is started
            yield replace(subject, engine=one)
        except EngineUnusable:
            if engine != "all":
                raise


def _given_teacher(folder: Path) -> Subject:
    """The model in the folder of --teacher. Raises if it cannot be run, or not on this machine."""
    if (folder / "teacher.json").is_file():
        teacher = TeacherFolder(folder)
        if not teacher.is_runnable:
            reason = f"it is of the kind '{teacher.facts.kind}', which cannot be run"
            raise ArtifactMissing(folder=folder, kind="teacher to time", reason=reason, advice=TEACHER_ADVICE)
        subject = _of_run(teacher)
    elif (folder / CARD).is_file():
        (subject,) = _on_engines(open_model(folder), engine="auto")
    elif (folder / "config.json").is_file():
        subject = Subject(name=folder.resolve().name, kind="teacher", folder=folder)
    else:
        reason = "it has no config.json" if folder.is_dir() else "there is no such folder"
        raise ArtifactMissing(folder=folder, kind="teacher", reason=reason, advice=TEACHER_ADVICE)
    if missing := _missing_package(subject):
        raise DependencyMissing(package=missing, purpose="limbeck bench --teacher", extra="train")
    return replace(subject, is_teacher=True)


def _run_teacher(run: Path, *, reporter: Reporter) -> Subject | None:
    """The teacher of a run; None, with a note why, if it cannot be run here."""
    if not (run / "teacher" / "teacher.json").is_file():
        reporter.note(f"  {run.name} is timed without its teacher: it has no teacher folder")
        return None
    teacher = TeacherFolder(run / "teacher")
    if not teacher.is_runnable:
        reporter.note(
            f"  {run.name} is timed without its teacher: one of the kind '{teacher.facts.kind}' cannot be run"
        )
        return None
    subject = _of_run(teacher)
    if missing := _missing_package(subject):
        reporter.note(
            f"  {run.name} is timed without its teacher: '{missing}' is missing, pip install 'limbeck[train]'"
        )
        return None
    return replace(subject, is_teacher=True)


def _of_run(teacher: TeacherFolder) -> Subject:
    facts = teacher.facts
    kind = "teacher" if teacher.is_encoder else "student"
    name = Path(facts.name).name or facts.name
    return Subject(name=name, kind=kind, folder=teacher.folder, max_length=facts.max_length)


def _missing_package(subject: Subject) -> str | None:
    """A package that the teacher needs and that is not installed; exported models need only the base install."""
    if (subject.folder / CARD).is_file():
        return None
    return next((package for package in ("torch", "transformers") if find_spec(package) is None), None)


def _renamed(subjects: list[Subject]) -> list[Subject]:
    """With the name of its run in front, if several folders have the same name."""
    folders = {name: {one.folder for one in subjects if one.name == name} for name in {one.name for one in subjects}}
    return [
        replace(one, name=f"{_run_name(one.folder)}/{one.name}") if len(folders[one.name]) > 1 else one
        for one in subjects
    ]


def _run_name(folder: Path) -> str:
    parent = folder.resolve().parent
    return parent.parent.name if parent.name == "models" else parent.name


def _refuse_mixed(subjects: Sequence[Subject]) -> None:
    pairs = [one.name for one in subjects if one.pair]
    singles = [one.name for one in subjects if one.pair is False]
    if pairs and singles:
        raise ModelsNotAlike(of_pairs=pairs, of_single_texts=singles)
