"""The objective: every loss of the recipe, weighted."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from limbeck.distillation.terms.term import Batch, Shapes, Term
from limbeck.kinds import LOSS_KINDS, resolved
from limbeck.recipe.losses import AnyLoss, Dist, Dkd, StandardisedLogits
from limbeck.training.schedules import value_at


class Objective(nn.Module):
    """The terms of a training. Their own weights, such as projections, are trained with the student."""

    def __init__(self, losses: Sequence[AnyLoss], shapes: Shapes) -> None:
        super().__init__()
        self._losses = list(losses)
        self.terms = nn.ModuleList(term_of(loss, shapes) for loss in losses)

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """The weighted terms by name; the training minimises their sum."""
        totals: dict[str, Tensor] = {}
        for loss, term in zip(self._losses, self.terms, strict=True):
            weighted = value_at(loss.weight, batch.done) * term(batch)
            if batch.weights and (unit := LOSS_KINDS[loss.kind].mean_over):
                weighted = batch.weights[unit] * weighted
            totals[loss.name] = totals[loss.name] + weighted if loss.name in totals else weighted
        return totals


def term_of(loss: AnyLoss, shapes: Shapes) -> Term:
    """The term that a loss of the recipe asks for."""
    term: Term = resolved(LOSS_KINDS[loss.kind].term)(loss, shapes)
    return term


MIN_SHARE = 0.01  # of the sum of all terms, over the complete training


def weak_terms(history: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line for each term that is less than a hundredth of the sum of its training stage."""
    notes = []
    stages = dict.fromkeys(epoch.get("stage", 1) for epoch in history)
    for stage in stages:
        epochs = [epoch["losses"] for epoch in history if epoch.get("stage", 1) == stage]
        means = {name: sum(abs(losses[name]) for losses in epochs) / len(epochs) for name in epochs[0]}
        total, largest = sum(means.values()), max(means, key=lambda name: means[name])
        notes += [
            f"{name} is {mean / total:.2%} of the loss and {largest} is {means[largest] / total:.0%}: "
            f"raise the weight of {name}, or lower that of {largest}"
            for name, mean in means.items()
            if len(means) > 1 and total > 0 and mean / total < MIN_SHARE
        ]
    return notes


def empty_losses(losses: Sequence[AnyLoss], *, classes: int) -> list[str]:
    """One line for each loss of which a part is always zero or without gradient with two classes; else nothing."""
    if classes != 2:
        return []
    return [note for loss in losses if (note := _note(loss))]


def _note(loss: AnyLoss) -> str | None:
    match loss:
        case StandardisedLogits():
            return (
                "standardised_logits: with two classes every standardised row is (+1, -1) or the reverse, so only "
                "the teacher's best class is left; logit_mse and soft_targets keep more information"
            )
        case Dkd() if loss.other_weight:
            return (
                "dkd: with two classes there is one class besides the target, so its part for the others is always "
                "zero; what is left is the same as soft_targets"
            )
        case Dist() if loss.between_classes:
            return (
                "dist: with two classes the correlation over a row's classes is +1 or -1, so that part has no "
                "gradient; within_classes still works, logit_mse keeps more information"
            )
    return None
