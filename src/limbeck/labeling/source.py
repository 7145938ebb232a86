"""The protocols of a teacher that this room uses, for all kinds of teachers."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

import numpy as np

from limbeck.artifacts.answers import Features, Logits
from limbeck.progress import Bar

Pooling = Literal["cls", "mean"]
Answer = tuple[Logits, Features | None]
Block = tuple[Sequence[str], Sequence[str] | None]  # texts, and second texts


class Teacher(Protocol):
    """Anything that maps texts to logits."""

    def logits(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None,
        *,
        tokens_per_batch: int | None = None,
        bar: Bar | None = None,
    ) -> Logits:
        """(rows, classes) raw logits, in the order of the texts; a row of NaN if it has no answer."""


@runtime_checkable
class FeatureTeacher(Teacher, Protocol):
    """A teacher that also has a feature vector for each text."""

    def logits_and_features(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None,
        *,
        pooling: Pooling,
        tokens_per_batch: int | None = None,
        bar: Bar | None = None,
    ) -> tuple[Logits, Features]:
        """The logits, and (rows, width) features: one vector per text in half precision."""


@runtime_checkable
class BlockTeacher(Teacher, Protocol):
    """A teacher that can tokenise the next block while it computes the current one."""

    def in_turn(
        self,
        blocks: Iterable[Block],
        *,
        pooling: Pooling | None = None,
        tokens_per_batch: int | None = None,
        bar: Bar | None = None,
    ) -> Generator[Answer, None, None]:
        """The result of `logits`, or with a pooling of `logits_and_features`, for one block after the other.

        The next block may be read ahead, on another thread.
        """


@runtime_checkable
class CallTeacher(Teacher, Protocol):
    """A teacher whose calls may cost money and may fail: the answers of each call are stored at once."""

    texts_per_call: int


@runtime_checkable
class PaidTeacher(Teacher, Protocol):
    """A teacher each of whose answers is paid for: every single one is stored as soon as it is there."""

    @property
    def remarks(self) -> list[str]:
        """What is worth saying after it was asked."""

    def one_by_one(
        self, items: Iterator[tuple[int, str, str | None]], *, folder: Path | None, bar: Bar | None = None
    ) -> Generator[tuple[int, Logits | None], None, None]:
        """(number of the row, its logits), in any order, for every (number, text, second text); None if it has no
        answer. It may keep files of its own in the folder of its label store."""


class Portable(Protocol):
    """A teacher that can be opened from a copy of its files, in another process or on another machine; picklable."""

    @property
    def place(self) -> Path:
        """The folder with its files."""

    def opened_in(self, folder: Path) -> Teacher:
        """The teacher, of a copy of that folder."""


@dataclass(frozen=True)
class BlockAnswer:
    """What a worker has answered for a block of texts."""

    number: int  # of the block
    answer: Answer  # rows of NaN where there is none
    failed: int = 0  # texts that the teacher could not read, whatever was tried
    reason: str = ""  # of the first of them


class Runner(Protocol):
    """Asks teachers somewhere else than in this process."""

    def answers(
        self,
        teacher: Portable,
        blocks: Iterator[tuple[int, Block]],
        *,
        pooling: Pooling | None,
        tokens_per_batch: int | None,
        note: Callable[[str], None],
    ) -> Generator[BlockAnswer, None, None]:
        """The answers for (number, texts) of every block, in any order; blocks are taken as there is room for them."""


@dataclass(frozen=True)
class TeacherSource:
    """One teacher as this room sees it: its name and fingerprint, and how to open it."""

    name: str
    fingerprint: str
    open: Callable[[], Teacher]  # called only if the store has no answer for some text
    weight: float = 1.0  # of an ensemble's member; the weights sum to 1
    temperature: float = 1.0  # its logits in the store are divided by it when they are used
    shift: float = 0.0  # and this is subtracted before: scores in the store are in their own units
    portable: Portable | None = None  # if it can be asked somewhere else

    def tempered(self, logits: Logits) -> Logits:
        """Its logits as they are used."""
        if self.shift:
            logits = logits - np.float32(self.shift)
        return logits if self.temperature == 1.0 else logits / np.float32(self.temperature)
