"""Which texts to ask a language model about: in rounds, each chosen by what a first student has learned so far."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, assert_never

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.rows import Rows
from limbeck.models.tfidf import TfidfClassifier, fitted_classifier, sampled_rows
from limbeck.progress import Reporter

Choice = Literal["all", "random", "spread", "uncertain"]
Logits = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]
Ask = Callable[[Places], Logits]

FIRST_ROUND = 100  # texts; each further round doubles what is asked
PATIENCE = 2  # rounds in a row without gain after which no more is asked
CANDIDATES = (
    4  # times as many uncertain texts as are asked, of which they are drawn: near duplicates are uncertain together
)
TEXTS_PER_CLUSTER, MOST_CLUSTERS, DIMENSIONS = 20, 200, 64


@dataclass
class AskedTexts:
    """What is known after the rounds."""

    logits: Logits  # (texts, classes); NaN where there is no answer
    curve: list[dict[str, Any]]  # of each round: texts asked so far, and the accuracy of the first student
    why_stopped: str


def ask_in_rounds(
    rows: Rows, *, choice: Choice, most: int | None, ask: Ask, judge: Rows, truth: Logits, reporter: Reporter
) -> AskedTexts:
    """Ask about texts until the first student stops getting better on the texts `judge`, whose answers are `truth`.

    The first student is TF-IDF with a linear classifier, which takes seconds. `ask` gets places of rows.
    """
    logits = np.full((len(rows), truth.shape[1]), np.nan, dtype=np.float32)
    limit = len(rows) if most is None else min(most, len(rows))
    order, curve = _order(rows, choice), list[dict[str, Any]]()
    why = "all texts are asked" if limit == len(rows) else "as many texts are asked as were wanted"
    student: TfidfClassifier | None = None
    while (asked := int(_is_known(logits).sum())) < limit and len(curve) < limit:
        size = limit if choice == "all" else min(limit, max(FIRST_ROUND, 2 * asked))
        places = _next(rows, choice, logits, order=order, student=student, count=size - asked)
        logits[places] = ask(places)
        if int(_is_known(logits).sum()) == asked:
            why = "no further text got an answer"
            break
        student = _student(rows, logits)
        curve.append({"asked": int(_is_known(logits).sum()), "accuracy": _accuracy(student, judge, truth)})
        reporter.note(f"  {curve[-1]['asked']:,} texts: a first student agrees with the model on {_percent(curve[-1])}")
        if np.isnan(logits[places]).any():
            why = "a limit was reached, or some texts got no answer"
        if choice != "all" and _is_flat(curve, rows=len(judge)):
            why = f"the first student did not get better in {PATIENCE} rounds"
            break
    return AskedTexts(logits, curve, why)


def _percent(point: dict[str, Any]) -> str:
    return "no rows to judge by" if point["accuracy"] is None else f"{point['accuracy']:.1%}"


def _is_known(logits: Logits) -> npt.NDArray[np.bool_]:
    return np.asarray(~np.isnan(logits).any(axis=1))


def _is_flat(curve: list[dict[str, Any]], *, rows: int) -> bool:
    """Whether the last rounds are no better than the best before them, by more than one row in two hundred."""
    if len(curve) <= PATIENCE or not rows:
        return False
    scores = [point["accuracy"] or 0.0 for point in curve]
    return max(scores[-PATIENCE:]) <= max(scores[:-PATIENCE]) + 0.005


def _order(rows: Rows, choice: Choice) -> Places:
    """At random; or one text of each cluster in turn. Keys of texts are random numbers already."""
    drawn = np.argsort(rows.keys[:, 0], kind="stable")
    if choice in ("all", "random"):
        return drawn
    cluster = _clusters(rows)
    rank = np.empty(len(rows), dtype=np.int64)
    for number in np.unique(cluster):
        members = drawn[cluster[drawn] == number]
        rank[members] = np.arange(len(members))
    return drawn[np.argsort(rank[drawn], kind="stable")]


def _clusters(rows: Rows) -> Places:
    """(texts): the number of the cluster of each, by its words."""
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    texts = rows.texts if rows.pairs is None else [f"{a} {b}" for a, b in zip(rows.texts, rows.pairs, strict=True)]
    features = TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\w+|[^\w\s]").fit_transform(texts)
    count = min(MOST_CLUSTERS, max(1, len(rows) // TEXTS_PER_CLUSTER))
    if count < 2 or features.shape[1] <= DIMENSIONS:
        return np.zeros(len(rows), dtype=np.int64)
    vectors = normalize(TruncatedSVD(DIMENSIONS, random_state=0).fit_transform(features))
    found = MiniBatchKMeans(count, n_init=1, random_state=0).fit_predict(vectors)
    return np.asarray(found, dtype=np.int64)


def _next(
    rows: Rows, choice: Choice, logits: Logits, *, order: Places, student: TfidfClassifier | None, count: int
) -> Places:
    """Places of the texts of the next round."""
    left = order[~_is_known(logits)[order]]
    match choice:
        case "all" | "random" | "spread":
            return left[:count]
        case "uncertain" if student is None:
            return left[:count]
        case "uncertain":
            texts, pairs = rows.texts_at(left)
            sure = _sureness(student.logits(texts, pairs), several=not student.is_single and _is_several(logits))
            candidates = np.sort(np.argsort(sure, kind="stable")[: CANDIDATES * count])
            return left[candidates][:count]  # in the order of the clusters
        case _:
            assert_never(choice)


def _is_several(logits: Logits) -> bool:
    """Whether the answers are of several labels per text: logits of one label sum to 0."""
    known = logits[_is_known(logits)]
    return bool(len(known)) and float(np.abs(known.sum(axis=1)).max()) > 1e-2


def _sureness(margins: Logits, *, several: bool) -> npt.NDArray[np.float32]:
    """How far the decision is from being another one."""
    if several:
        return np.asarray(np.abs(margins).min(axis=1))
    best = np.sort(margins, axis=1)
    return np.asarray(best[:, -1] - best[:, -2])


def _labels(logits: Logits) -> npt.NDArray[np.int64]:
    return (logits > 0).astype(np.int64) if _is_several(logits) else logits.argmax(axis=1)


def _student(rows: Rows, logits: Logits) -> TfidfClassifier:
    known = np.flatnonzero(_is_known(logits))
    part, labels = rows.select(known), _labels(logits[known])
    used = sampled_rows(labels, part.characters, classes=logits.shape[1])
    part = part.select(used)
    student, _ = fitted_classifier(part.texts, part.pairs, labels[used], classes=logits.shape[1], class_weights=None)
    return student


def _accuracy(student: TfidfClassifier, judge: Rows, truth: Logits) -> float | None:
    known = np.flatnonzero(_is_known(truth))
    if not len(known):
        return None
    part, right = judge.select(known), _labels(truth[known])
    found = student.logits(part.texts, part.pairs)
    answers = (found > 0).astype(np.int64) if right.ndim == 2 else found.argmax(axis=1)
    is_right = (answers == right).all(axis=1) if right.ndim == 2 else answers == right
    return float(is_right.mean())
