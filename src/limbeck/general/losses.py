"""What a general student is trained on: each sentence's vector, which others are near it, and masked words."""

import torch
import torch.nn.functional as F
from torch import Tensor


def vector_cosine(student: Tensor, encoder: Tensor) -> Tensor:
    """1 - cos(student, encoder), the mean over rows of (rows, width); 0 if all directions agree."""
    return 1 - F.cosine_similarity(student, encoder, dim=-1).mean()


def neighbour_kl(student: Tensor, encoder: Tensor, *, temperature: float) -> Tensor:
    """KL divergence between the neighbourhoods of each row within the batch, the mean over rows.

        p_ij = softmax over j ≠ i of cos(e_i, e_j) / T    q_ij likewise for the student
        loss = mean over i of  Σ_j p_ij · (log p_ij - log q_ij)

    Tasks use how sentences differ more than where their vectors point. SEED (Fang et al. 2021, arXiv:2101.04731)
    compares such distributions over a queue of rows; here they are over the batch. One row has no neighbours: 0.
    """
    if len(student) < 2:
        return student.sum() * 0.0
    log_q, log_p = (_log_neighbours(vectors, temperature) for vectors in (student, encoder))
    return F.kl_div(log_q, log_p, reduction="batchmean", log_target=True)


def _log_neighbours(vectors: Tensor, temperature: float) -> Tensor:
    """(rows, rows - 1)"""
    unit = F.normalize(vectors, dim=-1)
    others = ~torch.eye(len(unit), dtype=torch.bool, device=unit.device)
    similar = (unit @ unit.T)[others].view(len(unit), -1)
    return F.log_softmax(similar / temperature, dim=-1)


def soft_words(student: Tensor, teacher: Tensor, *, temperature: float) -> Tensor:
    """KL divergence from the teacher's distribution over the vocabulary to the student's, the mean over masked tokens.

        p = softmax(teacher / T)    q = softmax(student / T)
        loss = T² · mean over masked tokens of  Σ_words p · (log p - log q)

    DistilBERT's distillation loss (Sanh et al. 2019, arXiv:1910.01108, section 2). Takes logits (masked, vocabulary).
    """
    log_q, log_p = (F.log_softmax(logits.float() / temperature, dim=-1) for logits in (student, teacher))
    return temperature**2 * F.kl_div(log_q, log_p, reduction="batchmean", log_target=True)
