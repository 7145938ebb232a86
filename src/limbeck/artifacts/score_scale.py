"""The scale of a corpus's scores: networks work in standard units, people read the scores as they were given."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
MOST_DIGITS = 12  # of a score that is shown: 0.1 + 0.2 is 0.3


@dataclass(frozen=True)
class ScoreScale:
    """Mean and standard deviation of the scores of train, and the range that scores may have.

        standard = (score - mean) / sd          score = mean + sd · standard

    With `clip`, answers outside of the range become its nearer end.
    """

    mean: float
    sd: float
    low: float
    high: float
    clip: bool = True

    @classmethod
    def of(cls, scores: Sequence[float] | Floats, *, limits: tuple[float, float] | None = None) -> "ScoreScale":
        """Of these scores; the range is `limits`, or else from the lowest of them to the highest."""
        values = np.asarray(scores, dtype=np.float64)
        low, high = limits or (float(values.min()), float(values.max()))
        return cls(mean=float(values.mean()), sd=float(values.std()) or 1.0, low=low, high=high)

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "ScoreScale":
        """As `as_json` wrote it."""
        return cls(**found)

    @property
    def span(self) -> float:
        """The width of the range."""
        return (self.high - self.low) or 1.0

    def as_json(self) -> dict[str, Any]:
        """For a file of facts."""
        return asdict(self)

    def standard(self, scores: npt.NDArray[Any]) -> Floats:
        """In standard units."""
        return np.asarray((np.asarray(scores, dtype=np.float64) - self.mean) / self.sd)

    def scores(self, standard: npt.NDArray[Any], *, clip: bool | None = None) -> Floats:
        """From standard units; clipped as the scale says, or as `clip` does."""
        found = self.mean + self.sd * np.asarray(standard, dtype=np.float64)
        return np.clip(found, self.low, self.high) if (self.clip if clip is None else clip) else found


def is_scale(found: Any) -> bool:
    """Whether this, from JSON that anybody may have written, is a scale."""
    names = ("mean", "sd", "low", "high")
    if not isinstance(found, dict) or set(found) != {*names, "clip"} or not isinstance(found["clip"], bool):
        return False
    values = [found[name] for name in names]
    if not all(type(value) in (int, float) and math.isfinite(value) for value in values):
        return False
    return bool(found["sd"] > 0 and found["low"] <= found["high"])
