"""The epochs of a training so far: their losses and dev scores, which one is best, and whether to go on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from limbeck.recipe.teacher import Keep

STEPS_BETWEEN_READINGS = 16
MOST_POINTS = 512  # of the curve of every term; beyond that, every second point is dropped
RISE, FALL = 3.0, 0.1  # an epoch has collapsed if its loss is so many times the lowest, and dev this far below the best


@dataclass
class Progress:
    """The state of a training: everything except tensors that a checkpoint must hold."""

    epoch: int = 0
    step: int = 0  # next step within the epoch
    sums: dict[str, float] = field(default_factory=dict)  # loss terms summed over the epoch's rows so far
    rows: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    best_epoch: int = -1  # the one that is kept; -1 for the start
    points: list[dict[str, float]] = field(default_factory=list)  # a step, and each loss term's mean since the last one
    terms: list[dict[str, float]] = field(default_factory=list)  # of each step since the last point
    start: dict[str, float] | None = None  # validation before the first step, if the start may be kept

    @property
    def best(self) -> dict[str, Any] | None:
        """The entry of the epoch that is kept, or the validation of the start; None before both."""
        return self.start if self.best_epoch < 0 else self.history[self.best_epoch]

    def is_kept(self, validation: dict[str, Any], *, keep: Keep) -> bool:
        """Whether an epoch with this validation takes the place of what was kept so far.

        With "best" it does if it is better on dev. With "latest" it does unless it is worse than the best one so far by
        more than two standard errors: with few rows in dev the best of several epochs is mostly a lucky one, and the
        last, at the lowest learning rate, the better guess.
        """
        if self.best is None:
            return True
        if (sparsity := sparsity_of(validation)) != sparsity_of(self.best):
            return sparsity > sparsity_of(self.best)  # what is not pruned yet is no rival
        if keep == "best":
            return rank(validation) > rank(self.best)
        so_far = [one for one in [self.start, *self.history] if one is not None and sparsity_of(one) == sparsity]
        noise: float = validation["dev_noise"]
        return score_of(validation) >= max(map(score_of, so_far)) - 2 * noise

    def add_step(self, step: int, terms: dict[str, float]) -> None:
        """Add a step to the curves. The points depend only on steps, not on when losses are read."""
        self.terms.append(terms)
        if len(self.terms) >= STEPS_BETWEEN_READINGS:
            self.add_point(step)

    def add_point(self, step: int) -> None:
        """Add a point to the curve of every term, if there was a step since the last point."""
        if not self.terms:
            return
        means = {name: sum(terms[name] for terms in self.terms) / len(self.terms) for name in self.terms[0]}
        self.points.append({"step": step, **means})
        self.terms = []
        if len(self.points) > MOST_POINTS:
            self.points = self.points[::2]

    def has_patience_left(self, patience: int | None) -> bool:
        """Whether to continue: fewer than `patience` epochs have passed since the one that is kept."""
        return patience is None or self.best is None or self.epoch - 1 - self.best_epoch < patience

    @property
    def has_collapsed(self) -> bool:
        """Whether the last epoch undid the training: the loss is back at that of the first epoch or above it, and
        several times the lowest, and dev has fallen far. Loss alone does not say so: its weights may be scheduled."""
        if len(self.history) < 2 or not is_judged(self.history[-1]):
            return False
        *before, last = [one for one in self.history if sparsity_of(one) == sparsity_of(self.history[-1])]
        if not before:  # it may lose much when it is pruned, and go on
            return False
        losses = [epoch["loss"] for epoch in before]
        fall = rank(self.best or last)[0] - rank(last)[0]
        return bool(last["loss"] >= max(losses[0], RISE * min(losses)) and fall >= FALL)


def sparsity_of(entry: Mapping[str, Any]) -> float:
    """The share of weights that had been pruned then."""
    return float(entry.get("sparsity", 0.0))


def is_judged(entry: Mapping[str, Any]) -> bool:
    """Whether an epoch has numbers of dev that say how good it is: pretraining has only a loss there."""
    return "dev_accuracy" in entry or "dev_spearman" in entry


def rank(validation: dict[str, Any]) -> tuple[float, float]:
    """Better is larger: a higher score on dev; at the same score, a lower loss."""
    return score_of(validation), -validation["dev_loss"]


def on_dev(entry: dict[str, Any], *, after: str = "") -> str:
    """Accuracy on dev in words, with macro F1 if epochs are chosen by that; of scores Spearman's correlation."""
    if "dev_spearman" in entry:
        return f"Spearman {entry['dev_spearman']:.3f} on dev{after}"
    chosen_by = f", macro F1 {entry['dev_macro_f1']:.1%}" if "dev_macro_f1" in entry else ""
    return f"{entry['dev_accuracy']:.1%} on dev{after}{chosen_by}"


AVERAGED = "averaged"  # in the entry of a mean of weights, which is no epoch: of how many


def kept_entry(history: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The entry of the epoch whose weights the model has."""
    return next((entry for entry in history if entry.get("kept")), history[-1])


MIN_RISE = 0.005  # of the score on dev, from the best epoch before to the last one
MIN_ROWS = 2  # such a rise must be more than this many rows
LEARNED = 0.02  # of the first epoch's loss: below that the rows are known, and more epochs are not what helps


def is_rising(history: Sequence[Mapping[str, Any]], *, rows: int) -> bool:
    """Whether the last epoch is better on dev than the best before it, by more than half a point and two rows, and
    there is something left to learn: its loss is not next to nothing."""
    history = [epoch for epoch in history if AVERAGED not in epoch]
    scores = [score_of(epoch) for epoch in history]
    losses = [epoch["loss"] for epoch in history if epoch.get("epoch") != 0 and "loss" in epoch]
    if len(scores) < 2 or (losses and losses[-1] < LEARNED * losses[0]):
        return False
    rise = scores[-1] - max(scores[:-1])
    return rise > MIN_RISE and round(rise * rows) > MIN_ROWS


def score_of(epoch: Mapping[str, Any]) -> float:
    """What epochs are chosen by."""
    score: float = epoch["dev_score"] if "dev_score" in epoch else epoch["dev_accuracy"]
    return score


def rise_in_words(history: Sequence[Mapping[str, Any]]) -> str:
    """For a history that is rising: dev before and after the last epoch, and the loss if that was still falling too.
    A head that was fitted before the first epoch is not counted as one."""
    history = [epoch for epoch in history if AVERAGED not in epoch]
    scores = [score_of(epoch) for epoch in history]
    trained = [epoch for epoch in history if epoch.get("epoch") != 0]
    losses = [epoch["loss"] for epoch in trained[-2:] if "loss" in epoch]
    falling = (
        f"; its loss fell from {losses[0]:.3g} to {losses[1]:.3g}" if len(losses) == 2 and losses[1] < losses[0] else ""
    )
    measure = "macro F1 on dev" if "dev_macro_f1" in history[-1] else "on dev"
    last = f"the last of {len(trained)} epochs is the best"
    if "dev_spearman" in history[-1]:
        return f"{last}: Spearman {scores[-1]:.3f} on dev, before it {max(scores[:-1]):.3f}{falling}"
    return f"{last}: {scores[-1]:.1%} {measure}, before it {max(scores[:-1]):.1%}{falling}"
