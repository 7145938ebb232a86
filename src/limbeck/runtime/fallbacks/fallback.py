"""What a cascade asks of the model behind the student, and what is wrong when that cannot answer."""

from collections.abc import Sequence
from typing import Protocol

from limbeck.errors import LimbeckError, some
from limbeck.runtime.probabilities import Floats
from limbeck.runtime.row import Row


class Fallback(Protocol):
    """Answers rows that the student is not sure of. Thread-safe; its methods wait for the answer."""

    @property
    def name(self) -> str:
        """What it is, in messages: a folder, or an address without keys."""

    @property
    def slow_seconds(self) -> float | None:
        """An answer that takes longer counts as a failure; None: it may take as long as it likes."""

    @property
    def rows_at_once(self) -> int | None:
        """More rows take several questions, which share one time-out; None: it takes any number."""

    def predict_proba(self, rows: list[Row]) -> Floats:
        """(rows, classes): probabilities in the student's order of labels; a row of NaN has no answer.

        Raises FallbackFailed.
        """

    def close(self) -> None:
        """It is not asked any more: whoever waits for an answer gets FallbackFailed soon."""


class FallbackFailed(LimbeckError):
    """The fallback did not answer, or not with what it was asked for; the student answers instead."""

    def __init__(self, *, name: str, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"the fallback '{name}' did not answer: {reason}",
            advice="The student answers as long as it fails; look at what that server says.",
        )


class FallbackUnusable(LimbeckError):
    """The fallback cannot take the student's place: it has other labels, reads other rows, or is none at all."""

    def __init__(self, *, name: str, reason: str, advice: str) -> None:
        super().__init__(f"'{name}' cannot be a fallback: {reason}", advice=advice)


def refuse_other_labels(found: Sequence[str], *, wanted: Sequence[str], name: str) -> None:
    """Raise FallbackUnusable unless these are the student's labels, in any order; the message says which differ."""
    missing, unknown = sorted(set(wanted) - set(found)), sorted(set(found) - set(wanted))
    if not missing and not unknown:
        return
    parts = [f"it does not have {some(missing)}"] if missing else []
    parts += [f"the student does not have {some(unknown)}"] if unknown else []
    raise FallbackUnusable(
        name=name,
        reason=f"its labels are not those of the student: {'; '.join(parts)}",
        advice="Give a model that was trained for the same labels.",
    )
