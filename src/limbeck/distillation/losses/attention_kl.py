"""Match where the teacher's attention goes."""

import torch
from torch import Tensor
from torch.nn import functional as F

from limbeck.distillation.losses.padding import mean_over, real_pairs, without_padding
from limbeck.distillation.losses.shapes import must_match

# Finite, so that what it leaves of a padded key is zero times zero: with -inf it would be no number.
NO_ATTENTION = torch.finfo(torch.float32).min


def attention_kl(student_scores: Tensor, teacher_scores: Tensor, mask: Tensor) -> Tensor:
    """KL divergence from the teacher's attention to the student's, over real keys.

        p = softmax over real keys(teacher)    q = softmax over real keys(student)
        loss = mean over heads and real queries of  Σ_keys p · (log p - log q)

    MiniLM's attention transfer (Wang et al. 2020, arXiv:2002.10957, section 3.1), which needs as many heads in the
    student as in the teacher. Takes scores before the softmax, (rows, heads, tokens, tokens) with queries before keys,
    and a mask (rows, tokens).
    """
    must_match(student_scores, teacher_scores)
    padded = ~real_pairs(mask)[:, None]
    log_p = F.log_softmax(teacher_scores.float().masked_fill(padded, NO_ATTENTION), dim=-1)
    log_q = F.log_softmax(student_scores.float().masked_fill(padded, NO_ATTENTION), dim=-1)
    divergence = (log_p.exp() * (log_p - log_q)).sum(dim=-1)  # (rows, heads, queries)
    queries = mask.bool()[:, None]
    return mean_over(queries, without_padding(divergence, queries))
