"""Losses on layers: hidden states and attention of student and teacher."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from limbeck.distillation.losses.parts import (
    in_full_precision,
    mean_over,
    must_match,
    real_pairs,
    real_tokens,
    without_padding,
)


def attention_mse(student_scores: Tensor, teacher_scores: Tensor, mask: Tensor) -> Tensor:
    """Mean squared difference of attention scores, over pairs of real tokens.

        loss = mean over heads and pairs of real tokens of  (student - teacher)²

    TinyBERT's attention loss (Jiao et al. 2020, arXiv:1909.10351, equation 7), on scores before the softmax; student
    and teacher must have the same number of heads. Their code puts zeros on padded keys and takes the mean over all
    pairs; here padding is excluded. Takes scores (rows, heads, tokens, tokens) and a mask (rows, tokens).
    """
    must_match(student_scores, teacher_scores)
    real = real_pairs(mask)[:, None]
    difference = without_padding(student_scores.float() - teacher_scores.float(), real)
    return mean_over(real, difference.square())


@in_full_precision
def fsp(
    student_lower: Tensor, student_upper: Tensor, teacher_lower: Tensor, teacher_upper: Tensor, mask: Tensor
) -> Tensor:
    """Mean squared difference between the products of two layers.

        G = lowerᵀ · upper / real tokens of the row    (width × width)
        loss = mean over rows and cells of G of  (G_student - G_teacher)²

    Yim et al. 2017 ("A Gift from Knowledge Distillation", CVPR, equations 1 and 2), with tokens instead of image
    positions; they sum over the cells of G where this takes the mean. Takes states (rows, tokens, width), of the same
    width in student and teacher (the caller projects), and a mask (rows, tokens).
    """
    must_match(student_lower, teacher_lower)
    must_match(student_upper, teacher_upper)
    difference = _flow(student_lower, student_upper, mask) - _flow(teacher_lower, teacher_upper, mask)
    return difference.square().mean()


def _flow(lower: Tensor, upper: Tensor, mask: Tensor) -> Tensor:
    """The product of the two layers as a mean over the row's real tokens: (rows, width, width)."""
    real = real_tokens(mask)
    tokens = real.sum(dim=1, keepdim=True).clamp(min=1)  # (rows, 1, 1)
    return without_padding(lower, real).transpose(1, 2) @ without_padding(upper, real) / tokens


def hidden_cosine(student: Tensor, teacher: Tensor, mask: Tensor) -> Tensor:
    """Mean over real tokens of one minus the cosine between the two states.

        loss = mean over real tokens of  1 - (s · t) / (‖s‖ · ‖t‖)

    DistilBERT's third loss (Sanh et al. 2019, arXiv:1910.01108, section 2), there on the last layer. It ignores the
    length of the states. Takes (rows, tokens, width) and a mask (rows, tokens).
    """
    must_match(student, teacher)
    real = real_tokens(mask)
    cosine = F.cosine_similarity(without_padding(student, real), without_padding(teacher, real), dim=-1)
    return mean_over(mask.bool(), without_padding(1 - cosine, mask.bool()))


def hidden_mse(student: Tensor, teacher: Tensor, mask: Tensor) -> Tensor:
    """Mean squared difference of hidden states.

        loss = mean over real tokens and width of  (student - teacher)²

    TinyBERT's hidden-state loss (Jiao et al. 2020, arXiv:1909.10351, equation 8), and with embeddings as states its
    embedding loss (equation 9); the caller projects to the teacher's width. Their mean includes padding, so that it
    depends on how rows are batched. Takes (rows, tokens, width) and a mask (rows, tokens).
    """
    must_match(student, teacher)
    real = real_tokens(mask)
    difference = without_padding(student.float() - teacher.float(), real)
    return mean_over(real, difference.square())


