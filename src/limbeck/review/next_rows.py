"""Unlabelled rows that are worth labelling next: uncertain, of many kinds, and not nearly the same as another one."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.rows import Rows, runtime_rows
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.pipeline.labels import LabelledRun
from limbeck.progress import Bar, Reporter
from limbeck.review.answers import has_class
from limbeck.review.wrong_labels import LabelNames
from limbeck.runtime.classifier import load
from limbeck.runtime.probabilities import THRESHOLD, probabilities_of
from limbeck.training.temperature import fitted_temperature
from limbeck.transfer.near_duplicates import NearTexts, in_blocks
from limbeck.transfer.shingles import Piece

SIMILAR = 0.8  # Jaccard similarity of near duplicates, as for transfer text
POOL, LEAST_POOL, SHARE = 20, 2, 4  # candidates for each wanted row; at most a quarter of all, if that is enough
WIDTH = 64  # of the vectors that are clustered, where the teacher kept no features
ROWS_AT_A_TIME = 1 << 16
ROWS_PER_CALL = 1024

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class NextRow:
    """A row to be labelled, and what the models say now."""

    id: str
    text: str
    pair: str | None
    teacher: str
    teacher_sure: float
    student: str
    student_sure: float | None
    cluster: int


def uncertainty(probabilities: npt.NDArray[Any], *, multi_label: bool) -> Floats:
    """(rows): 1 if two classes are equally probable, 0 if one is certain. Several labels per row: of the decision that
    is least sure.

        1 - (p_first - p_second),   or   max over classes of  1 - |2 p_c - 1|
    """
    known = np.asarray(probabilities, dtype=np.float64)
    if multi_label:
        return np.asarray(1 - np.abs(2 * known - 1).min(axis=1))
    ordered = np.sort(known, axis=1)
    return np.asarray(1 - (ordered[:, -1] - ordered[:, -2]))


def next_rows(run: LabelledRun, *, count: int, naming: LabelNames, reporter: Reporter) -> list[NextRow]:
    """At most `count` rows of the transfer text, the least certain first; empty for a run without transfer text."""
    rows, multi_label = run.splits.get("transfer"), run.corpus.is_multi_label
    if rows is None or not len(rows):
        return []
    temperature = _temperature(run.labels, run.corpus)
    with reporter.bar("rows to label", total=len(rows), unit="rows") as bar:
        places, doubt = _uncertain(run.labels, rows, temperature, multi_label=multi_label, bar=bar)
    order = np.argsort(-doubt, kind="stable")[: _pool_size(len(places), count)]
    pool, places = rows.select(places[order]), places[order]
    total = len(pool) + sum(map(len, run.corpus.splits.values()))
    with reporter.bar("near duplicates", total=total, unit="rows") as bar:
        is_new = different(pool, run.corpus, bar=bar)
    pool = pool.select(np.flatnonzero(is_new))
    of_teacher = probabilities_of(run.labels.for_rows(pool.ids) / np.float32(temperature), multi_label=multi_label)
    of_student = _student_answers(run.folder, run.corpus, pool)
    doubts = [uncertainty(one, multi_label=multi_label) for one in (of_teacher, of_student) if one is not None]
    clusters = clusters_of(_vectors(run.labels, pool), count=count)
    chosen = spread(np.mean(doubts, axis=0), clusters, count=count)
    return [_row(pool, at, of_teacher, of_student, int(clusters[at]), naming) for at in chosen.tolist()]


def _pool_size(rows: int, count: int) -> int:
    return max(LEAST_POOL * count, min(POOL * count, rows // SHARE))


def _temperature(labels: TeacherLabels, corpus: Corpus) -> float:
    dev = corpus.splits["dev"]
    dev = dev.select(np.flatnonzero(has_class(dev) & labels.covers(dev.ids)))
    return fitted_temperature(labels.for_rows(dev.ids), dev.labels) if len(dev) else 1.0


def _uncertain(
    labels: TeacherLabels, rows: Rows, temperature: float, *, multi_label: bool, bar: Bar
) -> tuple[Ints, Floats]:
    """Places of the rows that the teacher has answered, and how uncertain it is."""
    places, found, start = [], [], 0
    for part in rows.slices(ROWS_AT_A_TIME):
        covered = np.flatnonzero(labels.covers(part.ids))
        logits = labels.for_rows([part.ids[at] for at in covered.tolist()])
        chances = probabilities_of(logits / np.float32(temperature), multi_label=multi_label)
        found.append(uncertainty(chances, multi_label=multi_label))
        places.append(covered + start)
        start += len(part)
        bar.advance(len(part))
    return np.concatenate(places), np.concatenate(found)


def different(pool: Rows, corpus: Corpus, *, bar: Bar) -> npt.NDArray[np.bool_]:
    """(rows): whether a row is no near duplicate of a row of the corpus, or of an earlier row of the pool."""
    near = NearTexts(SIMILAR, language=corpus.language)
    for rows in corpus.splits.values():
        for block in in_blocks(_pieces(rows)):
            near.add(near.traits(block))
            bar.advance(len(block))
    found = []
    for block in in_blocks(_pieces(pool)):
        found.append(near.add_new(near.traits(block)))
        bar.advance(len(block))
    return np.concatenate([np.zeros(0, dtype=np.bool_), *found])


def _pieces(rows: Rows) -> list[Piece]:
    pairs: Sequence[str | None] = rows.pairs if rows.pairs is not None else [None] * len(rows)
    return list(zip(rows.texts, pairs, strict=True))


def _student_answers(folder: Path, corpus: Corpus, pool: Rows) -> npt.NDArray[np.float32] | None:
    """Of the model that ships as the best, in the order of the corpus's classes; None if the run has none yet."""
    best = folder / "models" / "best"
    if not best.is_dir() or not len(pool):
        return None
    model, asked = load(best), runtime_rows(pool)
    if set(model.labels) != set(corpus.labels):
        return None
    parts = [model.predict_proba(asked[start : start + ROWS_PER_CALL]) for start in range(0, len(asked), ROWS_PER_CALL)]
    order = [model.labels.index(name) for name in corpus.labels]
    return np.asarray(np.concatenate(parts)[:, order], dtype=np.float32)


