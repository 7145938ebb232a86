"""Rows whose label looks wrong, the surest first, each with the reason in words."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.rows import FIRST_UNKNOWN, Rows
from limbeck.errors import some
from limbeck.review.answers import JudgedSplit
from limbeck.review.confident import FEWEST, Doubts, doubts
from limbeck.review.folds import keys_of

NO_LABELS = "(none)"  # of a row that may have several labels, and has none
MODELS, SAME_TEXT = "models", "same text"


@dataclass(frozen=True)
class LabelNames:
    """How labels are written for people, and in the csv that they edit."""

    names: Sequence[str]
    separator: str = "|"
    unknown: Sequence[str] = ()
    is_multi_label: bool = False

    def of(self, label: Any) -> str:
        """The class, or the classes with the separator between them."""
        if np.ndim(label) == 0:
            number = int(label)
            return self.names[number] if number >= 0 else self.unknown[FIRST_UNKNOWN - number]
        return self.separator.join(self.names[number] for number in np.flatnonzero(label).tolist()) or NO_LABELS


@dataclass(frozen=True)
class DoubtfulRow:
    """A row whose label looks wrong."""

    id: str
    split: str
    file: str
    row: int
    text: str
    pair: str | None
    label: str
    suggested: str
    sure: float  # 1 minus the probability of the label; 0 if no model may judge the row
    found_by: str  # MODELS, SAME_TEXT, or both
    reason: str


def doubtful_rows(corpus: Corpus, judged: Sequence[JudgedSplit], naming: LabelNames) -> list[DoubtfulRow]:
    """Rows that the models doubt, and rows whose text has another label elsewhere; in the order of `sure`."""
    contradicted = dict(contradictions(corpus.splits, naming))
    found: dict[str, DoubtfulRow] = {}
    for split in judged:
        for row in _of_split(split, corpus, naming, contradicted):
            found[row.id] = row
    for split_name, rows in corpus.splits.items():  # rows that no model may judge
        for at, row_id in enumerate(rows.ids):
            if row_id in contradicted and row_id not in found:
                found[row_id] = _by_text_alone(corpus, split_name, rows, at, naming, contradicted[row_id])
    return sorted(found.values(), key=lambda row: (-row.sure, row.id))


@dataclass(frozen=True)
class Contradiction:
    """A row whose text has other labels in other rows."""

    reason: str
    usual: str | None  # the label of most of the rows with this text


def contradictions(splits: Mapping[str, Rows], naming: LabelNames) -> Iterator[tuple[str, Contradiction]]:
    """The rows of all splits whose text, ignoring case, width and white space, has several labels; by id."""
    groups: dict[bytes, list[tuple[str, str]]] = defaultdict(list)
    for rows in splits.values():
        known = rows.is_labelled
        for at, key in enumerate(keys_of(rows)):
            if known[at]:
                groups[key].append((rows.ids[at], naming.of(rows.labels[at])))
    for group in groups.values():
        counts = Counter(label for _, label in group)
        if len(counts) < 2:
            continue
        (first, most), (_, second) = counts.most_common(2)
        for row_id, own in group:
            others = [f"{label} × {count:,}" for label, count in counts.most_common() if label != own]
            reason = f"the same text has other labels in other rows: {some(others, most=4)}"
            yield row_id, Contradiction(reason, first if most > second else None)


def _of_split(
    split: JudgedSplit, corpus: Corpus, naming: LabelNames, contradicted: Mapping[str, Contradiction]
) -> Iterator[DoubtfulRow]:
    rows, found = split.rows, doubts(split.probabilities, split.rows.labels)
    for at in found.order.tolist():
        contradiction = contradicted.get(rows.ids[at])
        if not found.is_flagged[at] and contradiction is None:
            continue
        own, by_models = naming.of(rows.labels[at]), bool(found.is_flagged[at])
        suggested = naming.of(found.suggested[at])
        reasons = [_in_words(found, at, naming, split)] if by_models else []
        reasons += [contradiction.reason] if contradiction else []
        if not by_models:
            suggested = contradiction.usual or "" if contradiction else ""
        kinds = [*([MODELS] if by_models else []), *([SAME_TEXT] if contradiction else [])]
        yield DoubtfulRow(
            id=rows.ids[at],
            split=split.split,
            **source_of(corpus, rows.ids[at]),
            text=rows.texts[at],
            pair=None if rows.pairs is None else rows.pairs[at],
            label=own,
            suggested="" if suggested == own else suggested,
            sure=1.0 - float(found.own[at]),
            found_by=" and ".join(kinds),
            reason="; ".join(reasons),
        )


def _in_words(found: Doubts, at: int, naming: LabelNames, split: JudgedSplit) -> str:
    if split.rows.labels.ndim == 1:
        own, other = (naming.of(labels[at]) for labels in (split.rows.labels, found.suggested))
        return f"{split.by}: {other} {found.own[at] + found.margin[at]:.0%}, {own} {found.own[at]:.0%}"
    chances = split.probabilities[at]
    parts = [
        f"{naming.names[number]} {chances[number]:.0%}{', but it is a label' if split.rows.labels[at, number] else ''}"
        for number in np.flatnonzero(split.rows.labels[at] != found.suggested[at]).tolist()
    ]
    return f"{split.by}: {some(parts, most=6)}"


def _by_text_alone(
    corpus: Corpus, split: str, rows: Rows, at: int, naming: LabelNames, contradiction: Contradiction
) -> DoubtfulRow:
    own = naming.of(rows.labels[at])
    return DoubtfulRow(
        id=rows.ids[at],
        split=split,
        **source_of(corpus, rows.ids[at]),
        text=rows.texts[at],
        pair=None if rows.pairs is None else rows.pairs[at],
        label=own,
        suggested=contradiction.usual if contradiction.usual not in (None, own) else "",
        sure=0.0,
        found_by=SAME_TEXT,
        reason=contradiction.reason,
    )


def source_of(corpus: Corpus, row_id: str) -> dict[str, Any]:
    """The file that a row comes from, and which of its rows it is, from 1, without the header."""
    split, _, place = row_id.rpartition("-")
    return {"file": str(corpus.facts["sources"].get(split, "")), "row": int(place) + 1}


def unjudged_classes(corpus: Corpus) -> list[str]:
    """Classes with so few training rows that nothing can be said about their labels."""
    labels = corpus.splits["train"].labels
    counts = (labels == 1).sum(axis=0) if labels.ndim == 2 else np.bincount(labels, minlength=len(corpus.labels))
    return [name for name, count in zip(corpus.labels, counts.tolist(), strict=True) if 0 < count < FEWEST]
