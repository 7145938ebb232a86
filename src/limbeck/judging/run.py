"""Runs teacher and candidates on the judged rows, and computes all metrics of their answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from limbeck.artifacts.candidate import Candidate, main_place
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.foreign import Foreign
from limbeck.artifacts.rows import FIRST_UNKNOWN, Rows, runtime_rows
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.judging.abstaining import Compared, abstaining
from limbeck.judging.answers import Logits, ModelAnswers, TeacherAnswers, answers_of, judged_rows, labelled_rows
from limbeck.judging.cascade import PairedAnswers
from limbeck.judging.choice import Contender, choose
from limbeck.judging.metrics import Bools, Floats, Ints, macro_f1, rows_equal
from limbeck.judging.quality import gain, length_groups, mcnemar_tests, quality
from limbeck.judging.rival import NAME as RIVAL
from limbeck.judging.rival import RivalFolder
from limbeck.judging.slices import MOST_ROWS as MOST_SLICED
from limbeck.judging.slices import slices_of, telling_words
from limbeck.progress import Bar, Reporter
from limbeck.recipe.evaluation import Evaluation
from limbeck.training.dev_targets import (
    cross_entropy,
    dev_targets,
    expected_correct,
    expected_macro_f1,
    teacher_share,
)
from limbeck.training.temperature import negative_log_likelihood

MOST_ROWS = 20
MOST_CHARACTERS = 1_000  # of a text; the rest is cut off
EXAMPLE_CHARACTERS = 60  # about the length of a text in a command to copy


def worst_errors(
    rows: Rows,
    *,
    student: ModelAnswers,
    teacher: TeacherAnswers,
    names: Sequence[str],
    unknown: Sequence[str] = (),
    most: int = MOST_ROWS,
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
            "text": cut_text(shown.texts[position]),
            "pair": None if shown.pairs is None else cut_text(shown.pairs[position]),
            "label": _named(known.labels[place], names, unknown),
            "student": _named(known.predicted[0][place], names),
            "teacher": _named(other.predicted[0][place], names),
            "student_probability": float(known.confidence[0][place]),
            "teacher_probability": float(other.confidence[0][place]),
        }
        for position, place in enumerate(surest.tolist())
    ]


def _named(label: Ints | np.int64, names: Sequence[str], unknown: Sequence[str] = ()) -> str | list[str]:
    """The name of a class, or the names of a set of classes; `unknown` are names of labels that are no classes."""
    if np.ndim(label) == 0:
        number = int(label)
        return names[number] if number >= 0 else f"{unknown[FIRST_UNKNOWN - number]} (not in train)"
    return [names[number] for number in np.flatnonzero(label).tolist()]


def cut_text(text: str) -> str:
    """The beginning of a long text."""
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS].rstrip()}…"


@dataclass(frozen=True)
class Judgement:
    """The metrics of teacher and candidates on the judged rows."""

    lines: list[dict[str, Any]]  # the quality of the teacher, of the rival, if there is one, and of each candidate
    main: int | None  # index of the candidate that the cascade is about: the best
    best: str | None  # name of the candidate that ships as the best
    choice: dict[str, Any] | None  # how it was chosen
    paired: PairedAnswers | None  # its shipped copy and the teacher, on the judged rows
    dev_paired: PairedAnswers | None  # the same on dev, if that is not the judged split
    worst_errors: list[dict[str, Any]]
    abstaining: dict[str, Any] | None  # risk and coverage of the main candidate, its baseline, teacher and rival
    slices: dict[str, Any] | None  # of the shipped copy of the main candidate; None without one, or with few rows
    answers: list[tuple[Ints, ModelAnswers] | None]  # of each line's shipped copy, and on which of the rows
    right: list[Bools | None]  # (rows) for each line, by its shipped copy; None without one, or without all answers
    largest_residuals: list[dict[str, Any]] = field(default_factory=list)  # of scores, in place of worst errors


def judge(
    candidates: Sequence[Candidate],
    *,
    corpus: Corpus,
    teacher: TeacherLabels,
    section: Evaluation,
    reporter: Reporter,
    rival: RivalFolder | None = None,
    by: str = "accuracy",
    max_size_mb: float | None = None,
    foreign: Foreign | None = None,
) -> Judgement:
    """Evaluate the teacher on the rows that it answered, and every other model on all rows.

    The best is chosen on dev, `by` "accuracy" or "macro F1", among the candidates that are not larger than
    `max_size_mb`.
    """
    rows, dev = judged_rows(corpus), labelled_rows(corpus, "dev")
    known, is_dev = TeacherAnswers.of(teacher, rows), corpus.judged_split == "dev"
    files = sum(len(candidate.exports) for candidate in candidates)
    total = len(rows) * files + (0 if is_dev else len(dev) * len(candidates))
    with reporter.bar("judging", total=total, unit="rows") as bar:
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
        on_dev = [
            (its.shipped if is_dev else None) or _shipped_answers(candidate, dev, bar=bar)
            for candidate, its in zip(candidates, answers, strict=True)
        ]
    rivals = [(rival_answers(rival, rows, corpus.judged_split), rival_answers(rival, dev, "dev"))] if rival else []
    lines = _lines(
        candidates,
        answers,
        corpus=corpus,
        rows=rows,
        teacher=known,
        rival=rivals[0][0] if rivals else None,
        samples=section.bootstrap_samples,
    )
    measured = [*(found for _, found in rivals), *on_dev] if len(dev) else []
    for line, found in zip(lines[1:], measured, strict=False):
        line["dev"] = dev_metrics(found)
    of_teacher = teacher.if_complete(dev.ids)
    best, choice = (
        _best(candidates, on_dev, teacher=of_teacher, by=by, max_size_mb=max_size_mb) if len(dev) else (None, None)
    )
    main = main_place(candidates) if best is None else [one.name for one in candidates].index(best)
    shipped = None if main is None else answers[main].shipped
    paired_on_dev = None if main is None or is_dev else on_dev[main]
    return Judgement(
        lines=lines,
        main=main,
        best=best,
        choice=choice,
        paired=PairedAnswers.between(shipped, known) if shipped else None,
        dev_paired=PairedAnswers.between(paired_on_dev, TeacherAnswers.of(teacher, dev)) if paired_on_dev else None,
        worst_errors=_worst_errors(rows, shipped, known, corpus) if shipped else [],
        abstaining=None
        if main is None
        else _abstaining(
            candidates,
            answers,
            main=main,
            teacher=known,
            rival=rivals[0][0] if rivals else None,
            foreign=foreign,
            samples=section.bootstrap_samples,
        ),
        slices=_slices(rows, shipped, corpus) if shipped else None,
        answers=[
            (known.places, known.answers) if len(known.places) else None,
            *((np.arange(len(rows)), found) for found, _ in rivals),
            *((np.arange(len(rows)), found.shipped) if found.shipped else None for found in answers),
        ],
        right=[
            _right(known.answers, rows),
            *(_right(found, rows) for found, _ in rivals),
            *(_right(found.shipped, rows) for found in answers),
        ],
    )


def _right(answers: ModelAnswers | None, rows: Rows) -> Bools | None:
    return answers.correct[0] if answers and len(answers.labels) == len(rows) else None


def _abstaining(
    candidates: Sequence[Candidate],
    answers: Sequence[ModelAnswers],
    *,
    main: int,
    teacher: TeacherAnswers,
    rival: ModelAnswers | None,
    foreign: Foreign | None,
    samples: int,
) -> dict[str, Any] | None:
    """Of the copy of the main candidate that ships, beside the same student alone, the rival and the teacher."""
    alone = [
        at for at, one in enumerate(candidates) if one.role == "baseline" and _kind(one) == _kind(candidates[main])
    ]
    others = alone or [at for at, one in enumerate(candidates) if one.role == "baseline"]
    lines = [
        Compared(candidates[at].name, candidates[at].role, found)
        for at in dict.fromkeys([main, *others[:1]])
        if (found := answers[at].shipped)
    ]
    if not lines or lines[0].name != candidates[main].name:
        return None
    if rival is not None:
        lines.append(Compared(RIVAL, "rival", rival))
    lines.append(Compared("the teacher", "teacher", teacher.answers))
    return abstaining(candidates[main].shipped, lines, foreign=foreign, samples=samples)


def _slices(rows: Rows, shipped: ModelAnswers, corpus: Corpus) -> dict[str, Any] | None:
    first = rows.select(np.arange(min(len(rows), MOST_SLICED)))
    groups, telling = corpus.values_of(first.ids), telling_words(corpus.splits["train"])
    language, right = corpus.language, shipped.correct[0]
    return slices_of(runtime_rows(first), right, language=language, groups=groups, telling=telling)


def _shipped_answers(candidate: Candidate, rows: Rows, *, bar: Bar) -> ModelAnswers:
    """The answers of the copy that ships; a transformer's on a GPU, as on the judged rows."""
    place = candidate.shipped_place
    seed = 0 if place is None else list(candidate.exports)[place]
    students = {} if place is None else candidate.students
    return answers_of({seed: candidate.shipped}, rows=rows, bar=bar, students=students)