def minilm(
    student_queries: Tensor,
    student_keys: Tensor,
    student_values: Tensor,
    teacher_queries: Tensor,
    teacher_keys: Tensor,
    teacher_values: Tensor,
    mask: Tensor,
) -> Tensor:
    """KL divergence of the attention plus that of the relation between values.

        A = softmax(Q Kᵀ / √d)    VR = softmax(V Vᵀ / √d)
        loss = KL(A_teacher ‖ A_student)  +  KL(VR_teacher ‖ VR_student)

    each a mean over heads and real queries, as in `attention_kl`. Wang et al. 2020 (arXiv:2002.10957, sections 3.1
    and 3.2), on the last layer of each model. The width of a head may differ between teacher and student, the number of
    heads may not. Takes six tensors (rows, heads, tokens, head_width) and a mask (rows, tokens).
    """
    real = mask.bool()[:, None, :, None]

    def scores(first: Tensor, second: Tensor) -> Tensor:
        return attention_scores(without_padding(first, real), without_padding(second, real))

    attention = attention_kl(scores(student_queries, student_keys), scores(teacher_queries, teacher_keys), mask)
    relation = attention_kl(scores(student_values, student_values), scores(teacher_values, teacher_values), mask)
    return attention + relation


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
    again into `relation_heads` of width d_r, so both heads and widths of teacher and student may differ. Wang et al.
    2021 (arXiv:2012.15828, section 3) weigh all nine pairings of Q, K and V by α_ij of 0 or 1; these three have 1. They
    use 48 relation heads for base and 64 for large teachers. Takes (queries, keys, values) of each model, of shape
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
    """The relation between tokens before the softmax, (rows, relation_heads, tokens, tokens)."""
    joined = heads.transpose(1, 2).flatten(start_dim=2)  # (rows, tokens, width)
    width = joined.shape[-1]
    if relation_heads < 1 or width % relation_heads:
        raise ValueError(f"relation_heads must divide the width: {width} is not a multiple of {relation_heads}")
    split = joined.reshape(*joined.shape[:2], relation_heads, width // relation_heads).transpose(1, 2)
    unpadded = without_padding(split, mask.bool()[:, None, :, None])
    return attention_scores(unpadded, unpadded)


@in_full_precision
def nst(student: Tensor, teacher: Tensor, mask: Tensor) -> Tensor:
    """Mean squared difference between the similarities of tokens, over pairs of real tokens of a row.

        G = X Xᵀ  with each token's state in X divided by its length    (tokens × tokens)
        loss = mean over pairs of real tokens of  (G_student - G_teacher)²

    Huang & Wang 2017 (arXiv:1707.01219, section 4) compare the neurons of two layers by maximum mean discrepancy; with
    their squared kernel (x · y)² that is ‖G_student - G_teacher‖² for G = X Xᵀ / width, for any widths. They divide
    each neuron by its length over positions, and TextBrewer's version for text divides nothing; here each token is
    divided by its length, so that neither the size nor a rotation of the states changes the loss. Takes states
    (rows, tokens, width), where the widths may differ, and a mask (rows, tokens).
    """
    difference = _similarities(student, mask) - _similarities(teacher, mask)
    return mean_over(real_pairs(mask), difference.square())


def _similarities(states: Tensor, mask: Tensor) -> Tensor:
    """Cosines between the tokens of each row, (rows, tokens, tokens); zero on padding."""
    unit = F.normalize(without_padding(states, real_tokens(mask)), dim=-1)
    return unit @ unit.transpose(-1, -2)


def pkd(student_states: Tensor, teacher_states: Tensor) -> Tensor:
    """Mean over layers and rows of the squared distance between unit vectors.

        loss = mean over layers and rows of  ‖ s/‖s‖ - t/‖t‖ ‖²

    Sun et al. 2019 (arXiv:1908.09355, section 3.2) sum over layers and rows where this takes the mean: their loss is
    layers · rows times this one. Their code also takes the mean over the width (PyTorch's `mse_loss`), so that their β
    corresponds to β / width here. A row's distance is between 0 (same direction) and 4 (opposite).
    Takes states of the first token, (layers, rows, width), with the layers of both models already paired.
    """
    must_match(student_states, teacher_states)
    student, teacher = F.normalize(student_states.float(), dim=-1), F.normalize(teacher_states.float(), dim=-1)
    return (student - teacher).square().sum(dim=-1).mean()


# Finite, so that a padded key contributes zero times zero; with -inf it would be NaN.
NO_ATTENTION = torch.finfo(torch.float32).min


def attention_kl(student_scores: Tensor, teacher_scores: Tensor, mask: Tensor) -> Tensor:
    """KL divergence from the teacher's attention to the student's, over real keys.

        p = softmax over real keys(teacher)    q = softmax over real keys(student)
        loss = mean over heads and real queries of  Σ_keys p · (log p - log q)

    MiniLM's attention transfer (Wang et al. 2020, arXiv:2002.10957, section 3.1); student and teacher must have the
    same number of heads. Takes scores before the softmax, (rows, heads, tokens, tokens) with queries before keys, and
    a mask (rows, tokens).
    """
    must_match(student_scores, teacher_scores)
    padded = ~real_pairs(mask)[:, None]
    log_p = F.log_softmax(teacher_scores.float().masked_fill(padded, NO_ATTENTION), dim=-1)
    log_q = F.log_softmax(student_scores.float().masked_fill(padded, NO_ATTENTION), dim=-1)
    divergence = (log_p.exp() * (log_p - log_q)).sum(dim=-1)  # (rows, heads, queries)
    queries = mask.bool()[:, None]
    return mean_over(queries, without_padding(divergence, queries))


@in_full_precision
def attention_scores(queries: Tensor, keys: Tensor) -> Tensor:
    """Scaled dot products of queries and keys, without any mask or position bias.

        scores = Q Kᵀ / √head_width

    Vaswani et al. 2017 (arXiv:1706.03762, equation 1). Takes (rows, heads, tokens, head_width) twice; returns
    (rows, heads, tokens, tokens), queries before keys, in float32.
    """
    return queries.float() @ keys.float().transpose(-1, -2) / math.sqrt(queries.shape[-1])
