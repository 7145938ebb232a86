"""Match the teacher's belief in the target class, and apart from it how the others compare."""

import torch
from torch import Tensor
from torch.nn import functional as F

from limbeck.distillation.losses.precision import in_full_precision

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
    """Decoupled distillation: KL on target against rest plus KL among the others, both at temperature T, times T².

        p = softmax(teacher / T)    q = softmax(student / T)    t = target class
        target = KL( (p_t, 1 - p_t) ‖ (q_t, 1 - q_t) )
        others = KL( p̂ ‖ q̂ )   with p̂, q̂ the softmax over the classes other than t
        loss = T² · mean over rows of  α · target + β · others

    Zhao et al. 2022 (arXiv:2203.08679, section 3; α = 1, β = 8 and T = 4 are those of their code). Plain KL has
    β = 1 - p_t, which all but silences the second part where the teacher is sure. With two classes there is one
    other class and the second part is zero. The target class is the label; of rows labelled -1 (transfer text) it is
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
    """(rows, 2) log probabilities: of the target class, and of all others together."""
    target = logits.gather(1, targets[:, None])
    rest = _without_target(logits, targets).logsumexp(dim=-1, keepdim=True)
    return F.log_softmax(torch.cat([target, rest], dim=-1), dim=-1)


def _among_others(logits: Tensor, targets: Tensor) -> Tensor:
    """(rows, classes - 1) log probabilities, given that the class is not the target."""
    return F.log_softmax(_without_target(logits, targets), dim=-1)


def _without_target(logits: Tensor, targets: Tensor) -> Tensor:
    """(rows, classes - 1): gathered, for a mask of -inf would make 0 · inf of the target's own term."""
    places = torch.arange(logits.shape[1] - 1, device=logits.device)
    return logits.gather(1, places + (places >= targets[:, None]))