def rival_answers(rival: RivalFolder, rows: Rows, split: str) -> ModelAnswers:
    """The rival's kept answers on the labelled rows of a split."""
    return ModelAnswers(rows.labels, rival.logits(split)[np.newaxis], (rival.facts["temperature"],))


def dev_metrics(answers: ModelAnswers) -> dict[str, float]:
    """Of the copy that ships, by the labels of dev; the best is chosen with the teacher's answers beside them."""
    temperature = answers.temperatures[0] if answers.temperatures else 1.0
    return {
        "accuracy": answers.accuracies[0],
        "macro_f1": macro_f1(answers.labels, answers.predicted[0]),
        "log_loss": negative_log_likelihood(answers.logits[0], answers.labels, temperature=temperature),
    }


def _best(
    candidates: Sequence[Candidate],
    on_dev: Sequence[ModelAnswers],
    *,
    teacher: Logits | None,
    by: str,
    max_size_mb: float | None,
) -> tuple[str | None, dict[str, Any] | None]:
    """The name of the best, and how it was chosen."""
    if not candidates:
        return None, None
    labels = on_dev[0].labels
    logits = [answers.logits[0] for answers in on_dev]
    targets = dev_targets(labels, teacher=teacher, models=logits)
    contenders = []
    for candidate, answers in zip(candidates, on_dev, strict=True):
        contenders.append(
            Contender(
                name=candidate.name,
                student=candidate.name.removesuffix("-int8"),
                is_int8=candidate.shipped.facts().precision == "int8",
                size_mb=candidate.shipped.size_mb(),
                is_baseline=candidate.role == "baseline",
                is_blend=candidate.shipped.facts().kind == "blend",
                **_compared(answers, targets, by=by),
            )
        )
    choice = choose(contenders, max_size_mb=max_size_mb)
    share = teacher_share(labels, teacher=teacher, models=logits)
    return (choice.best, choice.as_json(by=by, rows=len(labels), teacher_share=share)) if choice else (None, None)


