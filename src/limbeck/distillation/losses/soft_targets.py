"""Match the teacher's softened class distribution."""

from torch import Tensor
from torch.nn import functional as F

from limbeck.distillation.losses.precision import in_full_precision


@in_full_precision
def soft_targets(student_logits: Tensor, teacher_logits: Tensor, *, temperature: float) -> Tensor:
    """KL divergence from teacher to student at temperature T, times T².

        p = softmax(teacher / T)    q = softmax(student / T)
        loss = T² · mean over rows of  Σ_c p_c · (log p_c - log q_c)

    Gradients through a softmax at temperature T shrink as 1/T²; the factor undoes that, so that a weight
    chosen at T = 1 means the same at T = 4 (Hinton et al. 2015, arXiv:1503.02531, section 2).
    Takes raw logits of shape (rows, classes).
    """
    log_q = F.log_softmax(student_logits / temperature, dim=-1)
    log_p = F.log_softmax(teacher_logits / temperature, dim=-1)
    return temperature**2 * F.kl_div(log_q, log_p, reduction="batchmean", log_target=True)
