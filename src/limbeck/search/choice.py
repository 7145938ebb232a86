"""What a search has found: its trials, the limits, the front, and which trial is chosen."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from math import inf
from typing import Any, Literal

State = Literal["finished", "failed"]


@dataclass(frozen=True)
class CostLimits:
    """What a model may cost; None: no limit."""

    max_us: float | None = None  # for one text on one thread, median
    max_mb: float | None = None  # of its folder

    def excess(self, *, us: float, mb: float) -> dict[str, float]:
        """By how much each limit is exceeded, as a share of it; negative if there is room left."""
        found = {}
        if self.max_us is not None:
            found["us"] = us / self.max_us - 1
        if self.max_mb is not None:
            found["mb"] = mb / self.max_mb - 1
        return found

    def __str__(self) -> str:
        """In words, for messages."""
        words = [f"{self.max_us:g} µs" if self.max_us is not None else "", f"{self.max_mb:g} MB" if self.max_mb else ""]
        return " and ".join(filter(None, words)) or "no limits"


@dataclass(frozen=True)
class Trial:
    """One student of the search. One that failed has a reason, and no numbers."""

    folder: str  # inside `search/`
    state: State
    origin: str  # "recipe", "defaults" or "sampled"
    overrides: list[str] = field(default_factory=list)  # that make it, for `limbeck run --set`
    kind: str = ""
    dev_score: float = -inf  # accuracy, or macro F1
    dev_measure: str = "accuracy"
    us: float = inf
    mb: float = inf
    model: str = ""  # its exported model, inside `folder`
    settings: dict[str, Any] = field(default_factory=dict)  # the main ones, for the table
    reason: str = ""  # why it failed
    near_chance: str = ""  # why it hardly does better on dev than guessing; empty if it does
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """All that is known about it; numbers that were not measured are null."""
        return {key: None if value in (inf, -inf) else value for key, value in asdict(self).items()}

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> "Trial":
        """The same, read again."""
        return cls(**{key: value for key, value in found.items() if value is not None})


def fits(trial: Trial, limits: CostLimits) -> bool:
    """Whether a trial is finished and within the limits."""
    return trial.state == "finished" and all(share <= 0 for share in limits.excess(us=trial.us, mb=trial.mb).values())


def chosen(trials: Sequence[Trial], limits: CostLimits) -> Trial | None:
    """The best dev score within the limits; of equal ones the fastest, then the smallest."""
    within = [trial for trial in trials if fits(trial, limits)]
    return max(within, key=lambda trial: (trial.dev_score, -trial.us, -trial.mb), default=None)


def nearest(trials: Sequence[Trial], limits: CostLimits) -> Trial | None:
    """The trial that exceeds the limits by the smallest share; None if none is finished."""
    finished = [trial for trial in trials if trial.state == "finished"]

    def worst(trial: Trial) -> float:
        return max(limits.excess(us=trial.us, mb=trial.mb).values(), default=0.0)

    return min(finished, key=lambda trial: (worst(trial), -trial.dev_score), default=None)


def front(trials: Sequence[Trial]) -> list[Trial]:
    """The finished trials for which no other is at least as accurate and faster, from the fastest on."""
    kept: list[Trial] = []
    finished = [trial for trial in trials if trial.state == "finished"]
    for trial in sorted(finished, key=lambda trial: (trial.us, -trial.dev_score, trial.mb)):
        if not kept or trial.dev_score > kept[-1].dev_score:
            kept.append(trial)
    return kept
