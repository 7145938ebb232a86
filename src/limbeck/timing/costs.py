"""The cost of every model in a report: times, parameters, megabytes and multiply-adds.

The protocol (`protocol.py`) is tuned for a short run here: a few rounds, few texts, no more than about 1.5 seconds per
turn, so that a complete report is timed in half a minute. Every turn counts from its first call on, and in the first
round the words of a text are new to a model, as in production.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from limbeck.artifacts.candidate import Candidate
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.rows import Rows, runtime_rows
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.judging.metrics import share_equal
from limbeck.judging.rival import NAME, RivalFolder
from limbeck.progress import Reporter
from limbeck.recipe.evaluation import Evaluation
from limbeck.runtime.classifier import load
from limbeck.runtime.row import Row, characters
from limbeck.timing.machine import usable_cores
from limbeck.timing.process import WORKER
from limbeck.timing.protocol import Case, CasePlan, Length, Subject, TimedModel, Timing, rows_for, time_models
from limbeck.timing.row_cost import UNKNOWN, candidate_row_cost, spread, teacher_row_cost
from limbeck.training.correlation import pearson
from limbeck.training.skill import predicted

Cost = dict[str, Any]

SEED_OF_TIMED_TEXTS = 0
SECONDS_PER_TURN = 1.5  # one text per call, and all texts in one call: a slow teacher gets fewer texts
LEAST_SAMPLES = 10  # calls of one text, per turn
SECONDS_PER_CASE = 0.24  # of the throughput table, over all rounds: thousands of rows for a small student
MOST_SECONDS_PER_CALL = 5.0  # in the throughput table
LEAST_ROWS = 64  # rows for one turn of the throughput table, so that calls of one text cover many texts
WEIGHTS = (".safetensors", ".onnx")

INT8_NAME = "teacher-int8"
MOST_ROWS_ASKED = 256  # that the int8 file predicts, for its agreement with the teacher
MOST_CHARACTERS = 60_000  # fewer rows if texts are long: a large teacher takes seconds for a page of text
LEAST_AGREEMENT = 0.8  # below this it is not the same model as the teacher any more, and its speed is meaningless


@dataclass(frozen=True)
class Costs:
    """The costs of teacher and candidates."""

    lines: list[Cost]  # the teacher, with all its members, then the rival, if there is one, and each candidate
    teacher_int8: Cost | None


def measure_costs(
    candidates: Sequence[Candidate],
    *,
    members: Sequence[TeacherFolder],
    teacher_int8: ModelFolder | None,
    labels: TeacherLabels,
    rows: Rows,
    section: Evaluation,
    reporter: Reporter,
    rival: RivalFolder | None = None,
) -> Costs:
    """Time all models on the same texts; `members` are those of the teacher, if all of them can be run."""
    agreement = int8_agreement(teacher_int8, labels=labels, rows=rows, reporter=reporter) if teacher_int8 else None
    int8 = teacher_int8 if agreement else None
    models = [(candidate.name, candidate.shipped) for candidate in candidates] + ([(INT8_NAME, int8)] if int8 else [])
    before = [*map(teacher_subject, members), *([Subject(NAME, "rival", rival.folder)] if rival else [])]
    subjects = [*before, *(model_subject(name, model) for name, model in models)]
    timed = time_for_report(section, subjects=subjects, rows=timed_rows(rows), reporter=reporter)
    of_teacher, of_rival, of_models = timed[: len(members)], timed[len(members) : len(before)], timed[len(before) :]
    teacher = {**seconds(of_teacher), **teacher_row_cost(members, rows)}
    others = [
        {**seconds([its]), **candidate_row_cost(candidate, rows)}
        for candidate, its in zip(candidates, of_models, strict=False)  # the last one may be that of the int8 file
    ]
    of_int8 = {"size_mb": int8.size_mb(), **seconds(of_models[-1:]), **agreement} if int8 and agreement else None
    rivals = [{**seconds([its]), **UNKNOWN} for its in of_rival]
    lines = [with_speedups(cost, teacher=teacher, int8=of_int8) for cost in (teacher, *rivals, *others)]
    return Costs(lines=lines, teacher_int8=of_int8)


def runnable(members: Sequence[TeacherFolder]) -> list[TeacherFolder]:
    """The members, if each of them can be run; else an empty list: the cost of answers in a file is unknown."""
    return list(members) if all(member.is_runnable for member in members) else []


def teacher_subject(member: TeacherFolder) -> Subject:
    """An encoder, or a student of another run, as a subject to time."""
    max_length = member.facts.max_length
    assert max_length is not None  # all runnable teachers have one
    kind = "teacher" if member.is_encoder else "student"
    return Subject(name="teacher", kind=kind, folder=member.folder, max_length=max_length)


def model_subject(name: str, model: ModelFolder) -> Subject:
    """An exported model as a subject to time, as it ships."""
    return Subject(name=name, kind="model", folder=model.folder, max_length=model.facts().max_length)


def timed_rows(rows: Rows) -> list[Row]:
    """The rows in a random order, the same for every model and run."""
    texts = runtime_rows(rows)
    return [texts[place] for place in np.random.default_rng(SEED_OF_TIMED_TEXTS).permutation(len(texts))]


def time_for_report(
    section: Evaluation,
    *,
    subjects: Sequence[Subject],
    rows: Sequence[Row],
    reporter: Reporter,
    command: Sequence[str] = WORKER,
    cores: int | None = None,
) -> list[TimedModel]:
    """The timings of each subject in the cases of a report, in the order of the subjects."""
    plans = report_plans(section, rows, cores=cores or usable_cores())
    return time_models(subjects, plans=plans, rounds=section.latency_rounds, reporter=reporter, command=command)


def report_plans(section: Evaluation, rows: Sequence[Row], *, cores: int) -> list[CasePlan]:
    """Latency, and rows per second with all texts in one call; then, as a separate block, the throughput table.

    The thousands of rows of the table would warm up a model far beyond its warm-up: after them, single calls are up to
    a third faster.
    """
    rounds, alone = section.latency_rounds, Case(section.threads, 1)
    together = Case(section.threads, section.throughput_rows, shrinks=True)
    return [
        CasePlan(
            alone,
            texts=_by_round(rows_for(rows, section.latency_rows), rounds),
            seconds=SECONDS_PER_TURN,
            least_calls=min(LEAST_SAMPLES, section.latency_rows),
            most_calls=section.latency_rows,
            every_round=True,
        ),
        CasePlan(
            together,
            texts=_by_round(rows_for(rows, section.throughput_rows), rounds),
            seconds=SECONDS_PER_TURN,
            most_calls=1,
            every_round=True,
        ),
        *(_throughput_plan(case, rows, rounds=rounds) for case in throughput_cases(section, len(rows), cores=cores)),
    ]


def throughput_cases(section: Evaluation, rows: int, *, cores: int) -> list[Case]:
    """Every batch size with all texts, then the first one with short and with long texts; then one text per call and
    every batch size on all cores, if these are more than the threads of the recipe."""
    batches, threads = section.throughput_batches, section.threads
    if not batches:
        return []
    halves: tuple[Length, ...] = ("short", "long") if rows > 1 else ()
    on_all_cores = [Case(cores, batch) for batch in (1, *batches)] if cores > threads else []
    by_length = [Case(threads, batches[0], length) for length in halves]
    return [*(Case(threads, batch) for batch in batches), *by_length, *on_all_cores]


def _throughput_plan(case: Case, rows: Sequence[Row], *, rounds: int) -> CasePlan:
    texts = [rows_for(each, max(case.batch, LEAST_ROWS)) for each in _by_round(_half(rows, case.length), rounds)]
    limit = MOST_SECONDS_PER_CALL
    return CasePlan(case, texts=texts, seconds=SECONDS_PER_CASE / rounds, most_seconds_per_call=limit, block=1)


def _half(rows: Sequence[Row], length: Length | None) -> list[Row]:
    """The shorter or the longer half of the rows, in order; without a length all of them."""
    if length is None:
        return list(rows)
    by_length = sorted(range(len(rows)), key=lambda place: characters(rows[place]))
    middle = len(rows) // 2
    half = by_length[:middle] if length == "short" else by_length[middle:]
    return [rows[place] for place in sorted(half)]


def _by_round(rows: list[Row], rounds: int) -> list[list[Row]]:
    """The rows, starting elsewhere in every round: a model that runs out of time sees other texts each time."""
    starts = [len(rows) * number // rounds for number in range(rounds)]
    return [rows[start:] + rows[:start] for start in starts]


def teacher_size(members: Sequence[TeacherFolder]) -> Cost:
    """Parameters and size of the weights, summed over the members; None without members."""
    if not members:
        return {"parameters": None, "parameters_without_embeddings": None, "size_mb": None}
    facts = [member.facts for member in members]
    files = [path for member in members for path in member.folder.rglob("*") if path.suffix in WEIGHTS]
    return {
        "parameters": sum(member.parameters or 0 for member in facts),
        "parameters_without_embeddings": sum(member.parameters_without_embeddings or 0 for member in facts),
        "size_mb": sum(path.stat().st_size for path in files) / 1e6,
    }


def seconds(timed: Sequence[TimedModel]) -> Cost:
    """Engine and times of one model, or of several that run one after the other; None without models."""
    if not timed:
        return {"engine": None, "latency_ms": None, "rows_per_second": None, "throughput": None}
    alone = [_latency(model) for model in timed]
    together = [next(its for case, its in model.cases.items() if case.shrinks) for model in timed]
    return {
        "engine": " and ".join(dict.fromkeys(model.engine for model in timed)),  # for an ensemble, each engine once
        "latency_ms": {
            **{f"p{percent}": sum(timing.percentile(percent) for timing in alone) for percent in (50, 95, 99)},
            "samples": min(len(timing.samples_ms) for timing in alone),
        },
        "rows_per_second": sequential_rate([timing.rows_per_second for timing in together]),
        "throughput": throughput([rates(model) for model in timed]),
    }


def _latency(timed: TimedModel) -> Timing:
    """One text per call on the threads of the recipe: the first case of a report."""
    return next(iter(timed.cases.values()))


def rates(timed: TimedModel) -> dict[Case, float]:
    """Rows per second in each case of the throughput table; for the latency case over all its calls."""
    latency = _latency(timed)
    return {
        case: len(timing.samples_ms) / timing.seconds if timing is latency else timing.rows_per_second
        for case, timing in timed.cases.items()
        if not case.shrinks
    }


def throughput(measured: Sequence[Mapping[Case, float]]) -> list[Cost]:
    """The cases in which all models were timed: first those with all texts, then those with short and long ones."""
    shared = [case for case in measured[0] if all(case in each for each in measured)]
    return [
        {
            "threads": case.threads,
            "batch": case.batch,
            **({"length": case.length} if case.length else {}),
            "rows_per_second": sequential_rate([each[case] for each in measured]),
        }
        for case in sorted(shared, key=lambda case: (case.length is not None, case.threads, case.batch))
    ]


def sequential_rate(rates: Sequence[float]) -> float:
    """Rows per second if each row goes through all models, one after the other."""
    return 1 / sum(1 / rate for rate in rates)


def with_speedups(cost: Cost, *, teacher: Cost, int8: Cost | None) -> Cost:
    """The cost, and its speedup in p50 over the teacher and over the teacher's int8 file; None if one of the two is
    unknown."""
    return {
        **cost,
        "speedup_over_teacher": _speedup(cost, over=teacher),
        "speedup_over_teacher_int8": _speedup(cost, over=int8),
    }


def _speedup(cost: Cost, *, over: Cost | None) -> float | None:
    if not over or not over["latency_ms"] or not cost["latency_ms"]:
        return None
    return float(over["latency_ms"]["p50"] / cost["latency_ms"]["p50"])


def int8_agreement(model: ModelFolder, *, labels: TeacherLabels, rows: Rows, reporter: Reporter) -> Cost | None:
    """The share of rows on which the int8 file predicts the teacher's label, and their number; None if it is too low to
    call it the teacher. Of scores: Pearson's correlation of both."""
    asked = _sample(rows.select(np.flatnonzero(labels.covers(rows.ids))))
    if not len(asked):
        return {"agreement": None, "agreement_rows": 0}
    exported = load(model.folder)
    both = labels.for_rows(asked.ids), exported.logits(runtime_rows(asked))
    multi_label = exported.facts.multi_label
    if exported.facts.scale:
        agreement = max(0.0, pearson(*(logits[:, 0] for logits in both)))
    else:
        agreement = share_equal(*(predicted(logits, multi_label=multi_label) for logits in both))
    if agreement < LEAST_AGREEMENT:
        reporter.note(
            f"  the teacher's int8 file agrees with the teacher on only {agreement:.1%} of {len(asked):,} rows: "
            f"it is not timed"
        )
        return None
    return {"agreement": agreement, "agreement_rows": len(asked)}


def _sample(rows: Rows) -> Rows:
    """Evenly spread rows; at least one if there are any."""
    if not len(rows):
        return rows
    fitting = int(MOST_CHARACTERS / max(1.0, float(np.median(rows.characters))))
    return spread(rows, most=max(1, min(MOST_ROWS_ASKED, fitting)))
