"""Match the teacher's logits up to shift and scale."""

import math

from torch import Tensor

from limbeck.distillation.losses.precision import in_full_precision
from limbeck.distillation.losses.soft_targets import soft_targets
from limbeck.distillation.losses.unit_vectors import centred_unit_vectors


@in_full_precision
def standardised_logits(student_logits: Tensor, teacher_logits: Tensor, *, temperature: float = 2.0) -> Tensor:
    """Soft targets at temperature T on z-scored logits, times T².

        z(x) = (x - mean x) / σ(x)    σ(x) = √( (1/C) Σ_c (x_c - mean x)² )    over the C classes of a row
        loss = T² · mean over rows of  KL( softmax(z(teacher) / T) ‖ softmax(z(student) / T) )

    Sun et al. 2024 (arXiv:2403.01427, algorithms 1 and 2). σ is the population's, with 1/C, as the paper has it; the
    authors' code divides by C - 1, which is this at a temperature √(C / (C - 1)) times as high. With two classes z is
    (1, -1) or (-1, 1) whatever the logits were: only the teacher's choice is left, and no gradient. A row of equal
    logits has z = 0. Takes raw logits (rows, classes).
    """
    student, teacher = _z_scores(student_logits), _z_scores(teacher_logits)
    return soft_targets(student, teacher, temperature=temperature)


def _z_scores(logits: Tensor) -> Tensor:
    return math.sqrt(logits.shape[-1]) * centred_unit_vectors(logits)
