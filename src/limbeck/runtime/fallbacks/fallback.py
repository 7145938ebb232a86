"""What a cascade asks of the model behind the student, and what is wrong when that cannot answer."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from limbeck.errors import LimbeckError, some
from limbeck.runtime.probabilities import Floats
from limbeck.runtime.row import Row

# In messages options are called as at the command line; a number, an address or WORD after one is its value.
OPTION = re.compile(r"(?<!\S)--(share|threshold|fallback(?:-[a-z]+)*)\b(?: (\d(?:[\d.]*\d)?|[A-Z]+\b|https?://\S+))?")


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


class FallbackOptionsWrong(LimbeckError, ValueError):
    """Options about a fallback that mean nothing, or do not fit together."""


class FallbackMissing(FallbackOptionsWrong):
    """An option about a fallback, and there is none."""

    def __init__(self, *, option: str) -> None:
        advice = "Say which model is to answer the other texts: --fallback FOLDER or --fallback http://…"
        super().__init__(f"--{option} is about a fallback, and there is none", advice=advice)


@contextmanager
def options_in_python() -> Iterator[None]:
    """Errors from here call the options as Python does: `--fallback-model` is `fallback_model`."""
    try:
        yield
    except LimbeckError as error:
        error.what, error.found, error.advice = map(_in_python, (error.what, error.found, error.advice))
        raise


def _in_python(sentence: str) -> str:
    def called(option: re.Match[str]) -> str:
        name, value = option[1].replace("-", "_"), option[2]
        if value is None:
            return name
        return f"{name}={value}" if value[0].isdigit() else f'{name}="{value}"'

    return OPTION.sub(called, sentence)


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
