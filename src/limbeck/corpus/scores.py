"""Scores instead of labels: their scale, their splits by quantiles, and what corpus.json says about them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.rows import Rows
from limbeck.artifacts.score_scale import ScoreScale
from limbeck.corpus.labelled import LabelledRows
from limbeck.errors import DataError
from limbeck.recipe.corpus import CorpusSection

MOST_GROUPS, ROWS_PER_GROUP = 10, 5
QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
FEW_SCORES = 8  # distinct ones: they may be classes
Floats = npt.NDArray[np.float64]


class ScoresAllEqual(DataError):
    """Every training row has the same score."""

    def __init__(self, *, path: str, score: float, rows: int) -> None:
        super().__init__(
            f"all {rows:,} training rows of '{path}' have the score {score:g}: there is nothing to learn",
            advice="Check that `label` names the column of scores.",
        )


class ScoreOutOfRange(DataError):
    """A score lies outside of `score_range`."""

    def __init__(self, *, split: str, path: str, score: float, limits: tuple[float, float], count: int) -> None:
        low, high = limits
        super().__init__(
            f"{count:,} rows of {split} ('{path}') have a score outside of score_range, {low:g} to {high:g}",
            found=f"the first of them: {score:g}",
            advice="Correct these rows, or score_range in [corpus].",
        )


def scores_of(rows: LabelledRows) -> Floats:
    """(rows): as numbers."""
    return np.array([float(score) for (score,) in rows.labels], dtype=np.float64)


def scale_of(section: CorpusSection, splits: Mapping[str, LabelledRows], names: Mapping[str, str]) -> ScoreScale:
    """The scale of train. Raises if all its scores are equal, or if a score of any split is out of range."""
    train = scores_of(splits["train"])
    limits = None if section.score_range is None else (section.score_range[0], section.score_range[1])
    if len(np.unique(train)) < 2:
        raise ScoresAllEqual(path=names["train"], score=float(train[0]), rows=len(train))
    for split, rows in splits.items() if limits else ():
        found = scores_of(rows)
        outside = found[(found < limits[0]) | (found > limits[1])] if limits else found[:0]
        if limits and len(outside):
            path = names.get(split, names["train"])
            raise ScoreOutOfRange(split=split, path=path, score=float(outside[0]), limits=limits, count=len(outside))
    return ScoreScale.of(train, limits=limits)


def by_quantile(rows: LabelledRows) -> LabelledRows:
    """The rows with the name of a group of similar scores as their label: what is cut off or chosen then has scores
    like those of all rows."""
    scores = scores_of(rows)
    groups = max(1, min(MOST_GROUPS, len(rows) // ROWS_PER_GROUP))
    edges = np.unique(np.quantile(scores, np.linspace(0, 1, groups + 1)[1:-1])) if len(rows) else scores
    numbers = np.searchsorted(edges, scores, side="left")
    return replace(rows, labels=[(str(number),) for number in numbers.tolist()])


def as_scored_rows(rows: LabelledRows, scale: ScoreScale) -> Rows:
    """The rows for an artifact, with their scores in standard units."""
    return Rows.of(ids=rows.ids, texts=rows.texts, pairs=rows.pairs, labels=scale.standard(scores_of(rows)))


def score_facts(scale: ScoreScale, splits: Mapping[str, LabelledRows]) -> dict[str, Any]:
    """The keys of corpus.json that only scores have."""
    return {
        "task": "regression",
        "scale": scale.as_json(),
        "rows_per_label": {split: {} for split in splits},
        "scores": {split: _described(scores_of(rows)) for split, rows in splits.items()},
    }


def _described(scores: Floats) -> dict[str, Any]:
    quantiles = np.quantile(scores, QUANTILES).tolist() if len(scores) else None
    return {
        "mean": float(scores.mean()) if len(scores) else None,
        "sd": float(scores.std()) if len(scores) else None,
        "quantiles": quantiles,
        "distinct": len(np.unique(scores)),
    }


def score_lines(facts: Mapping[str, Any]) -> list[str]:
    """What is printed about the scores: their range, and what is suspicious about them."""
    scale, train = facts["scale"], facts["scores"]["train"]
    lines = [
        f"  scores from {scale['low']:g} to {scale['high']:g}; train: mean {scale['mean']:.4g}, "
        f"standard deviation {scale['sd']:.4g}, {train['distinct']:,} different ones"
    ]
    if train["distinct"] <= FEW_SCORES:
        lines.append(
            f"  warning: only {train['distinct']} different scores; if they are classes, remove task from [corpus]"
        )
    for split, found in facts["scores"].items():
        if split != "train" and found["quantiles"] and _is_outside(found["quantiles"], scale):
            low, high = found["quantiles"][0], found["quantiles"][-1]
            lines.append(
                f"  warning: {split} has scores from {low:g} to {high:g}; answers are kept between "
                f"{scale['low']:g} and {scale['high']:g}, as in train: score_range in [corpus] says what there can be"
            )
    return lines


def _is_outside(quantiles: Sequence[float], scale: Mapping[str, Any]) -> bool:
    return bool(quantiles[0] < scale["low"] or quantiles[-1] > scale["high"])
