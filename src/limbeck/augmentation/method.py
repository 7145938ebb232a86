"""The interfaces of augmentation methods: on single words, on texts, and on pairs."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeAlias

from limbeck.artifacts.rows import ROWS_PER_SLICE, Rows
from limbeck.augmentation.words import CutText
from limbeck.progress import Reporter

# Only its `random()` is used: that function gives the same numbers in every version of Python.
Rng: TypeAlias = Random


def pick(rng: Rng, count: int) -> int:
    """A number from 0 to count - 1, each equally likely."""
    return int(rng.random() * count)


class SourceText(NamedTuple):
    """A text that copies are made of."""

    key: bytes  # content key of the text, by which a method finds what it has prepared for it
    cut: CutText


@dataclass(frozen=True)
class PreparationContext:
    """What a method may use while it prepares for the rows."""

    language: str  # of the corpus: "en" or "zh"
    processes: int
    store: Path  # a folder for results that are reused by later runs
    reporter: Reporter


def texts_of(rows: Rows) -> Iterator[str]:
    """All texts of the rows, and for pairs all second texts."""
    for part in rows.slices(ROWS_PER_SLICE):
        yield from chain(part.texts, part.pairs or [])


class WordMethod(ABC):
    """Changes words one by one. All methods on words share one random draw per word: no word is changed by two of them.

    A method is made by a function in its own file that sees all rows, `method(section, rows, context)`. The result is
    sent to every process that makes copies, so it must be picklable, and small compared with the rows. Its module must
    import nothing heavy, because every process would load it.
    """

    kind: str
    fraction: float

    @abstractmethod
    def change(self, source: SourceText, position: int, rng: Rng) -> str | None:
        """The new word for this position: another word, DELETED, or None to keep it."""


class TextMethod(ABC):
    """Changes a complete text, after the methods on words."""

    kind: str

    @abstractmethod
    def change(self, cut: CutText, rng: Rng) -> CutText:
        """The changed text; the same object if it does not change."""


class PairMethod(ABC):
    """Makes a new pair of a pair, instead of all changes to words and texts."""

    kind: str

    @abstractmethod
    def new_pair(self, sources: Sequence[SourceText], texts: Sequence[str], stays: int, rng: Rng) -> list[str] | None:
        """The texts of the new pair; None if there is none, or if none was drawn. `stays` is the side, drawn for every
        method, of which a text that takes part is kept."""


Prepared: TypeAlias = WordMethod | TextMethod | PairMethod
