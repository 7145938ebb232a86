"""Statistics of labels by split: the teacher's entropy, and its class balance next to that of the corpus."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.answers import Logits
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.score_scale import ScoreScale
from limbeck.artifacts.teacher_labels import TeacherLabels

Doubles = npt.NDArray[np.float64]
ROWS_AT_A_TIME = 1 << 18


@dataclass(frozen=True)
class SplitSummary:
    """Statistics of the labels of one split. Shares are from 0 to 1; None if there are no rows."""

    rows: int
    labelled: int
    distinct_texts: int
    entropy: float | None  # mean over the rows, in nats; multi-label: mean over rows and classes
    entropy_share: float | None  # of the entropy of a uniform distribution
    teacher_balance: dict[str, float] | None  # share of the labelled rows that the teacher gives each class
    corpus_balance: dict[str, float] | None  # the same of the corpus's own labels
    teacher_scores: dict[str, float] | None = None  # of scores instead: mean, sd, lowest and highest
    corpus_scores: dict[str, float] | None = None


def summarise(
    labels: TeacherLabels,
    *,
    splits: Mapping[str, Rows],
    classes: Sequence[str],
    multi_label: bool,
    scale: ScoreScale | None = None,
) -> dict[str, SplitSummary]:
    """The summary of each split; labels are read in parts."""
    if scale is not None:
        return {
            split: _of_scores(labels, rows, scale=scale, distinct_texts=labels.facts["splits"][split]["distinct_texts"])
            for split, rows in splits.items()
        }
    return {
        split: _summary(
            labels,
            rows,
            classes=classes,
            multi_label=multi_label,
            distinct_texts=labels.facts["splits"][split]["distinct_texts"],
        )
        for split, rows in splits.items()
    }


def _summary(
    labels: TeacherLabels, rows: Rows, *, classes: Sequence[str], multi_label: bool, distinct_texts: int
) -> SplitSummary:
    entropy, labelled, own_labelled = 0.0, 0, 0
    given, own = np.zeros(len(classes), dtype=np.int64), np.zeros(len(classes), dtype=np.int64)
    for part in rows.slices(ROWS_AT_A_TIME):
        ids = part.table["id"]
        logits = labels.for_rows(ids.filter(labels.covers(ids)))
        entropy += float(entropies(logits, multi_label=multi_label).sum())
        given += chosen(logits, multi_label=multi_label).sum(axis=0)
        labelled += len(logits)
        own += _own_classes(part.labels[part.is_labelled], classes=len(classes)).sum(axis=0)
        own_labelled += int(part.is_labelled.sum())
    most = np.log(2 if multi_label else len(classes))
    return SplitSummary(
        rows=len(rows),
        labelled=labelled,
        distinct_texts=distinct_texts,
        entropy=entropy / labelled if labelled else None,
        entropy_share=entropy / labelled / float(most) if labelled else None,
        teacher_balance=_shares(given, labelled, classes),
        corpus_balance=_shares(own, own_labelled, classes),
    )


def _of_scores(labels: TeacherLabels, rows: Rows, *, scale: ScoreScale, distinct_texts: int) -> SplitSummary:
    ids = rows.table["id"]
    given = scale.scores(labels.for_rows(ids.filter(labels.covers(ids)))[:, 0], clip=False)
    has_own = rows.labels.dtype.kind == "f"
    own = scale.scores(rows.labels[rows.is_labelled], clip=False) if has_own else np.zeros(0)
    return SplitSummary(
        rows=len(rows),
        labelled=len(given),
        distinct_texts=distinct_texts,
        entropy=None,
        entropy_share=None,
        teacher_balance=None,
        corpus_balance=None,
        teacher_scores=_described(given),
        corpus_scores=_described(own),
    )


def _described(scores: Doubles) -> dict[str, float] | None:
    if not len(scores):
        return None
    found = {"mean": scores.mean(), "sd": scores.std(), "lowest": scores.min(), "highest": scores.max()}
    return {name: float(value) for name, value in found.items()}


def entropies(logits: Logits, *, multi_label: bool) -> Doubles:
    """(rows): entropy of the teacher's probabilities, in nats.

    One label:        -Σ_c p_c · log p_c                with p = softmax(z)
    several labels:   mean over c of the same for (p_c, 1 - p_c), which is log(1 + exp z_c) - p_c · z_c
    """
    z = logits.astype(np.float64)
    if multi_label:
        return np.asarray((np.logaddexp(0.0, z) - probabilities(logits, multi_label=True) * z).mean(axis=1))
    log_p = z - np.logaddexp.reduce(z, axis=1, keepdims=True)
    return np.asarray(-(np.exp(log_p) * log_p).sum(axis=1))


def probabilities(logits: Logits, *, multi_label: bool) -> Doubles:
    """(rows, classes): softmax of each row; multi-label: sigmoid of each logit."""
    z = logits.astype(np.float64)
    norm = np.logaddexp(0.0, z) if multi_label else np.logaddexp.reduce(z, axis=1, keepdims=True)
    return np.asarray(np.exp(z - norm))


def chosen(logits: Logits, *, multi_label: bool) -> npt.NDArray[np.bool_]:
    """(rows, classes): whether the teacher gives a row this class."""
    if multi_label:
        return np.asarray(logits >= 0)
    return np.asarray(np.arange(logits.shape[1]) == logits.argmax(axis=1)[:, np.newaxis])


def _own_classes(labels: npt.NDArray[np.int64], *, classes: int) -> npt.NDArray[np.bool_]:
    return np.asarray(labels == 1 if labels.ndim == 2 else labels[:, np.newaxis] == np.arange(classes))


def _shares(counts: npt.NDArray[np.int64], rows: int, classes: Sequence[str]) -> dict[str, float] | None:
    return {name: int(count) / rows for name, count in zip(classes, counts, strict=True)} if rows else None
