"""Labelled rows on their way from a file into the corpus: columns of equal length, labels still as they were read."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from limbeck.artifacts.rows import Rows, content_key, folded_key
from limbeck.corpus.labels import Classes

LabelSet = tuple[str, ...]  # each label once, in alphabetical order: equal sets are equal tuples
Label = str | LabelSet
RowValues = tuple[str, *tuple[str, ...], Label]  # (text, label) or (text, pair, label)


@dataclass(frozen=True)
class LabelledRows:
    """Rows of one split; `labels` are raw until `labels.py` has named them.

    Each row has a set of labels, which holds just one unless a row may have several.
    """

    ids: list[str]
    texts: list[str]
    pairs: list[str] | None
    labels: list[LabelSet]

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def exact_keys(self) -> list[bytes]:
        """For every row the hash of its texts, letter by letter."""
        return [content_key(text, pair) for text, pair in zip(self.texts, self._pairs(), strict=True)]

    @cached_property
    def folded_keys(self) -> list[bytes]:
        """For every row the hash of its texts without case, white space and width."""
        return [folded_key(text, pair) for text, pair in zip(self.texts, self._pairs(), strict=True)]

    @cached_property
    def label_counts(self) -> Counter[str]:
        """Rows of every label; a row with several counts for each."""
        return Counter(chain.from_iterable(self.labels))

    @property
    def empty_count(self) -> int:
        """Rows whose text, or whose second text, is empty."""
        return sum(not text or pair == "" for text, pair in zip(self.texts, self._pairs(), strict=True))

    def select(self, positions: Iterable[int]) -> "LabelledRows":
        """The rows at these positions, in this order."""
        chosen = list(positions)
        return LabelledRows(
            ids=[self.ids[at] for at in chosen],
            texts=[self.texts[at] for at in chosen],
            pairs=None if self.pairs is None else [self.pairs[at] for at in chosen],
            labels=[self.labels[at] for at in chosen],
        )

    def as_rows(self, classes: Classes, *, is_multi_label: bool) -> Rows:
        """As rows of an artifact: with class numbers for labels, or with 0 and 1 for every class."""
        numbers = [[classes.class_of[label] for label in labels] for labels in self.labels]
        if not is_multi_label:
            return Rows.of(ids=self.ids, texts=self.texts, pairs=self.pairs, labels=[number for (number,) in numbers])
        marks = np.zeros((len(self), len(classes.names)), dtype=np.int8)  # (rows, classes)
        for at, present in enumerate(numbers):
            marks[at, present] = 1
        return Rows.of(ids=self.ids, texts=self.texts, pairs=self.pairs, labels=marks)

    def _pairs(self) -> Sequence[str | None]:
        return [None] * len(self) if self.pairs is None else self.pairs


def labelled_rows(values: Iterable[RowValues], *, split: str, is_pair: bool) -> LabelledRows:
    """Rows from (text, label) or (text, pair, label); white space around texts is dropped.

    Ids are the split and the row's place among the rows of its source, from 0, and stay with the row whatever
    split it ends in.
    """
    texts: list[str] = []
    pairs: list[str] = []
    labels: list[LabelSet] = []
    kept: dict[LabelSet, LabelSet] = {}  # one object for all rows of the same labels
    for text, *pair, label in values:
        texts.append(text.strip())
        pairs.extend(second.strip() for second in pair)
        whole = (label,) if isinstance(label, str) else label
        labels.append(kept.setdefault(whole, whole))
    ids = [f"{split}-{index}" for index in range(len(texts))]
    return LabelledRows(ids=ids, texts=texts, pairs=pairs if is_pair else None, labels=labels)


def as_label_set(labels: Iterable[str]) -> LabelSet:
    """The labels, each once, without white space around them; what is then empty is no label."""
    return tuple(sorted({stripped for label in labels if (stripped := label.strip())}))
