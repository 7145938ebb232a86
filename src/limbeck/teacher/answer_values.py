"""Whether the numbers in a file of answers are probabilities or logits, and their conversion to logits."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from limbeck.errors import some
from limbeck.teacher.score_columns import AnswerMalformed, Meaning, Values

SUM_TOLERANCE = 1e-2  # files round their numbers, and language models give only the likeliest tokens
ROUNDING = 1e-6  # rounding error of 32-bit arithmetic at 0, at 1 and in a sum
PERCENT_TOLERANCE = 1.0  # how far from 100 the sum of percentages may be: they are rounded too
NEARLY_ALL = 0.95  # share of rows that are probabilities: from here on the others are mistakes, not logits


def are_probabilities(values: Values, *, multi_label: bool) -> npt.NDArray[np.bool_]:
    """(rows): whether all numbers lie between 0 and 1 and, unless multi-label, sum to 1."""
    within = ((values >= -ROUNDING) & (values <= 1 + ROUNDING)).all(axis=1)
    if multi_label:
        return np.asarray(within)
    return np.asarray(within & (np.abs(values.sum(axis=1, dtype=np.float64) - 1) <= SUM_TOLERANCE + ROUNDING))


def logits_of(probabilities: Values, *, least: float, multi_label: bool) -> Values:
    """Logits of these probabilities, which are first clipped to be at least `least` away from 0 and 1.

    Single-label: log p minus the row's mean, the inverse of softmax. Multi-label: log p - log (1 - p), of sigmoid.
    """
    exact = probabilities.astype(np.float64)
    if multi_label:
        kept = np.clip(exact, least, 1 - least)
        return np.asarray(np.log(kept) - np.log1p(-kept), dtype=np.float32)
    kept = np.maximum(exact / exact.sum(axis=1, keepdims=True), least)
    logs = np.log(kept / kept.sum(axis=1, keepdims=True))
    return np.asarray(logs - logs.mean(axis=1, keepdims=True), dtype=np.float32)


@dataclass
class AnswerScale:
    """Collects statistics of the rows while they are read; at the end it knows what their numbers are."""

    path: Path
    names: Sequence[str]  # of the columns
    declared: Meaning | None  # by the recipe or by the names of the columns; None: to be detected
    multi_label: bool
    rows: int = 0
    fitting: int = 0  # rows that are probabilities
    within: bool = True  # whether every number lies between 0 and 1
    first_misfit: tuple[int, list[float]] | None = None
    percent: int = 0  # rows that sum to 100, with no number below 0
    first_percent: tuple[int, list[float]] | None = None

    def add(self, numbers: Sequence[int], values: Values) -> None:
        """Add rows, given with their numbers in the file."""
        fits = are_probabilities(values, multi_label=self.multi_label)
        self.rows += len(fits)
        self.fitting += int(fits.sum())
        self.within = self.within and bool((values >= -ROUNDING).all() and (values <= 1 + ROUNDING).all())
        if self.first_misfit is None and not fits.all():
            place = int(np.argmin(fits))
            self.first_misfit = numbers[place], values[place].tolist()
            if self.declared == "probabilities":
                raise self._misfit(self.first_misfit, "")
        if not self.multi_label:
            self._count_percentages(numbers, values)

    def _count_percentages(self, numbers: Sequence[int], values: Values) -> None:
        off = np.abs(values.sum(axis=1, dtype=np.float64) - 100)
        fits = (values >= -ROUNDING).all(axis=1) & (off <= PERCENT_TOLERANCE + ROUNDING)
        self.percent += int(fits.sum())
        if self.first_percent is None and fits.any():
            place = int(np.argmax(fits))
            self.first_percent = numbers[place], values[place].tolist()

    @property
    def meaning(self) -> Meaning:
        """Probabilities if every row is a distribution. A few rows that are not, among many that are, are an error."""
        if self.declared is not None:
            return self.declared
        if self.first_misfit is None:
            return "probabilities"
        if self.fitting >= NEARLY_ALL * self.rows:
            although = f", although {self.fitting:,} of {self.rows:,} rows are probabilities"
            raise self._misfit(self.first_misfit, although)
        if self.first_percent is not None and self.percent >= NEARLY_ALL * self.rows:
            raise self._misfit(self.first_percent, f": {self.percent:,} of {self.rows:,} rows sum to about 100")
        return "logits"

    def _misfit(self, misfit: tuple[int, list[float]], although: str) -> AnswerMalformed:
        row, values = misfit
        outside = [at for at, value in enumerate(values) if not -ROUNDING <= value <= 1 + ROUNDING]
        column = self.names[outside[0]] if outside else some(self.names)
        reason = "not a probability" if outside else f"the probabilities sum to {sum(values):.4g} and not to 1"
        return AnswerMalformed(
            path=self.path,
            row=row,
            column=column,
            found=f"{values[outside[0]]:.6g}" if outside else some([f"{value:.6g}" for value in values], most=6),
            reason=reason + although,
            advice=_OUTSIDE if outside else _SUM,
        )


_OUTSIDE = (
    'Probabilities lie between 0 and 1 (divide percentages by 100). Correct the row, or say values = "logits" '
    "in [teacher] if these are logits."
)
_SUM = (
    'Correct the row, or say values = "logits" in [teacher] if these are logits; probabilities that need not sum to 1 '
    "are for a corpus with multi_label = true."
)
