"""Losses on logits: the student's against the teacher's, or against the labels; and those on scores."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from limbeck.distillation.losses.parts import centred_unit_vectors, in_full_precision


@in_full_precision
def certain_targets(
    student_logits: Tensor, teacher_logits: Tensor, *, temperature: float = 1.0, power: float = 1.0
) -> Tensor:
    """Soft targets at temperature T, in which a row weighs as much as the teacher is certain of it, times T².

        p = softmax(teacher / T)    q = softmax(student / T)    C classes
        w = ( (max softmax(teacher) - 1/C) / (1 - 1/C) )^γ
        loss = T² · Σ over rows of  w · KL(p ‖ q)  /  Σ over rows of  w

    Of a calibrated teacher the largest probability is the chance that it is right, so that w is 0 for a row on which
    it guesses and 1 for one on which it never errs: a row's weight in learning from noisy labels (Natarajan et al.
    2013, section 4), where the noise of each row is known. Takes raw logits (rows, classes).
    """
    classes = teacher_logits.shape[-1]
    chance = 1 / classes
    weights = ((teacher_logits.softmax(dim=-1).amax(dim=-1) - chance) / (1 - chance)).clamp(min=0) ** power
    log_p, log_q = (F.log_softmax(logits / temperature, dim=-1) for logits in (teacher_logits, student_logits))
    return temperature**2 * _weighted_mean((log_p.exp() * (log_p - log_q)).sum(dim=-1), weights)


@in_full_precision
def certain_target_sets(
    student_logits: Tensor, teacher_logits: Tensor, *, temperature: float = 1.0, power: float = 1.0
) -> Tensor:
    """The same for rows with several labels: every class of a row has a weight of its own, |2 σ(teacher) - 1|^γ.

    loss = T² · C · Σ over rows and classes of  w · KL of the two Bernoulli distributions  /  Σ of  w
    """
    teacher, student = teacher_logits / temperature, student_logits / temperature
    weights = (2 * teacher_logits.sigmoid() - 1).abs() ** power
    yes = F.logsigmoid(teacher).exp() * (F.logsigmoid(teacher) - F.logsigmoid(student))
    no = F.logsigmoid(-teacher).exp() * (F.logsigmoid(-teacher) - F.logsigmoid(-student))
    return temperature**2 * teacher_logits.shape[-1] * _weighted_mean(yes + no, weights)


def _weighted_mean(values: Tensor, weights: Tensor) -> Tensor:
    """Zero where no value has a weight."""
    return (values * weights).sum() / weights.sum().clamp(min=torch.finfo(weights.dtype).eps)


@in_full_precision
def dist(
    student_logits: Tensor,
    teacher_logits: Tensor,
    *,
    temperature: float = 1.0,
    between_classes: float = 1.0,
    within_classes: float = 1.0,
) -> Tensor:
    """One minus Pearson's correlation, over the classes of each row and over the rows of each class.

        p = softmax(teacher / T)    q = softmax(student / T)    both (rows, classes)
        between = mean over rows i of     1 - ρ(p_i·, q_i·)
        within  = mean over classes c of  1 - ρ(p_·c, q_·c)
        loss = β · between + γ · within

    Huang et al. 2022 (arXiv:2205.10536). Correlations do not shrink as T grows, so there is no T²
    (the authors' code has one). With two classes `between` is 0 or 2 for each row and has no gradient. `within` needs
    batches of several rows: for a single row it is zero. Where all values are equal, ρ is taken as 0.
    Takes raw logits.
    """
    p = (teacher_logits / temperature).softmax(dim=-1)
    q = (student_logits / temperature).softmax(dim=-1)
    loss = between_classes * _one_minus_correlation(q, p, dim=1)
    if len(q) > 1:
        loss = loss + within_classes * _one_minus_correlation(q, p, dim=0)
    return loss


def _one_minus_correlation(student: Tensor, teacher: Tensor, *, dim: int) -> Tensor:
    correlations = (centred_unit_vectors(student, dim=dim) * centred_unit_vectors(teacher, dim=dim)).sum(dim=dim)
    return 1 - correlations.mean()


NO_LABEL = -1


@in_full_precision
def dkd(
    student_logits: Tensor,
    teacher_logits: Tensor,
    labels: Tensor,
    *,
    temperature: float = 4.0,
    target_weight: float = 1.0,
    other_weight: float = 8.0,
) -> Tensor:
    """Decoupled distillation: KL of target against rest plus KL among the others, both at temperature T, times T².

        p = softmax(teacher / T)    q = softmax(student / T)    t = target class
        target = KL( (p_t, 1 - p_t) ‖ (q_t, 1 - q_t) )
        others = KL( p̂ ‖ q̂ )   with p̂, q̂ the softmax over the classes other than t
        loss = T² · mean over rows of  α · target + β · others

    Zhao et al. 2022 (arXiv:2203.08679, section 3; α = 1, β = 8 and T = 4 are those of their code). Plain KL has
    β = 1 - p_t, which makes the second part tiny where the teacher is confident. With two classes there is only one
    other class and the second part is zero. The target class is the label; for rows labelled -1 (transfer text) it is
    the teacher's most probable class. Takes raw logits (rows, classes) and class numbers (rows).
    """
    targets = torch.where(labels == NO_LABEL, teacher_logits.argmax(dim=-1), labels)
    teacher, student = teacher_logits / temperature, student_logits / temperature
    target_part = _divergence(_target_against_rest(teacher, targets), _target_against_rest(student, targets))
    other_part = _divergence(_among_others(teacher, targets), _among_others(student, targets))
    return temperature**2 * (target_weight * target_part + other_weight * other_part).mean()


def _divergence(log_p: Tensor, log_q: Tensor) -> Tensor:
    return (log_p.exp() * (log_p - log_q)).sum(dim=-1)  # (rows)


def _target_against_rest(logits: Tensor, targets: Tensor) -> Tensor:
    """(rows, 2) log probabilities: the target class, and all others together."""
    target = logits.gather(1, targets[:, None])
    rest = _without_target(logits, targets).logsumexp(dim=-1, keepdim=True)
    return F.log_softmax(torch.cat([target, rest], dim=-1), dim=-1)


def _among_others(logits: Tensor, targets: Tensor) -> Tensor:
    """(rows, classes - 1) log probabilities, given that the class is not the target."""
    return F.log_softmax(_without_target(logits, targets), dim=-1)


def _without_target(logits: Tensor, targets: Tensor) -> Tensor:
    """(rows, classes - 1); gathered, because a mask of -inf would turn the target's own term into 0 · inf."""
    places = torch.arange(logits.shape[1] - 1, device=logits.device)
    return logits.gather(1, places + (places >= targets[:, None]))


@in_full_precision
def jensen_shannon(student_logits: Tensor, teacher_logits: Tensor, *, temperature: float) -> Tensor:
    """Jensen-Shannon divergence between teacher and student at temperature T, times T².

        p = softmax(teacher / T)    q = softmax(student / T)    m = (p + q) / 2
        loss = T² · mean over rows of  ½ Σ_c p_c · log(p_c / m_c)  +  ½ Σ_c q_c · log(q_c / m_c)

    Lin 1991 (IEEE Transactions on Information Theory 37, pages 145 to 151), with Hinton's T² as in `soft_targets`.
    It is symmetric and at most T² · log 2, so that a row the student gets badly wrong weighs less than with KL; close
    to the teacher it is a quarter of KL. Takes raw logits (rows, classes).
    """
    log_p = F.log_softmax(teacher_logits / temperature, dim=-1)
    log_q = F.log_softmax(student_logits / temperature, dim=-1)
    log_m = torch.logaddexp(log_p, log_q) - math.log(2)
    halves = log_p.exp() * (log_p - log_m) + log_q.exp() * (log_q - log_m)
    return temperature**2 * 0.5 * halves.sum(dim=-1).mean()


@in_full_precision
def logit_mse(student_logits: Tensor, teacher_logits: Tensor) -> Tensor:
    """Mean squared difference of raw logits.

        loss = mean over rows and classes of  (student - teacher)²

    Ba & Caruana 2014 (arXiv:1312.6184, section 2.2) in the form with which Tang et al. 2019 (arXiv:1903.12136,
    equation 3) distil BERT, except that they sum over classes. Takes logits of shape (rows, classes).
    """
    return F.mse_loss(student_logits, teacher_logits)


@in_full_precision
def probability_mse(student_logits: Tensor, teacher_logits: Tensor, *, temperature: float = 1.0) -> Tensor:
    """Squared distance of the two distributions, at temperature T.

        p = softmax(teacher / T)    q = softmax(student / T)
        loss = mean over rows of  Σ_c (p_c - q_c)²

    The Brier score (Brier 1950) with the teacher's probabilities in place of the outcome. Each term is at most 2, so
    that a row on which the teacher is far off pulls less than with logits. There is no T²: the gradient shrinks as T
    grows.
    Takes raw logits (rows, classes).
    """
    p, q = (teacher_logits / temperature).softmax(dim=-1), (student_logits / temperature).softmax(dim=-1)
    return (p - q).square().sum(dim=-1).mean()


@in_full_precision
def probability_mse_sets(student_logits: Tensor, teacher_logits: Tensor, *, temperature: float = 1.0) -> Tensor:
    """The same for rows with several labels: every class has a probability of its own.

    p = σ(teacher / T)    q = σ(student / T)
    loss = mean over rows of  Σ_c (p_c - q_c)²
    """
    p, q = (teacher_logits / temperature).sigmoid(), (student_logits / temperature).sigmoid()
    return (p - q).square().sum(dim=-1).mean()


@in_full_precision
def soft_target_sets(student_logits: Tensor, teacher_logits: Tensor, *, temperature: float) -> Tensor:
    """KL divergence between two Bernoulli distributions per class, at temperature T, summed over classes, times T².

        p = σ(teacher / T)    q = σ(student / T)
        loss = T² · mean over rows of  Σ_c  p_c log(p_c / q_c)  +  (1 - p_c) log((1 - p_c) / (1 - q_c))

    A softmax would make labels compete that do not exclude each other; this applies Hinton et al. 2015
    (arXiv:1503.02531) to each class's own yes or no. Takes raw logits (rows, classes).
    """
    teacher, student = teacher_logits / temperature, student_logits / temperature
    yes = F.logsigmoid(teacher).exp() * (F.logsigmoid(teacher) - F.logsigmoid(student))
    no = F.logsigmoid(-teacher).exp() * (F.logsigmoid(-teacher) - F.logsigmoid(-student))
    return temperature**2 * (yes + no).sum(dim=-1).mean()


@in_full_precision
def soft_targets(student_logits: Tensor, teacher_logits: Tensor, *, temperature: float | Tensor) -> Tensor:
    """KL divergence from teacher to student at temperature T, times T².

        p = softmax(teacher / T)    q = softmax(student / T)
        loss = T² · mean over rows of  Σ_c p_c · (log p_c - log q_c)

    Gradients through a softmax at temperature T shrink as 1/T²; the factor compensates for that, so that a weight
    chosen at T = 1 means the same at T = 4 (Hinton et al. 2015, arXiv:1503.02531, section 2).
    Takes raw logits of shape (rows, classes), and a temperature for all rows or for each, (rows, 1).
    """
    log_q = F.log_softmax(student_logits / temperature, dim=-1)
    log_p = F.log_softmax(teacher_logits / temperature, dim=-1)
    divergences = F.kl_div(log_q, log_p, reduction="none", log_target=True).sum(dim=-1, keepdim=True)  # (rows, 1)
    return (temperature**2 * divergences).mean()


@in_full_precision
def standardised_logits(student_logits: Tensor, teacher_logits: Tensor, *, temperature: float = 2.0) -> Tensor:
    """Soft targets at temperature T on z-scored logits, times T².

        z(x) = (x - mean x) / σ(x)    σ(x) = √( (1/C) Σ_c (x_c - mean x)² )    over the C classes of a row
        loss = T² · mean over rows of  KL( softmax(z(teacher) / T) ‖ softmax(z(student) / T) )

    Sun et al. 2024 (arXiv:2403.01427, algorithms 1 and 2). σ is the population's, with 1/C, as in the paper; the
    authors' code divides by C - 1, which equals a temperature √(C / (C - 1)) times as high here. With two classes z is
    (1, -1) or (-1, 1) for any logits: only the teacher's choice is left, and no gradient. A row of equal logits has
    z = 0. Takes raw logits (rows, classes).
    """
    student, teacher = _z_scores(student_logits), _z_scores(teacher_logits)
    return soft_targets(student, teacher, temperature=temperature)


def _z_scores(logits: Tensor) -> Tensor:
    return math.sqrt(logits.shape[-1]) * centred_unit_vectors(logits)


UNLABELLED = -1


@in_full_precision
def hard_labels(
    student_logits: Tensor, labels: Tensor, *, class_weights: Tensor | None = None, smoothing: float = 0.0
) -> Tensor:
    """Cross-entropy to the class of each labelled row; rows labelled -1 (transfer text) contribute nothing.

        y = (1 - ε) · onehot(label) + ε / C
        loss = mean over labelled rows of  Σ_c w_c · y_c · -log softmax(student)_c

    with w = 1 where no class weights are given, and the smoothing ε of Szegedy et al. 2016 (arXiv:1512.00567,
    section 7), over C classes. It is divided by the number of rows, not by their weights as in PyTorch, so that
    accumulated batches add up to the loss of one large batch. Takes raw logits (rows, classes) and class numbers
    (rows). A batch without any label gives zero.
    """
    labelled = labels != UNLABELLED
    total = F.cross_entropy(
        student_logits,
        labels,
        weight=class_weights,
        ignore_index=UNLABELLED,
        label_smoothing=smoothing,
        reduction="sum",
    )
    return total / labelled.sum().clamp(min=1)


UNLABELLED_SET = -1


@in_full_precision
def hard_label_sets(
    student_logits: Tensor, labels: Tensor, *, class_weights: Tensor | None = None, smoothing: float = 0.0
) -> Tensor:
    """Binary cross-entropy of every class separately; rows of -1 (transfer text) contribute nothing.

        y = (1 - ε) · label + ε / 2
        loss = mean over labelled rows and classes of  -( w_c · y · log σ(s)  +  (1 - y) · log(1 - σ(s)) )

    with w = 1 where no class weights are given: the weight applies to positive labels, as PyTorch's `pos_weight`. The
    smoothing ε pulls every yes or no towards ½. Takes raw logits and labels of 0 and 1, both (rows, classes). A batch
    without labels gives zero.
    """
    labelled = (labels != UNLABELLED_SET).all(dim=1)
    targets = labels.clamp(min=0).to(student_logits.dtype) * (1 - smoothing) + smoothing / 2
    cells = F.binary_cross_entropy_with_logits(student_logits, targets, pos_weight=class_weights, reduction="none")
    return (cells.mean(dim=1) * labelled).sum() / labelled.sum().clamp(min=1)


# ---- scores: outputs are (rows, 1), in standard units ----


@in_full_precision
def score_labels(student_logits: Tensor, labels: Tensor) -> Tensor:
    """Mean squared error to the score of each row; rows without one (NaN: transfer text) contribute nothing.

        loss = mean over rows with a score of  (student - score)²

    Takes outputs (rows, 1) and scores (rows), both in standard units. A batch without any score gives zero.
    """
    known = ~labels.isnan()
    wanted = torch.where(known, labels, 0.0).to(student_logits.dtype)
    return ((student_logits[:, 0] - wanted).square() * known).sum() / known.sum().clamp(min=1)


@in_full_precision
def huber(student_logits: Tensor, teacher_logits: Tensor, *, delta: float = 1.0) -> Tensor:
    """Huber's loss: squared for small differences, linear for large ones, so that a few strange scores pull less.

        d = student - teacher
        loss = mean over rows of  ½ d²  if |d| ≤ δ,  else  δ (|d| - ½ δ)

    Huber 1964 (doi:10.1214/aoms/1177703732, equation 2.1 and what follows it). Takes outputs (rows, 1) in standard
    units: δ = 1 is one standard deviation of the scores of train.
    """
    return F.huber_loss(student_logits, teacher_logits, delta=delta)


@in_full_precision
def ranking(student_logits: Tensor, teacher_logits: Tensor, *, margin: float = 0.0) -> Tensor:
    """Pairwise ranking within a batch: which of two rows has the higher score.

        over all pairs of rows i, j with  teacher_i - teacher_j > margin:
        loss = mean of  log(1 + exp(-(student_i - student_j)))

    RankNet's loss (Burges et al. 2005, doi:10.1145/1102351.1102363, section 3) with the teacher's order as the truth.
    It says nothing about where scores lie: use it beside a loss that does. Takes outputs (rows, 1). A batch without
    such a pair gives zero.
    """
    student, teacher = student_logits[:, 0], teacher_logits[:, 0]
    is_above = teacher[:, None] - teacher[None, :] > margin  # (rows, rows)
    losses = F.softplus(student[None, :] - student[:, None])
    return (losses * is_above).sum() / is_above.sum().clamp(min=1)
