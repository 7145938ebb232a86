"""Match how the teacher's queries, keys and values relate among themselves, whatever the number of heads."""

import torch
from torch import Tensor

from limbeck.distillation.losses.attention_kl import attention_kl
from limbeck.distillation.losses.attention_scores import attention_scores
from limbeck.distillation.losses.padding import without_padding


def minilm_v2(
    student: tuple[Tensor, Tensor, Tensor],
    teacher: tuple[Tensor, Tensor, Tensor],
    mask: Tensor,
    *,
    relation_heads: int,
) -> Tensor:
    """Sum of the KL divergences of the query-query, key-key and value-value relations.

        R(X) = softmax(X Xᵀ / √d_r)  for each relation head of X
        loss = Σ over X in (Q, K, V) of  KL(R(X_teacher) ‖ R(X_student))

    each a mean over relation heads and real tokens, as in `attention_kl`. The attention heads are joined and split
    again into `relation_heads`, of width d_r: so heads and widths of teacher and student may both differ. Wang et al.
    2021 (arXiv:2012.15828, section 3) weigh all nine pairings of Q, K and V by α_ij of 0 or 1; these three have 1. They
    take 48 relation heads for base and 64 for large teachers. Takes (queries, keys, values) of each model, of shape
    (rows, heads, tokens, head_width), and a mask (rows, tokens). Raises ValueError where a width does not divide.
    """
    divergences = [
        attention_kl(
            _relation(of_student, mask, relation_heads=relation_heads),
            _relation(of_teacher, mask, relation_heads=relation_heads),
            mask,
        )
        for of_student, of_teacher in zip(student, teacher, strict=True)
    ]
    return torch.stack(divergences).sum()


def _relation(heads: Tensor, mask: Tensor, *, relation_heads: int) -> Tensor:
    """The relation of tokens to each other before the softmax, (rows, relation_heads, tokens, tokens)."""
    joined = heads.transpose(1, 2).flatten(start_dim=2)  # (rows, tokens, width)
    width = joined.shape[-1]
    if relation_heads < 1 or width % relation_heads:
        raise ValueError(f"relation_heads must divide the width: {width} is no multiple of {relation_heads}")
    split = joined.reshape(*joined.shape[:2], relation_heads, width // relation_heads).transpose(1, 2)
    cleared = without_padding(split, mask.bool()[:, None, :, None])
    return attention_scores(cleared, cleared)
