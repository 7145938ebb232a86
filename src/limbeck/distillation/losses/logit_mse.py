"""Match the teacher's logits."""

from torch import Tensor
from torch.nn import functional as F

from limbeck.distillation.losses.precision import in_full_precision


@in_full_precision
def logit_mse(student_logits: Tensor, teacher_logits: Tensor) -> Tensor:
    """Mean squared difference of raw logits.

        loss = mean over rows and classes of  (student - teacher)²

    Ba & Caruana 2014 (arXiv:1312.6184, section 2.2) in the form that Tang et al. 2019 (arXiv:1903.12136,
    equation 3) distil BERT with, up to their sum over classes. Takes logits of shape (rows, classes).
    """
    return F.mse_loss(student_logits, teacher_logits)
