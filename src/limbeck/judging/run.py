"""Runs teacher and candidates on the judged rows, and computes all metrics of their answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from limbeck.artifacts.candidate import Candidate, main_place
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.judging.answers import ModelAnswers, TeacherAnswers, answers_of, judged_rows, labelled_rows
from limbeck.judging.cascade import PairedAnswers
from limbeck.judging.metrics import Bools, Ints, rows_equal
from limbeck.judging.quality import gain, length_groups, mcnemar_tests, quality
from limbeck.progress import Reporter
from limbeck.recipe.evaluation import Evaluation

MOST_ROWS = 20
MOST_CHARACTERS = 1_000  # of a text; the rest is cut off


def worst_errors(
    rows: Rows, *, student: ModelAnswers, teacher: TeacherAnswers, names: Sequence[str], most: int = MOST_ROWS
) -> list[dict[str, Any]]:
    """At most `most` rows on which student and teacher differ, those with the most confident student first.

    Either may be right: `label` shows which. Probabilities are those of each one's prediction; multi-label: all three
    are lists, and the probability is that of the complete set.
    """
    known, other = student.at(teacher.places), teacher.answers
    differing = np.flatnonzero(~rows_equal(known.predicted[0], other.predicted[0]))
    surest = differing[np.argsort(-known.confidence[0][differing], kind="stable")][:most]
    shown = rows.select(teacher.places[surest])
    return [
        {
            "text": _cut(shown.texts[position]),
            "pair": None if shown.pairs is None else _cut(shown.pairs[position]),
            "label": _named(known.labels[place], names),
            "student": _named(known.predicted[0][place], names),
            "teacher": _named(other.predicted[0][place], names),
            "student_probability": float(known.confidence[0][place]),
            "teacher_probability": float(other.confidence[0][place]),
        }
        for position, place in enumerate(surest.tolist())
    ]


def _named(label: Ints | np.int64, names: Sequence[str]) -> str | list[str]:
    """The name of a class, or the names of a set of classes."""
    if np.ndim(label) == 0:
        return names[int(label)]
    return [names[number] for number in np.flatnonzero(label).tolist()]


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS].rstrip()}…"


@dataclass(frozen=True)
class Judgement:
    """The metrics of teacher and candidates on the judged rows."""

    lines: list[dict[str, Any]]  # the teacher's quality, then that of each candidate
    main: int | None  # index of the candidate that the cascade is about
    paired: PairedAnswers | None  # its shipped copy and the teacher, on the judged rows
    dev_paired: PairedAnswers | None  # the same on dev, if that is not the judged split
    worst_errors: list[dict[str, Any]]
    right: list[Bools | None]  # (rows) for each line, by its shipped copy; None without one, or without all answers


def judge(
    candidates: Sequence[Candidate],
    *,
    corpus: Corpus,
    teacher: TeacherLabels,
    section: Evaluation,
    reporter: Reporter,
) -> Judgement:
    """Evaluate the teacher on the rows that it answered, and every candidate on all rows."""
    rows, main = judged_rows(corpus), main_place(candidates)
    known, dev = TeacherAnswers.of(teacher, rows), _other_rows(corpus, teacher)
    files = sum(len(candidate.exports) for candidate in candidates)
    with reporter.bar("judging", total=len(rows) * files + (0 if main is None else len(dev)), unit="rows") as bar:
        answers = [
            answers_of(
                candidate.exports,
                rows=rows,
                bar=bar,
                shipped_place=candidate.shipped_place,
                students=candidate.students,
            )
            for candidate in candidates
        ]
        on_dev = None if main is None else answers_of({0: candidates[main].shipped}, rows=dev, bar=bar)
    shipped = None if main is None else answers[main].shipped
    return Judgement(
        lines=_lines(candidates, answers, corpus=corpus, rows=rows, teacher=known, samples=section.bootstrap_samples),
        main=main,
        paired=PairedAnswers.between(shipped, known) if shipped else None,
        dev_paired=PairedAnswers.between(on_dev, TeacherAnswers.of(teacher, dev)) if on_dev else None,
        worst_errors=worst_errors(rows, student=shipped, teacher=known, names=corpus.labels) if shipped else [],
        right=[_right(known.answers, rows), *(_right(found.shipped, rows) for found in answers)],
    )


def _right(answers: ModelAnswers | None, rows: Rows) -> Bools | None:
    return answers.correct[0] if answers and len(answers.labels) == len(rows) else None


def _other_rows(corpus: Corpus, teacher: TeacherLabels) -> Rows:
    """The labelled dev rows that the teacher answered; no rows if dev is the judged split."""
    dev = labelled_rows(corpus, "dev")
    return dev.select(np.flatnonzero(teacher.covers(dev.ids) & (corpus.judged_split != "dev")))


def _lines(
    candidates: Sequence[Candidate],
    answers: Sequence[ModelAnswers],
    *,
    corpus: Corpus,
    rows: Rows,
    teacher: TeacherAnswers,
    samples: int,
) -> list[dict[str, Any]]:
    groups = length_groups(rows, language=corpus.language)
    baseline = next((found for found, one in zip(answers, candidates, strict=True) if one.role == "baseline"), None)
    own = quality(teacher.answers, names=corpus.labels, groups=groups.at(teacher.places), samples=samples)
    lines = [{**own, **_of_teacher(teacher)}]
    for found, candidate in zip(answers, candidates, strict=True):
        alone = candidate.role == "baseline"
        tests = mcnemar_tests(found, baseline=None if alone else baseline, teacher=teacher)
        line = quality(found, names=corpus.labels, groups=groups, samples=samples)
        line |= {**teacher.compared(found), **_of_shipped(candidate, found), "mcnemar": tests}
        if not alone:
            line["gain_over_baseline"] = gain(found, baseline=baseline, samples=samples)
        lines.append(line)
    return [{**line, **_positive_f1(line, corpus)} for line in lines]


def _of_teacher(teacher: TeacherAnswers) -> dict[str, Any]:
    """It agrees with itself, if it answered any row. It is not tested against others: they are tested against it."""
    has_answers = len(teacher.places) > 0
    return {
        "teacher_agreement": 1.0 if has_answers else None,
        "kl_to_teacher": 0.0 if has_answers else None,
        "judged_rows": len(teacher.places),
        "mcnemar": {"baseline": None, "teacher": None},
    }


def _of_shipped(candidate: Candidate, answers: ModelAnswers) -> dict[str, Any]:
    """Which seed's copy ships, and its accuracy."""
    seeds, place = list(candidate.exports), answers.shipped_place
    shipped = (None, None) if place is None else (seeds[place], answers.accuracies[place])
    return {"seeds": seeds, "shipped_seed": shipped[0], "shipped_accuracy": shipped[1]}


def _positive_f1(line: Mapping[str, Any], corpus: Corpus) -> dict[str, Any]:
    """The F1 of the second class, which is usually reported for a corpus of equal and unequal pairs."""
    if not corpus.is_pair or corpus.is_multi_label or len(corpus.labels) != 2:
        return {}
    return {"f1_positive": line["per_class"][1]["f1"] if line["per_class"] else None}
