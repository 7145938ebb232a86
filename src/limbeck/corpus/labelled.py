"""Labelled rows on their way from a file into the corpus: columns of equal length, the label still as it was read."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from limbeck.artifacts.rows import Rows, content_key
from limbeck.text.folding import folded


@dataclass(frozen=True)
class LabelledRows:
    """Rows of one split; `labels` are raw until `labels.py` has named them."""

    ids: list[str]
    texts: list[str]
    pairs: list[str] | None
    labels: list[str]

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
        """Rows of every label."""
        return Counter(self.labels)

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

    def as_rows(self, class_of: dict[str, int]) -> Rows:
        """As rows of an artifact, with class numbers for labels."""
        classes = [class_of[label] for label in self.labels]
        return Rows.of(ids=self.ids, texts=self.texts, pairs=self.pairs, labels=classes)

    def _pairs(self) -> Sequence[str | None]:
        return [None] * len(self) if self.pairs is None else self.pairs


def labelled_rows(values: Iterable[Sequence[str]], *, split: str, is_pair: bool) -> LabelledRows:
    """Rows from (text, label) or (text, pair, label); white space around texts is dropped.

    Ids are the split and the row's place among the rows of its source, from 0, and stay with the row whatever
    split it ends in.
    """
    rows = list(values)
    return LabelledRows(
        ids=[f"{split}-{index}" for index in range(len(rows))],
        texts=[row[0].strip() for row in rows],
        pairs=[row[1].strip() for row in rows] if is_pair else None,
        labels=[row[-1] for row in rows],
    )


def folded_key(text: str, pair: str | None = None) -> bytes:
    """The hash under which texts that differ only in case, white space or width are the same."""
    return content_key(folded(text), None if pair is None else folded(pair))
