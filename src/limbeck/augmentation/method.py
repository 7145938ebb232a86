"""What a method of augmentation is: something that changes single words, or something that changes a whole text."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeAlias

from limbeck.artifacts.rows import ROWS_PER_SLICE, Rows
from limbeck.augmentation.words import CutText
from limbeck.progress import Reporter

# Only `random()` is used of it: of all its functions this one gives the same numbers in every version of Python.
Dice: TypeAlias = Random


def pick(dice: Dice, count: int) -> int:
    """A number from 0 to count - 1, each as likely."""
    return int(dice.random() * count)


class SourceText(NamedTuple):
    """One text that copies are made of."""

    key: bytes  # content key of the text, under which a method may have prepared something for it
    cut: CutText


@dataclass(frozen=True)
class Bench:
    """What a method may use while it prepares itself for the rows."""

    language: str  # of the corpus: "en" or "zh"
    processes: int
    store: Path  # a folder for what is worth keeping from run to run
    reporter: Reporter


def texts_of(rows: Rows) -> Iterator[str]:
    """All texts of the rows, and for pairs all second texts."""
    for part in rows.slices(ROWS_PER_SLICE):
        yield from chain(part.texts, part.pairs or [])


class WordMethod(ABC):
    """Changes words one by one. All methods on words share one draw a word: no word is changed by two of them.

    A method is made by a function of its own file that sees all rows, `method(section, rows, bench)`; what comes out
    is sent to every process that makes copies, so it must be picklable, and small beside the rows. Its module
    must import nothing heavy: that would be loaded by every process.
    """

    kind: str
    fraction: float

    @abstractmethod
    def change(self, source: SourceText, position: int, dice: Dice) -> str | None:
        """What the word at this position becomes: another word, DELETED, or None to leave it as it is."""


class TextMethod(ABC):
    """Changes a whole text, after the methods on words had their turn."""

    kind: str

    @abstractmethod
    def change(self, cut: CutText, dice: Dice) -> CutText:
        """The text as it becomes; the same object where it stays as it is."""


class PairMethod(ABC):
    """Makes a new pair of a text and another one, in place of all changes to words and texts."""

    kind: str

    @abstractmethod
    def partner(self, source: SourceText, dice: Dice) -> str | None:
        """Another text to stand beside this one; None where there is none, or where the dice fell otherwise."""


Prepared: TypeAlias = WordMethod | TextMethod | PairMethod
