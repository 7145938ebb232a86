"""What this room asks of a teacher, whatever kind it is."""

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from limbeck.artifacts.answers import Features, Logits
from limbeck.progress import Bar

Pooling = Literal["cls", "mean"]
Answer = tuple[Logits, Features | None]
Block = tuple[Sequence[str], Sequence[str] | None]  # texts, and second texts


class Teacher(Protocol):
    """Anything that can be asked about texts."""

    def logits(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None,
        *,
        tokens_per_batch: int | None = None,
        bar: Bar | None = None,
    ) -> Logits:
        """(rows, classes) raw logits, in the order of the texts; a row of NaN where it has nothing to say."""


@runtime_checkable
class FeatureTeacher(Teacher, Protocol):
    """A teacher that can also show what it made of a text."""

    def logits_and_features(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None,
        *,
        pooling: Pooling,
        tokens_per_batch: int | None = None,
        bar: Bar | None = None,
    ) -> tuple[Logits, Features]:
        """The logits, and (rows, width) one vector a text in half precision."""


@runtime_checkable
class BlockTeacher(Teacher, Protocol):
    """A teacher that can read the next texts while it thinks about these."""

    def in_turn(
        self,
        blocks: Iterable[Block],
        *,
        pooling: Pooling | None = None,
        tokens_per_batch: int | None = None,
        bar: Bar | None = None,
    ) -> Generator[Answer, None, None]:
        """What `logits`, or with a pooling `logits_and_features`, says of one block after the other.

        Blocks may be taken one ahead, and on another thread.
        """


@runtime_checkable
class CallTeacher(Teacher, Protocol):
    """A teacher that is asked by calls which may cost money and may fail: what one has answered is kept at once."""

    texts_per_call: int


@dataclass(frozen=True)
class TeacherSource:
    """One teacher as this room sees it: who it is, and how to get hold of it."""

    name: str
    fingerprint: str
    open: Callable[[], Teacher]  # called only if some text was never asked
    weight: float = 1.0  # of an ensemble's member; the weights sum to 1
