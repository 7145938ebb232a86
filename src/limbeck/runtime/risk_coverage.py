"""What abstaining is worth: the error among the rows that are still answered, and the foreign rows that are not."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
LOST = 0.05  # share of the rows in scope that the recall of foreign rows may cost
FOUND = 0.95  # share of the foreign rows that `fpr95` wants to be found
MOST_SAMPLES, MOST_DRAWN = 1_000, 5_000_000  # resamples, and rows of all of them together


@dataclass(frozen=True)
class RiskCoverage:
    """Rows from the surest to the least sure, with the share of wrong answers down to each."""

    scores: Floats  # (rows), descending
    wrong: Floats  # (rows): 0 or 1; where scores are equal, their mean, as any order of them is as good

    @classmethod
    def of(cls, scores: Floats, right: Bools) -> "RiskCoverage":
        """From the scores of rows, the higher the surer, and whether each is answered right; at least one row."""
        order = np.argsort(-scores, kind="stable")
        descending = scores[order]
        _, group, sizes = np.unique(-descending, return_inverse=True, return_counts=True)
        wrong = np.bincount(group, weights=~right[order]) / sizes
        return cls(descending, wrong[group])

    @property
    def risks(self) -> Floats:
        """(rows): the error among the rows down to each, whose share is their coverage."""
        return np.asarray(np.cumsum(self.wrong) / np.arange(1, len(self.wrong) + 1))

    @property
    def aurc(self) -> float:
        """The area under the curve, the mean risk over all coverages (Geifman and El-Yaniv 2017, arXiv:1705.08500): the
        lower the better. A perfect score of a model with error e has about e² / 2; one at random has e."""
        return float(self.risks.mean())

    def aurc_interval(self, *, samples: int, seed: int = 0) -> tuple[float, float]:
        """The 95 % interval of the area, from resamples of the rows."""
        count = len(self.wrong)
        samples = min(samples, max(100, min(MOST_SAMPLES, MOST_DRAWN // count)))
        generator = np.random.default_rng(seed)
        found = np.empty(samples)
        for at in range(samples):
            times = np.bincount(generator.integers(count, size=count), minlength=count)
            answered = np.cumsum(times)
            risks = np.cumsum(times * self.wrong) / np.maximum(answered, 1)
            found[at] = (risks * times).sum() / count
        low, high = np.quantile(found, (0.025, 0.975))
        return float(low), float(high)

    def points(self, most: int) -> list[dict[str, float]]:
        """At most this many points of the curve, evenly spread over coverage, by rising coverage, with the threshold
        that gives each: rows of a lower score are not answered."""
        ends = np.flatnonzero(np.append(np.diff(self.scores) < 0, True))
        wanted = np.unique(np.searchsorted(ends, np.linspace(0, len(self.scores) - 1, most)).clip(max=len(ends) - 1))
        risks = self.risks
        return [
            {"coverage": (place + 1) / len(self.scores), "error": float(risks[place]), "threshold": threshold}
            for place, threshold in zip(ends[wanted].tolist(), self.scores[ends[wanted]].tolist(), strict=True)
        ]


def foreign_measures(inside: Floats, outside: Floats) -> dict[str, Any]:
    """How well scores tell foreign rows from rows in scope; there is at least one of each.

    `auroc`: the probability that a row in scope has the higher score, half of it where they are equal.
    `recall_at_5`: the share of the foreign rows that a threshold withholds which loses at most 5 % of those in scope.
    `fpr95`: the share of the rows in scope that a threshold loses which withholds at least 95 % of the foreign rows.
    """
    ascending, foreign = np.sort(inside), np.sort(outside)
    below = np.searchsorted(ascending, outside, side="left")
    above = len(inside) - np.searchsorted(ascending, outside, side="right")
    may_lose = int(LOST * len(inside))
    must_find = int(np.ceil(FOUND * len(outside)))
    return {
        "rows": len(outside),
        "auroc": float(((len(inside) - below + above) / (2 * len(inside))).mean()),
        "recall_at_5": float((outside < ascending[may_lose]).mean()),
        "fpr95": float((inside <= foreign[must_find - 1]).mean()),
    }
