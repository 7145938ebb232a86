"""Losses that say little or nothing on a task with two classes, and why."""

from collections.abc import Sequence

from limbeck.recipe.losses import AnyLoss, Dist, Dkd, StandardisedLogits


def empty_losses(losses: Sequence[AnyLoss], *, classes: int) -> list[str]:
    """One line for each such loss; nothing where there are more classes."""
    if classes != 2:
        return []
    return [note for loss in losses if (note := _note(loss))]


def _note(loss: AnyLoss) -> str | None:
    match loss:
        case StandardisedLogits():
            return (
                "standardised_logits: with two classes every standardised row is (+1, -1) or the reverse, so only "
                "the teacher's best class is left; logit_mse or soft_targets carry more"
            )
        case Dkd() if loss.other_weight:
            return (
                "dkd: with two classes there is one class besides the target, so its part for the others is always "
                "zero; soft_targets says the same as what is left"
            )
        case Dist() if loss.between_classes:
            return (
                "dist: with two classes the correlation over a row's classes is +1 or -1, so that part has no "
                "gradient; within_classes still works, logit_mse carries more"
            )
    return None