def _compared(answers: ModelAnswers, targets: Floats, *, by: str) -> dict[str, Any]:
    """What `choose` compares: score, rows, log-loss and weights of the rows."""
    predicted, multi_label = answers.predicted[0], answers.labels.ndim == 2
    correct = expected_correct(predicted, targets)
    of_classes = by != "accuracy" and not multi_label
    weights = _weights_of_classes(answers.labels) if of_classes else None
    return {
        "score": float(correct.mean()) if by == "accuracy" else expected_macro_f1(predicted, targets),
        "correct": correct,
        "weights": weights,
        "log_loss": cross_entropy(
            answers.logits[0],
            targets,
            multi_label=multi_label,
            temperature=answers.temperatures[0] if answers.temperatures else 1.0,
            weights=1.0 if weights is None else weights,
        ),
    }


def _weights_of_classes(labels: Ints) -> Floats:
    """(rows), with mean one: the rows of every class together weigh the same."""
    _, places, counts = np.unique(labels, return_inverse=True, return_counts=True)
    return len(labels) / (len(counts) * counts[places].astype(np.float64))


def chance(corpus: Corpus, rows: Rows) -> dict[str, Any]:
    """What a model reaches that always gives the most frequent label of train, or the most frequent set of labels."""
    train = labelled_rows(corpus, "train").labels
    found, counts = np.unique(train, axis=0, return_counts=True)
    most = found[int(counts.argmax())]
    return {"label": _named(most, corpus.labels), "accuracy": float(rows_equal(rows.labels, most[np.newaxis]).mean())}


