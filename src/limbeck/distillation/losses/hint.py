"""Match the teacher's features."""

from torch import Tensor
from torch.nn import functional as F

from limbeck.distillation.losses.precision import in_full_precision
from limbeck.distillation.losses.shapes import must_match


@in_full_precision
def hint(student_features: Tensor, teacher_features: Tensor) -> Tensor:
    """Mean squared difference of features.

        loss = mean over rows and width of  (student - teacher)²

    FitNets, Romero et al. 2015 (arXiv:1412.6550, equation 3; their ½ and sum over the width are in the weight).
    Takes features of one width: the student's go through a learned projection before.
    """
    must_match(student_features, teacher_features)
    return F.mse_loss(student_features, teacher_features)
