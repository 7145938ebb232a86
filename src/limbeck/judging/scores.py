"""Judges teacher, rival and candidates of a run of scores: the same lines as for classes, whose keys are then None."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from limbeck.artifacts.candidate import Candidate, main_place
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.score_scale import ScoreScale
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.judging.answers import answers_of, judged_rows, labelled_rows
from limbeck.judging.cascade import PairedAnswers
from limbeck.judging.choice import Contender, choose
from limbeck.judging.quality import ACCURACY_KEYS, CALIBRATION_KEYS, CLASS_KEYS
from limbeck.judging.rival import RivalFolder
from limbeck.judging.run import MOST_ROWS, Judgement, cut_text
from limbeck.judging.score_cascade import paired_at
from limbeck.judging.score_metrics import (
    MEASURES,
    Floats,
    at_threshold,
    gains,
    intervals,
    measures,
    residuals_by_score,
    scatter_points,
)
from limbeck.progress import Bar, Reporter
from limbeck.recipe.evaluation import Evaluation
from limbeck.training.correlation import spearman
from limbeck.training.dev_targets import dev_targets, teacher_share

BY = "squared error"
NOT_TESTED = {"baseline": None, "teacher": None, "rival": None}


@dataclass(frozen=True)
class ScoreAnswers:
    """The scores that one model gives the judged rows, one copy of the model per seed, in the units of the corpus."""

    given: Floats  # (seeds, rows)
    standard: Floats  # (seeds, rows): before they are clipped, in standard units
    shipped_place: int | None = 0

    @property
    def shipped(self) -> Floats | None:
        """(rows): those of the copy that ships."""
        return None if self.shipped_place is None else self.given[self.shipped_place]


@dataclass(frozen=True)
class _Judged:
    """What all lines are computed from."""

    true: Floats  # (rows)
    teacher: Floats  # (rows that the teacher answered)
    places: Any  # of these rows
    rival: ScoreAnswers | None
    samples: int
    threshold: float | None


def judge_scores(
    candidates: Sequence[Candidate],
    *,
    corpus: Corpus,
    teacher: TeacherLabels,
    section: Evaluation,
    reporter: Reporter,
    rival: RivalFolder | None = None,
    max_size_mb: float | None = None,
) -> Judgement:
    """Evaluate the teacher on the rows that it answered, and every other model on all rows; the best is chosen on dev
    by the squared error, where differences within noise count as none."""
    scale = corpus.scale
    assert scale is not None, "the caller has checked that rows have scores"
    rows, dev = judged_rows(corpus), labelled_rows(corpus, "dev")
    files = sum(len(candidate.exports) for candidate in candidates)
    with reporter.bar("judging", total=len(rows) * files + len(dev) * len(candidates), unit="rows") as bar:
        answers = [_answers(candidate, rows, bar=bar) for candidate in candidates]
        on_dev = [_shipped_answers(candidate, dev, bar=bar) for candidate in candidates] if len(dev) else []
    places = np.flatnonzero(teacher.covers(rows.ids))
    of_teacher = scale.scores(teacher.for_rows(rows.select(places).ids)[:, 0])
    of_rival = _of_rival(rival, corpus.judged_split, scale) if rival else None
    judged = _Judged(
        scale.scores(rows.labels, clip=False),
        of_teacher,
        places,
        of_rival,
        section.bootstrap_samples,
        section.score_threshold,
    )
    lines = _lines(candidates, answers, judged)
    measured = [*([_of_rival(rival, "dev", scale)] if rival else []), *on_dev] if len(dev) else []
    true_on_dev = scale.scores(dev.labels, clip=False)
    for line, found in zip(lines[1:], measured, strict=False):
        line["dev"] = measures(true_on_dev, found.given[0])
    best, choice = _best(candidates, on_dev, dev, teacher=teacher.if_complete(dev.ids), max_size_mb=max_size_mb)
    main = main_place(candidates) if best is None else [one.name for one in candidates].index(best)
    shipped = None if main is None else answers[main].shipped
    return Judgement(
        lines=lines,
        main=main,
        best=best,
        choice=choice,
        paired=_paired(judged, shipped, scale),
        dev_paired=None
        if main is None or not on_dev or corpus.judged_split == "dev"
        else _paired(replace(judged, **_of_dev(teacher, dev, scale)), on_dev[main].given[0], scale),
        worst_errors=[],
        slices=None,
        abstaining=None,
        right=[None] * len(lines),
        answers=[None] * len(lines),
        largest_residuals=_largest_residuals(rows, judged, shipped) if shipped is not None else [],
    )


def _paired(judged: _Judged, shipped: Floats | None, scale: ScoreScale) -> PairedAnswers | None:
    """Decisions at the threshold, on the rows that the teacher answered; None without a threshold."""
    if judged.threshold is None or shipped is None:
        return None
    true, student = judged.true[judged.places], shipped[judged.places]
    return paired_at(true, student, judged.teacher, threshold=judged.threshold, span=scale.span)


def _of_dev(teacher: TeacherLabels, dev: Rows, scale: ScoreScale) -> dict[str, Any]:
    places = np.flatnonzero(teacher.covers(dev.ids))
    answers = scale.scores(teacher.for_rows(dev.select(places).ids)[:, 0])
    return {"true": scale.scores(dev.labels, clip=False), "places": places, "teacher": answers}


def mean_score(corpus: Corpus, rows: Rows) -> dict[str, Any]:
    """What a model reaches that always gives the mean score of train: the keys of chance, of which those of classes are
    None."""
    scale = corpus.scale
    assert scale is not None, "rows have scores"
    true = scale.scores(rows.labels, clip=False)
    found = measures(true, np.full(len(true), scale.mean))
    return {"label": None, "accuracy": None, "score": scale.mean, "mae": found["mae"], "rmse": found["rmse"]}


def _answers(candidate: Candidate, rows: Rows, *, bar: Bar) -> ScoreAnswers:
    return _scored(
        candidate.exports,
        answers_of(
            candidate.exports,
            rows=rows,
            bar=bar,
            shipped_place=candidate.shipped_place,
            students=candidate.students,
        ).logits,
        candidate.shipped_place,
    )


def _shipped_answers(candidate: Candidate, rows: Rows, *, bar: Bar) -> ScoreAnswers:
    place = candidate.shipped_place
    seed = 0 if place is None else list(candidate.exports)[place]
    only = {seed: candidate.shipped}
    students = {} if place is None else candidate.students
    return _scored(only, answers_of(only, rows=rows, bar=bar, students=students).logits, 0)


def _scored(exports: Mapping[int, ModelFolder], logits: Any, shipped_place: int | None) -> ScoreAnswers:
    standard = logits[:, :, 0].astype(np.float64)
    scales = [export.facts().scale for export in exports.values()]
    given = [scale.scores(of_seed) for scale, of_seed in zip(scales, standard, strict=True) if scale]
    return ScoreAnswers(np.stack(given), standard, shipped_place)


def _of_rival(rival: RivalFolder, split: str, scale: ScoreScale) -> ScoreAnswers:
    standard = rival.logits(split)[np.newaxis, :, 0].astype(np.float64)
    return ScoreAnswers(scale.scores(standard), standard)


def _lines(candidates: Sequence[Candidate], answers: Sequence[ScoreAnswers], judged: _Judged) -> list[dict[str, Any]]:
    baselines = {_kind(one): found for found, one in zip(answers, candidates, strict=True) if one.role == "baseline"}
    lines = [_teacher_line(judged)]
    if judged.rival:
        lines.append(_line(judged.rival, judged))
    for found, candidate in zip(answers, candidates, strict=True):
        line = _line(found, judged)
        seeds, place = list(candidate.exports), found.shipped_place
        line |= {"seeds": seeds, "shipped_seed": None if place is None else seeds[place], "shipped_accuracy": None}
        if judged.rival:
            line["score_gain_over_rival"] = gains(judged.true, found.given, judged.rival.given, samples=judged.samples)
        if candidate.role != "baseline" and (baseline := baselines.get(_kind(candidate))):
            line["score_gain_over_baseline"] = gains(judged.true, found.given, baseline.given, samples=judged.samples)
        lines.append(line)
    return lines


def _kind(candidate: Candidate) -> str:
    return candidate.shipped.facts().kind


def _empty(seeds: int) -> dict[str, Any]:
    """The keys of a line about classes, none of which a score has."""
    nothing = dict.fromkeys([*ACCURACY_KEYS, *CLASS_KEYS, *CALIBRATION_KEYS, "teacher_agreement", "kl_to_teacher"])
    return {"seed_count": seeds, **nothing, "mcnemar": dict(NOT_TESTED), "gain_over_rival": None}


def _teacher_line(judged: _Judged) -> dict[str, Any]:
    true = judged.true[judged.places]
    line = {**_empty(1), "judged_rows": len(true), **dict.fromkeys(MEASURES)}
    if not len(true):
        return line
    return {**line, **_quality(true, judged.teacher[np.newaxis], judged), "teacher_spearman": 1.0}


def _line(answers: ScoreAnswers, judged: _Judged) -> dict[str, Any]:
    line = {**_empty(len(answers.given)), **_quality(judged.true, answers.given, judged)}
    if (shipped := answers.shipped) is not None:
        line |= {
            "residuals": residuals_by_score(judged.true, shipped),
            "scatter": scatter_points(judged.true, shipped),
        }
    known = answers.given[:, judged.places]
    has_teacher = len(judged.places) > 0
    line["teacher_spearman"] = float(np.mean([spearman(one, judged.teacher) for one in known])) if has_teacher else None
    if has_teacher and len(judged.places) < len(judged.true):
        of_seeds = [measures(judged.true[judged.places], one) for one in known]
        line["on_teacher_rows"] = {name: float(np.mean([one[name] for one in of_seeds])) for name in MEASURES}
    return line


def _quality(true: Floats, given: Floats, judged: _Judged) -> dict[str, Any]:
    """The measures: mean, spread over seeds, and interval."""
    of_seeds = [measures(true, of_seed) for of_seed in given]
    bounds, found = intervals(true, given, samples=judged.samples), dict[str, Any]()
    for name in MEASURES:
        values = [one[name] for one in of_seeds]
        found[name] = float(np.mean(values))
        found[f"{name}_sd"] = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
        found[f"{name}_ci95"] = bounds[name]
    if judged.threshold is not None:
        cut = [at_threshold(true, of_seed, judged.threshold) for of_seed in given]
        found["at_threshold"] = {name: _mean([one[name] for one in cut]) for name in cut[0]}
    return found


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _best(
    candidates: Sequence[Candidate],
    on_dev: Sequence[ScoreAnswers],
    dev: Rows,
    *,
    teacher: Any,
    max_size_mb: float | None,
) -> tuple[str | None, dict[str, Any] | None]:
    """The name of the best, and how it was chosen: the lowest squared error, in standard units, and of those that are
    equal within noise the one that orders dev best."""
    if not candidates or not on_dev:
        return None, None
    outputs = [answers.standard[0][:, np.newaxis] for answers in on_dev]
    targets = dev_targets(dev.labels, teacher=teacher, models=outputs)
    contenders = []
    for candidate, output in zip(candidates, outputs, strict=True):
        closeness = 1 - (output[:, 0] - targets[:, 0]) ** 2
        contenders.append(
            Contender(
                name=candidate.name,
                student=candidate.name.removesuffix("-int8"),
                is_int8=candidate.shipped.facts().precision == "int8",
                size_mb=candidate.shipped.size_mb(),
                is_baseline=candidate.role == "baseline",
                is_blend=candidate.shipped.facts().kind == "blend",
                score=float(closeness.mean()),
                correct=closeness,
                log_loss=-spearman(output[:, 0], targets[:, 0]),
            )
        )
    choice = choose(contenders, max_size_mb=max_size_mb)
    share = teacher_share(dev.labels, teacher=teacher, models=outputs)
    return (choice.best, choice.as_json(by=BY, rows=len(dev), teacher_share=share)) if choice else (None, None)


def _largest_residuals(rows: Rows, judged: _Judged, shipped: Floats) -> list[dict[str, Any]]:
    """The rows whose score is furthest from the true one."""
    of_teacher = dict(zip(judged.places.tolist(), judged.teacher.tolist(), strict=True))
    worst = np.argsort(-np.abs(shipped - judged.true), kind="stable")[:MOST_ROWS]
    shown = rows.select(worst)
    return [
        {
            "text": cut_text(shown.texts[position]),
            "pair": None if shown.pairs is None else cut_text(shown.pairs[position]),
            "score": float(judged.true[place]),
            "student": float(shipped[place]),
            "teacher": of_teacher.get(place),
        }
        for position, place in enumerate(worst.tolist())
    ]