def example_row(rows: Rows) -> dict[str, Any]:
    """A short row for the commands to try a model with: of one line, and of about the length of a sentence."""
    lengths = rows.characters
    by_length = np.argsort(np.abs(lengths - EXAMPLE_CHARACTERS), kind="stable")[:MOST_ROWS]
    shown = rows.select(by_length)
    texts = [(text, None if shown.pairs is None else shown.pairs[place]) for place, text in enumerate(shown.texts)]
    plain = [pair for pair in texts if not set("\n\r\t'\"\\") & set("".join(filter(None, pair)))]
    text, pair = (plain or texts)[0]
    return {"text": _in_one_line(text), "pair": None if pair is None else _in_one_line(pair)}


def _in_one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 3 * EXAMPLE_CHARACTERS else line[: 3 * EXAMPLE_CHARACTERS].rstrip()


def _worst_errors(rows: Rows, student: ModelAnswers, teacher: TeacherAnswers, corpus: Corpus) -> list[dict[str, Any]]:
    return worst_errors(rows, student=student, teacher=teacher, names=corpus.labels, unknown=corpus.unknown_labels)


def _lines(
    candidates: Sequence[Candidate],
    answers: Sequence[ModelAnswers],
    *,
    corpus: Corpus,
    rows: Rows,
    teacher: TeacherAnswers,
    rival: ModelAnswers | None,
    samples: int,
) -> list[dict[str, Any]]:
    groups = length_groups(rows, language=corpus.language)
    baselines = {_kind(one): found for found, one in zip(answers, candidates, strict=True) if one.role == "baseline"}
    own = quality(teacher.answers, names=corpus.labels, groups=groups.at(teacher.places), samples=samples)
    has_all = 0 < len(teacher.places) == len(rows)
    over_rival = gain(teacher.answers, baseline=rival, samples=samples) if has_all else None
    lines = [{**own, **_of_teacher(teacher), "gain_over_rival": over_rival}]
    if rival:
        line = quality(rival, names=corpus.labels, groups=groups, samples=samples)
        tests = mcnemar_tests(rival, baseline=next(iter(baselines.values()), None), teacher=teacher)
        lines.append({**line, **teacher.compared(rival), "mcnemar": tests})
    for found, candidate in zip(answers, candidates, strict=True):
        alone = candidate.role == "baseline"
        baseline = baselines.get(_kind(candidate))  # the same student trained alone: other kinds have none
        tests = mcnemar_tests(found, baseline=None if alone else baseline, teacher=teacher, rival=rival)
        line = quality(found, names=corpus.labels, groups=groups, samples=samples)
        line |= {**teacher.compared(found), **_of_shipped(candidate, found), "mcnemar": tests}
        line["gain_over_rival"] = gain(found, baseline=rival, samples=samples)
        if not alone:
            line["gain_over_baseline"] = gain(found, baseline=baseline, samples=samples)
        lines.append(line)
    return [{**line, **_positive_f1(line, corpus)} for line in lines]


def _kind(candidate: Candidate) -> str:
    return candidate.shipped.facts().kind


def _of_teacher(teacher: TeacherAnswers) -> dict[str, Any]:
    """It agrees with itself, if it answered any row. It is not tested against others: they are tested against it."""
    has_answers = len(teacher.places) > 0
    return {
        "teacher_agreement": 1.0 if has_answers else None,
        "kl_to_teacher": 0.0 if has_answers else None,
        "judged_rows": len(teacher.places),
        "mcnemar": {"baseline": None, "teacher": None, "rival": None},
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
