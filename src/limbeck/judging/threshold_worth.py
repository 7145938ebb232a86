"""What a threshold costs and gains, with exact intervals; and the scores of the rows of `limbeck evaluate`."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.model_folder import Abstention, ModelFacts
from limbeck.judging.metrics import Bools, Floats
from limbeck.judging.significance import SAMPLES, exact_interval
from limbeck.runtime.abstaining import Score, scores_of
from limbeck.runtime.risk_coverage import RiskCoverage, foreign_measures

ERROR = 0.05  # of intervals


def threshold_worth(abstain: Abstention, scores: Floats, right: Bools) -> dict[str, Any]:
    """The share of rows that are answered and the error among them, with exact 95 % intervals."""
    answered = scores >= abstain.threshold
    count, rows = int(answered.sum()), len(scores)
    wrong = int((answered & ~right).sum())
    return {
        **asdict(abstain),
        "answered": count,
        "coverage": count / rows,
        "coverage_ci95": list(exact_interval(count, rows, error=ERROR)),
        "error": wrong / count if count else None,
        "error_ci95": list(exact_interval(wrong, count, error=ERROR)) if count else None,
        "error_of_withheld": (int((~right).sum()) - wrong) / (rows - count) if count < rows else None,
    }


def foreign_worth(abstain: Abstention | None, inside: Floats, outside: Floats) -> dict[str, Any]:
    """How well scores tell foreign rows, and with a threshold the share of them that is withheld."""
    found = foreign_measures(inside, outside)
    if abstain is None:
        return found
    withheld = int((outside < abstain.threshold).sum())
    interval = list(exact_interval(withheld, len(outside), error=ERROR))
    return {**found, "withheld": withheld / len(outside), "withheld_ci95": interval}


class ScoreTally:
    """The scores of judged rows and of rows that belong to no class: a few bytes per row."""

    def __init__(self, facts: ModelFacts) -> None:
        self._facts = facts
        self._score: Score = facts.abstain.score if facts.abstain else "probability"
        self._inside: list[Floats] = []
        self._outside: list[Floats] = []

    def add(self, logits: npt.NDArray[Any]) -> None:
        """Rows that are judged, by their logits of (rows, classes)."""
        self._inside.append(self._scores(logits))

    def add_foreign(self, logits: npt.NDArray[Any]) -> None:
        """Rows that belong to no class."""
        self._outside.append(self._scores(logits))

    def _scores(self, logits: npt.NDArray[Any]) -> Floats:
        return scores_of(logits, score=self._score, temperature=self._facts.temperature)

    def result(self, correct: Bools) -> dict[str, Any] | None:
        """What scores and threshold are worth; `correct` is (rows) of the judged ones. None if a row may have several
        labels."""
        if self._facts.multi_label:
            return None
        inside, abstain = np.concatenate(self._inside), self._facts.abstain
        outside = np.concatenate(self._outside) if self._outside else np.zeros(0)
        curve = RiskCoverage.of(inside, correct)
        return {
            "score": self._score,
            "aurc": curve.aurc,
            "aurc_ci95": curve.aurc_interval(samples=SAMPLES),
            "threshold": threshold_worth(abstain, inside, correct) if abstain else None,
            "foreign": foreign_worth(abstain, inside, outside) if len(outside) else None,
        }


def parted(labels: Sequence[tuple[str, ...]], *, out_of_scope: str | None) -> tuple[list[int], list[int]]:
    """The places of the rows that are judged, and of those whose label means that they belong to no class."""
    if out_of_scope is None:
        return list(range(len(labels))), []
    is_foreign = [found == (out_of_scope,) for found in labels]
    return [at for at, one in enumerate(is_foreign) if not one], [at for at, one in enumerate(is_foreign) if one]
