"""The objective: every loss of the recipe, weighted."""

from collections.abc import Sequence

from torch import Tensor, nn

from limbeck.distillation.terms.batch import Batch
from limbeck.distillation.terms.custom import CustomTerm
from limbeck.distillation.terms.features import feature_term
from limbeck.distillation.terms.layers import layer_term
from limbeck.distillation.terms.logits import LogitTerm
from limbeck.distillation.terms.shapes import Shapes
from limbeck.distillation.terms.term import Term
from limbeck.recipe.losses import AnyLoss, Custom, FeatureLoss, LayerLoss, Loss
from limbeck.training.schedules import value_at


class Objective(nn.Module):
    """The terms of a training. What they learn for themselves, such as projections, is trained with the student."""

    def __init__(self, losses: Sequence[Loss], shapes: Shapes) -> None:
        super().__init__()
        self._losses = list(losses)
        self.terms = nn.ModuleList(term_of(loss, shapes) for loss in losses)

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """The weighted terms by name; the training minimises their sum."""
        found: dict[str, Tensor] = {}
        for loss, term in zip(self._losses, self.terms, strict=True):
            weighted = value_at(loss.weight, batch.done) * term(batch)
            found[loss.name] = found[loss.name] + weighted if loss.name in found else weighted
        return found


def term_of(loss: AnyLoss, shapes: Shapes) -> Term:
    """The term that a loss of the recipe asks for."""
    if isinstance(loss, FeatureLoss):
        return feature_term(loss, shapes)  # type: ignore[arg-type]  # the union has every subclass
    if isinstance(loss, LayerLoss):
        return layer_term(loss, shapes)  # type: ignore[arg-type]
    return CustomTerm(loss) if isinstance(loss, Custom) else LogitTerm(loss, shapes)  # type: ignore[arg-type]
