"""Giving no label: how sure a model is of a row, by one of several scores, and the rows where that is not enough."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, assert_never

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.model_folder import Abstention, ModelFacts

Score = Literal["probability", "margin", "energy"]
Scores = npt.NDArray[np.float64]  # (rows): the higher, the surer
Bools = npt.NDArray[np.bool_]
SCORES: tuple[Score, ...] = ("probability", "margin", "energy")
NO_LABEL = -1
ROUNDING = 1e-6  # scores that differ by less may be in another order on another machine


@dataclass(frozen=True)
class Scored:
    """How sure a model is of each row, and where it gives no label."""

    scores: Scores
    withheld: Bools  # (rows)
    answer: str | None  # what takes the place of a label there

    def labels(self, given: Sequence[str]) -> list[str | None]:
        """The labels, with the answer in the place of those that are withheld."""
        pairs = zip(given, self.withheld.tolist(), strict=True)
        return [self.answer if is_withheld else label for label, is_withheld in pairs]

    def but_for(self, others: Bools) -> "Scored":
        """The same where some rows have the label of another model."""
        return Scored(self.scores, self.withheld & ~others, self.answer)


def scored(logits: npt.NDArray[Any], facts: ModelFacts) -> Scored | None:
    """The scores of rows by their logits, (rows, classes); None for a model that always gives a label."""
    if facts.abstain is None:
        return None
    scores = scores_of(logits, score=facts.abstain.score, temperature=facts.temperature)
    return Scored(scores, scores < facts.abstain.threshold, facts.abstain.answer)


def joined_scores(parts: Sequence[Scored | None]) -> Scored | None:
    """Those of several parts of the rows, of the same model, one after the other; there is at least one part."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    return Scored(
        np.concatenate([part.scores for part in known]),
        np.concatenate([part.withheld for part in known]),
        known[0].answer,
    )


def scores_of(logits: npt.NDArray[Any], *, score: Score, temperature: float) -> Scores:
    """(rows), from logits of (rows, classes) and the temperature that they are calibrated with.

    probability:  p₁, the largest of softmax(z / T)
    margin:       p₁ - p₂, the distance to the second largest; p₁ with a single class
    energy:       log Σ exp(z / T), the negative energy of Liu et al. 2020 (arXiv:2010.03759)
    """
    scaled = np.asarray(logits, dtype=np.float64) / temperature
    if not len(scaled):
        return np.zeros(0)
    largest = scaled.max(axis=1, keepdims=True)
    powers = np.exp(scaled - largest)
    total = powers.sum(axis=1)
    match score:
        case "probability":
            return np.asarray(1 / total)
        case "margin":
            second = np.partition(powers, -2, axis=1)[:, -2] if powers.shape[1] > 1 else 0.0
            return np.asarray((1 - second) / total)
        case "energy":
            return np.asarray(largest[:, 0] + np.log(total))
        case _:
            assert_never(score)


def decided(logits: npt.NDArray[np.float32], abstain: Abstention, *, temperature: float) -> list[int]:
    """For each row the place of its best label, or NO_LABEL where the score is below the threshold; the logits are a
    C-contiguous array.

    The C++ extension, if it is there, decides a row faster than Python finds its best label.
    """
    native = _native_decisions()
    if native is not None:
        return native(logits, SCORES.index(abstain.score), temperature, abstain.threshold)
    scores = scores_of(logits, score=abstain.score, temperature=temperature)
    best = logits.argmax(axis=1) if len(logits) else np.zeros(0, dtype=np.int64)
    found: list[int] = np.where(scores < abstain.threshold, NO_LABEL, best).tolist()
    return found


@cache
def _native_decisions() -> Callable[[npt.NDArray[np.float32], int, float, float], list[int]] | None:
    try:
        from limbeck.runtime._native import decisions
    except ImportError:  # it is not part of this installation, or of an earlier version
        return None
    return decisions


def threshold_above(scores: Scores, place: int) -> float:
    """A threshold below which exactly the first `place` of these ascending scores are: halfway to the next one.

    0 withholds none of them, and their number withholds all; both leave room for rounding on another machine.
    """
    if place == 0:
        return float(scores[0]) - ROUNDING * max(1.0, abs(float(scores[0])))
    if place == len(scores):
        return float(scores[-1]) + ROUNDING * max(1.0, abs(float(scores[-1])))
    return float(scores[place - 1 : place + 1].mean())
