"""Point hidden states where the teacher's point."""

from torch import Tensor
from torch.nn import functional as F

from limbeck.distillation.losses.padding import mean_over, real_tokens, without_padding
from limbeck.distillation.losses.shapes import must_match


def hidden_cosine(student: Tensor, teacher: Tensor, mask: Tensor) -> Tensor:
    """Mean over real tokens of one minus the cosine between the two states.

        loss = mean over real tokens of  1 - (s · t) / (‖s‖ · ‖t‖)

    DistilBERT's third loss (Sanh et al. 2019, arXiv:1910.01108, section 2), there on the last layer. It does not see
    how long the states are. Takes (rows, tokens, width) and a mask (rows, tokens).
    """
    must_match(student, teacher)
    real = real_tokens(mask)
    cosine = F.cosine_similarity(without_padding(student, real), without_padding(teacher, real), dim=-1)
    return mean_over(mask.bool(), without_padding(1 - cosine, mask.bool()))
