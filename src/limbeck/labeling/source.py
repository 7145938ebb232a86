"""The protocols of a teacher that this room uses, for all kinds of teachers."""

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

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


@dataclass(frozen=True)
class TeacherSource:
    """One teacher as this room sees it: its name and fingerprint, and how to open it."""

    name: str
    fingerprint: str
    open: Callable[[], Teacher]  # called only if the store has no answer for some text
    weight: float = 1.0  # of an ensemble's member; the weights sum to 1
