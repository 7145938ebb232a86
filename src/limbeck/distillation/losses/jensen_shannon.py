"""Match the teacher's softened class distribution, without being driven to cover all of it."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from limbeck.distillation.losses.precision import in_full_precision


@in_full_precision
def jensen_shannon(student_logits: Tensor, teacher_logits: Tensor, *, temperature: float) -> Tensor:
    """Jensen-Shannon divergence between teacher and student at temperature T, times T².

        p = softmax(teacher / T)    q = softmax(student / T)    m = (p + q) / 2
        loss = T² · mean over rows of  ½ Σ_c p_c · log(p_c / m_c)  +  ½ Σ_c q_c · log(q_c / m_c)

    Lin 1991 (IEEE Transactions on Information Theory 37, pages 145 to 151), with Hinton's T² as in `soft_targets`.
    It is the same from either side and at most T² · log 2, so that a row the student has quite wrong weighs less than
    with KL; near the teacher it is a quarter of KL. Takes raw logits (rows, classes).
    """
    log_p = F.log_softmax(teacher_logits / temperature, dim=-1)
    log_q = F.log_softmax(student_logits / temperature, dim=-1)
    log_m = torch.logaddexp(log_p, log_q) - math.log(2)
    halves = log_p.exp() * (log_p - log_m) + log_q.exp() * (log_q - log_m)
    return temperature**2 * 0.5 * halves.sum(dim=-1).mean()
