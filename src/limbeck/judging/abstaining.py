"""What it is worth that a model gives no label where it is not sure: on the judged rows, and on foreign ones."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from limbeck.artifacts.foreign import Foreign
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.rows import runtime_rows
from limbeck.judging.answers import ModelAnswers
from limbeck.judging.metrics import Floats
from limbeck.judging.threshold_worth import foreign_worth, threshold_worth
from limbeck.runtime.abstaining import Score, scores_of
from limbeck.runtime.classifier import load
from limbeck.runtime.risk_coverage import RiskCoverage

MOST_POINTS = 51
MOST_FOREIGN = 2_000


@dataclass(frozen=True)
class Compared:
    """A line of the report, and the answers of the copy that it is about."""

    name: str
    role: str
    answers: ModelAnswers  # of one seed


def abstaining(
    model: ModelFolder, lines: Sequence[Compared], *, foreign: Foreign | None, samples: int
) -> dict[str, Any] | None:
    """The key of the report: risk-coverage curves of the model, which is the first of the lines, and of others.

    With a threshold in its model.json also what that costs and gains, with exact 95 % intervals; with foreign rows,
    how well its scores tell them. None without rows, and if a row may have several labels.
    """
    first = lines[0].answers
    if first.is_multi_label or not len(first.labels):
        return None
    facts, profile = model.facts(), model.profile()
    score: Score = facts.abstain.score if facts.abstain else "probability"
    inside = _scores(first, score)
    on_dev = None if profile is None or profile.abstain is None else asdict(profile.abstain)
    return {
        "model": lines[0].name,
        "score": score,
        "rows": len(first.labels),
        "curves": [_curve(line, score=score, samples=samples) for line in lines if len(line.answers.labels)],
        "threshold": threshold_worth(facts.abstain, inside, first.correct[0]) if facts.abstain else None,
        "on_dev": on_dev,
        "foreign": _foreign(model, foreign, inside, score=score),
    }


def _scores(answers: ModelAnswers, score: Score) -> Floats:
    temperature = answers.temperatures[0] if answers.temperatures else 1.0
    return scores_of(answers.logits[0], score=score, temperature=temperature)


def _curve(line: Compared, *, score: Score, samples: int) -> dict[str, Any]:
    curve = RiskCoverage.of(_scores(line.answers, score), line.answers.correct[0])
    return {
        "name": line.name,
        "role": line.role,
        "aurc": curve.aurc,
        "aurc_ci95": list(curve.aurc_interval(samples=samples)),
        "error": float(1 - line.answers.correct[0].mean()),
        "points": curve.points(MOST_POINTS),
    }


def _foreign(model: ModelFolder, foreign: Foreign | None, inside: Floats, *, score: Score) -> dict[str, Any] | None:
    if foreign is None or not len(foreign.rows):
        return None
    places = np.linspace(0, len(foreign.rows) - 1, num=min(MOST_FOREIGN, len(foreign.rows)), dtype=np.int64)
    facts = model.facts()
    logits = load(model.folder).logits(runtime_rows(foreign.rows.select(places)))
    outside = scores_of(logits, score=score, temperature=facts.temperature)
    return {"source": foreign.source, **foreign_worth(facts.abstain, inside, outside)}
