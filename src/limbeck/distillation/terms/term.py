"""What all terms are: a module, because some learn a projection along with the student."""

from torch import Tensor, nn

from limbeck.distillation.terms.batch import Batch


class Term(nn.Module):
    """One loss of the recipe, not yet weighted."""

    def forward(self, batch: Batch) -> Tensor:
        """One number."""
        raise NotImplementedError


def projection(source: int, target: int) -> nn.Module:
    """A learned linear map from the student's width to the teacher's; nothing to learn where they agree."""
    return nn.Identity() if source == target else nn.Linear(source, target)
