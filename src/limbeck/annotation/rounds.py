"""Which texts to ask a language model about: in rounds, each chosen by what first students have learned so far."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, assert_never

import numpy as np
import numpy.typing as npt

from limbeck.annotation.first_students import (
    FirstStudent,
    Logits,
    Places,
    Texts,
    first_students,
    is_known,
    share_right,
)
from limbeck.artifacts.rows import Rows
from limbeck.progress import Reporter

Choice = Literal["all", "random", "spread", "uncertain"]
Ask = Callable[[Places], Logits]

FIRST_ROUND = 100  # texts; each further round doubles what is asked
PATIENCE = 2  # rounds in a row without gain after which no more is asked
CANDIDATES = (
    4  # times as many uncertain texts as are asked, of which they are drawn: near duplicates are uncertain together
)
TEXTS_PER_CLUSTER, MOST_CLUSTERS, DIMENSIONS = 20, 200, 64
GAIN = 0.005  # in accuracy, that counts as one
SOME_UNANSWERED = "a limit was reached, or some texts got no answer"


@dataclass
class AskedTexts:
    """What is known after the rounds."""

    logits: Logits  # (texts, classes); NaN where there is no answer
    curve: list[dict[str, Any]]  # of each round: texts asked so far, and how good the first students are
    why_stopped: str


@dataclass(frozen=True)
class Judges:
    """What first students are judged by, beside the texts that are asked about."""

    texts: Texts
    truth: Logits  # the model's own answers: whether more of them are worth their price
    several: bool  # labels per text
    checked: Texts | None = None  # what a person has labelled
    labels: Logits | None = None  # these labels, as logits


def ask_in_rounds(
    texts: Texts, *, choice: Choice, most: int | None, ask: Ask, judges: Judges, reporter: Reporter
) -> AskedTexts:
    """Ask about texts until no first student gets better. `ask` gets places of texts."""
    logits = np.full((len(texts.rows), judges.truth.shape[1]), np.nan, dtype=np.float32)
    limit = len(texts.rows) if most is None else min(most, len(texts.rows))
    order, curve = _order(texts, choice), list[dict[str, Any]]()
    why = "all texts are asked" if limit == len(texts.rows) else "as many texts are asked as were wanted"
    student: FirstStudent | None = None
    tried = np.zeros(len(texts.rows), dtype=np.bool_)  # a text without an answer is not paid for again
    while (count := int(tried.sum())) < limit:
        size = limit if choice == "all" else min(limit, max(FIRST_ROUND, 2 * count))
        left = order[~tried[order]]
        places = _next(texts, choice, left, student=student, several=judges.several, count=size - count)
        answered = int(is_known(logits).sum())
        logits[places] = ask(places)
        tried[places] = True
        if np.isnan(logits[places]).any():
            why = SOME_UNANSWERED
        if int(is_known(logits).sum()) == answered:
            why = SOME_UNANSWERED if curve else "no text got an answer"
            break
        if choice == "all":
            curve += _afterwards(texts, logits, order=order, judges=judges)
        student, point = _judged(texts, logits, judges)
        curve.append(point)
        reporter.note(f"  {point['asked']:,} texts: a first student agrees with the model on {_percent(point)}")
        if choice != "all" and _is_flat(curve, rows=len(judges.texts.rows)):
            why = f"the first student did not get better in {PATIENCE} rounds"
            break
    return AskedTexts(logits, curve, why)


def _afterwards(texts: Texts, logits: Logits, *, order: Places, judges: Judges) -> list[dict[str, Any]]:
    """The points of the rounds that there would have been at random, where all texts were asked at once."""
    answered = order[is_known(logits)[order]]
    points, size = list[dict[str, Any]](), FIRST_ROUND
    while size < len(answered):
        part = np.full_like(logits, np.nan)
        part[answered[:size]] = logits[answered[:size]]
        points.append(_judged(texts, part, judges)[1])
        size *= 2
    return points


def _judged(texts: Texts, logits: Logits, judges: Judges) -> tuple[FirstStudent, dict[str, Any]]:
    """The first student that agrees most with the model, and the point of the curve."""
    students = first_students(texts, logits, several=judges.several)
    found = {
        student.name: share_right(student, judges.texts, judges.truth, several=judges.several) for student in students
    }
    best = max(students, key=lambda student: found[student.name] or 0.0)
    point: dict[str, Any] = {"asked": int(is_known(logits).sum()), "accuracy": found[best.name], "by": found}
    if judges.checked is not None and judges.labels is not None:
        point["right"] = share_right(best, judges.checked, judges.labels, several=judges.several)
    return best, point


def _percent(point: Mapping[str, Any]) -> str:
    return "no rows to judge by" if point["accuracy"] is None else f"{point['accuracy']:.1%}"


def _is_flat(curve: list[dict[str, Any]], *, rows: int) -> bool:
    """Whether no first student was better in the last rounds than in the best before them."""
    if len(curve) <= PATIENCE or not rows:
        return False
    return all(_has_stopped([point["by"].get(name) or 0.0 for point in curve]) for name in curve[-1]["by"])


def _has_stopped(scores: list[float]) -> bool:
    return max(scores[-PATIENCE:]) <= max(scores[:-PATIENCE]) + GAIN


def _order(texts: Texts, choice: Choice) -> Places:
    """At random; or one text of each cluster in turn. Keys of texts are random numbers already."""
    drawn = np.argsort(texts.rows.keys[:, 0], kind="stable")
    if choice in ("all", "random"):
        return drawn
    cluster = _clusters(texts)
    rank = np.full(len(texts.rows), len(texts.rows), dtype=np.int64)
    for number in np.unique(cluster[cluster >= 0]):
        members = drawn[cluster[drawn] == number]
        rank[members] = np.arange(len(members))
    return drawn[np.argsort(rank[drawn], kind="stable")]


def _clusters(texts: Texts) -> Places:
    """(texts): the number of the cluster of each, by its vector, else by its words; -1 for one without a vector."""
    from sklearn.cluster import MiniBatchKMeans

    found = np.full(len(texts.rows), -1, dtype=np.int64)
    has_vectors = texts.have_vectors()
    vectors = _of_words(texts.rows) if texts.vectors is None else texts.vectors[has_vectors].astype(np.float32)
    count = min(MOST_CLUSTERS, max(1, len(texts.rows) // TEXTS_PER_CLUSTER))
    if vectors is None or count < 2:
        return np.zeros(len(texts.rows), dtype=np.int64)
    places = np.flatnonzero(has_vectors) if texts.vectors is not None else np.arange(len(texts.rows))
    found[places] = MiniBatchKMeans(min(count, len(places)), n_init=1, random_state=0).fit_predict(vectors)
    return found


def _of_words(rows: Rows) -> npt.NDArray[np.float32] | None:
    """(texts, dimensions) of length 1, by the words of the texts; None where there are too few of them."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    texts = rows.texts if rows.pairs is None else [f"{a} {b}" for a, b in zip(rows.texts, rows.pairs, strict=True)]
    features = TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\w+|[^\w\s]").fit_transform(texts)
    if features.shape[1] <= DIMENSIONS:
        return None
    return np.asarray(normalize(TruncatedSVD(DIMENSIONS, random_state=0).fit_transform(features)), dtype=np.float32)


def _next(
    texts: Texts, choice: Choice, left: Places, *, student: FirstStudent | None, several: bool, count: int
) -> Places:
    """Places of the texts of the next round, among those that are left."""
    match choice:
        case "all" | "random" | "spread":
            return left[:count]
        case "uncertain" if student is None:
            return left[:count]
        case "uncertain":
            sure = _sureness(student.margins(texts.select(left)), several=several)
            candidates = np.sort(np.argsort(sure, kind="stable")[: CANDIDATES * count])
            return left[candidates][:count]  # in the order of the clusters
        case _:
            assert_never(choice)


def _sureness(margins: Logits, *, several: bool) -> npt.NDArray[np.float32]:
    """How far the decision is from being another one; texts that were not read, which are NaN, are sorted last."""
    if several:
        return np.asarray(np.abs(margins).min(axis=1))
    best = np.sort(margins, axis=1)
    return np.asarray(best[:, -1] - best[:, -2])