def _vectors(labels: TeacherLabels, pool: Rows) -> npt.NDArray[Any]:
    """(rows, width): the teacher's features, or else the main directions of the words."""
    if labels.has_features:
        return labels.features_for(pool.ids).astype(np.float32)
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [" ".join(filter(None, piece)) for piece in _pieces(pool)]
    if len(texts) < 2:
        return np.zeros((len(texts), 1))
    counts = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True).fit_transform(texts)
    width = min(WIDTH, min(counts.shape) - 1)
    return np.asarray(TruncatedSVD(n_components=max(1, width), random_state=0).fit_transform(counts))


def clusters_of(vectors: npt.NDArray[Any], *, count: int) -> Ints:
    """(rows): the number of each row's cluster, of at most `count` clusters."""
    from sklearn.cluster import MiniBatchKMeans

    if len(vectors) <= count:
        return np.arange(len(vectors), dtype=np.int64)
    scaled = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)
    distinct = len(np.unique(scaled.round(6), axis=0))
    model = MiniBatchKMeans(n_clusters=min(count, distinct), random_state=0, n_init=3)
    return np.asarray(model.fit_predict(scaled), dtype=np.int64)


def spread(doubt: Floats, clusters: Ints, *, count: int) -> Ints:
    """Places of at most `count` rows: the least certain row of every cluster, then the second of each, and so on."""
    order = np.argsort(-doubt, kind="stable")
    turns: dict[int, int] = {}
    turn = np.zeros(len(doubt), dtype=np.int64)
    for at in order.tolist():
        turn[at] = turns.get(int(clusters[at]), 0)
        turns[int(clusters[at])] = int(turn[at]) + 1
    chosen = np.lexsort((-doubt, turn))[:count]
    return np.asarray(chosen[np.argsort(-doubt[chosen], kind="stable")], dtype=np.int64)


def _row(
    pool: Rows,
    at: int,
    of_teacher: npt.NDArray[np.float32],
    of_student: npt.NDArray[np.float32] | None,
    cluster: int,
    naming: LabelNames,
) -> NextRow:
    taught, learned = (None if one is None else _answer(one[at], naming) for one in (of_teacher, of_student))
    assert taught is not None, "a row of the pool has an answer of the teacher"
    return NextRow(
        id=pool.ids[at],
        text=pool.texts[at],
        pair=None if pool.pairs is None else pool.pairs[at],
        teacher=taught[0],
        teacher_sure=taught[1],
        student=learned[0] if learned else "",
        student_sure=learned[1] if learned else None,
        cluster=cluster + 1,
    )


def _answer(chances: npt.NDArray[np.float32], naming: LabelNames) -> tuple[str, float]:
    if naming.is_multi_label:
        return naming.of((chances >= THRESHOLD).astype(np.int64)), round(float(np.abs(2 * chances - 1).min()), 4)
    return naming.of(int(chances.argmax())), round(float(chances.max()), 4)
