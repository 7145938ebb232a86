"""The threshold below which a model gives no label, fitted on dev, and what it is worth there."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.foreign import Foreign
from limbeck.artifacts.model_folder import Abstention, ModelFacts, ModelFolder, save_facts
from limbeck.artifacts.model_profile import AbstainOnDev
from limbeck.artifacts.rows import Rows, runtime_rows
from limbeck.export.profile import profile_rows
from limbeck.recipe.export import Abstain
from limbeck.runtime.abstaining import ROUNDING, scores_of, threshold_above
from limbeck.runtime.risk_coverage import RiskCoverage, foreign_measures
from limbeck.runtime.row import Row

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Logits = npt.NDArray[np.float32]
COVERAGE = 0.95  # if nothing else is asked for
LEAST_ANSWERED = 20  # rows of dev, if the wanted error cannot be reached
MOST_FOREIGN = 2_000


@dataclass(frozen=True)
class OnDev:
    """Scores of dev, ascending, and whether each row is answered right; scores of rows that belong to no class, which
    are ascending too."""

    scores: Floats
    right: Bools | None  # None: dev has no labels
    foreign: Floats

    @classmethod
    def of(cls, scores: Floats, right: Bools | None, foreign: Floats) -> "OnDev":
        order = np.argsort(scores, kind="stable")
        return cls(scores[order], None if right is None else right[order], np.sort(foreign))

    @property
    def cuts(self) -> npt.NDArray[np.int64]:
        """How many rows may be withheld: rows of equal score, up to rounding, are withheld together."""
        rises = np.flatnonzero(np.diff(self.scores) > ROUNDING) + 1
        return np.concatenate([[0], rises])

    def errors(self, cuts: npt.NDArray[np.int64]) -> Floats:
        """The error among what is still answered; a foreign row is a wrong answer."""
        assert self.right is not None, "dev is labelled"
        answered = len(self.scores) - cuts
        wrong = np.concatenate([np.cumsum(~self.right[::-1])[::-1], [0]])[cuts]
        thresholds = np.array([threshold_above(self.scores, cut) for cut in cuts.tolist()])
        foreign = len(self.foreign) - np.searchsorted(self.foreign, thresholds, side="left")
        return np.asarray((wrong + foreign) / np.maximum(answered + foreign, 1))

    def separating(self) -> int:
        """The cut with which most rows are treated right: rows of dev that are answered right, and foreign rows that
        are not answered. Of equal ones, that which answers most."""
        cuts = self.cuts
        thresholds = np.array([threshold_above(self.scores, cut) for cut in cuts.tolist()])
        found = np.searchsorted(self.foreign, thresholds, side="left")
        right = np.ones(len(self.scores), dtype=np.bool_) if self.right is None else self.right
        lost = np.concatenate([[0], np.cumsum(right)])[cuts]
        return int(cuts[np.argmax(found - lost)])


def with_abstention(
    section: Abstain | None,
    folder: Path,
    facts: ModelFacts,
    *,
    rows: Rows,
    logits_of: Callable[[list[Row]], Logits],
    foreign: Foreign | None,
) -> tuple[ModelFacts, AbstainOnDev | None]:
    """The facts of a model with its threshold, written into its scratch folder, and what that is worth on dev.

    `rows` are all of dev; `logits_of` asks the file. The facts stay as they are if the recipe asks for nothing, and
    without rows.
    """
    dev = rows.select(profile_rows(rows))
    if section is None or not len(dev):
        return facts, None
    logits = logits_of(runtime_rows(dev))
    scores = scores_of(logits, score=section.score, temperature=facts.temperature)
    right = np.asarray(logits.argmax(axis=1) == dev.labels) if dev.is_labelled.all() else None
    outside = _foreign_scores(section, facts, foreign, logits_of)
    decides = foreign is not None and foreign.decides
    on_dev = OnDev.of(scores, right, outside if decides else np.zeros(0))
    cut, wanted, is_reached = fitted_cut(section, on_dev)
    threshold = threshold_above(on_dev.scores, cut)
    found = replace(facts, abstain=Abstention(section.score, threshold, section.answer))
    save_facts(folder, found)
    return found, _on_dev(
        scores, right, outside, threshold=threshold, wanted=wanted, is_reached=is_reached, foreign=foreign
    )


def _foreign_scores(
    section: Abstain, facts: ModelFacts, foreign: Foreign | None, logits_of: Callable[[list[Row]], Logits]
) -> Floats:
    if foreign is None or not len(foreign.rows):
        return np.zeros(0)
    places = np.linspace(0, len(foreign.rows) - 1, num=min(MOST_FOREIGN, len(foreign.rows)), dtype=np.int64)
    logits = logits_of(runtime_rows(foreign.rows.select(places)))
    return scores_of(logits, score=section.score, temperature=facts.temperature)


def fitted_cut(section: Abstain, on_dev: OnDev) -> tuple[int, dict[str, float], bool]:
    """How many rows of dev are withheld, what was wanted, and whether that is reached."""
    cuts, count = on_dev.cuts, len(on_dev.scores)
    if section.error is not None and on_dev.right is not None:
        errors = on_dev.errors(cuts)
        reached = np.flatnonzero(errors <= section.error)
        if len(reached):
            return int(cuts[reached[0]]), {"error": section.error}, True
        enough = np.flatnonzero(count - cuts >= min(LEAST_ANSWERED, count))
        return int(cuts[enough[np.argmin(errors[enough])]]), {"error": section.error}, False
    if section.error is None and section.coverage is None and len(on_dev.foreign):
        return on_dev.separating(), {}, True
    coverage = section.coverage if section.coverage is not None else COVERAGE
    may_lose = int((1 - coverage) * count + 1e-9)
    return int(cuts[cuts <= may_lose][-1]), {"coverage": coverage}, section.error is None


def _on_dev(
    scores: Floats,
    right: Bools | None,
    outside: Floats,
    *,
    threshold: float,
    wanted: dict[str, float],
    is_reached: bool,
    foreign: Foreign | None,
) -> AbstainOnDev:
    answered = scores >= threshold
    curve = None if right is None else RiskCoverage.of(scores, right)
    measured: dict[str, Any] | None = None
    if foreign is not None and len(outside):
        withheld = float((outside < threshold).mean())
        measured = {"source": foreign.source, **foreign_measures(scores, outside), "withheld": withheld}
    return AbstainOnDev(
        rows=len(scores),
        wanted=wanted,
        is_reached=is_reached,
        coverage=float(answered.mean()),
        error=None if right is None or not answered.any() else float(1 - right[answered].mean()),
        aurc=None if curve is None else curve.aurc,
        foreign=measured,
    )


def abstaining_in_words(model: ModelFolder) -> str:
    """What a finished model's threshold does on dev, as the end of a sentence; empty without one."""
    abstain, profile = model.facts().abstain, model.profile()
    if abstain is None or profile is None or profile.abstain is None:
        return ""
    found = profile.abstain
    wrong = "" if found.error is None else f", {found.error:.1%} of them wrong"
    missed = "" if found.is_reached else "; the wanted error is not reached on dev"
    return f"; no label below a {abstain.score} of {abstain.threshold:.3f}: answers {found.coverage:.1%}{wrong}{missed}"
