"""Match the factors that a paraphraser found in the teacher's features."""

import torch
from torch import Tensor

from limbeck.distillation.losses.precision import in_full_precision
from limbeck.distillation.losses.shapes import must_match
from limbeck.distillation.losses.unit_vectors import unit_vectors


@in_full_precision
def factor_transfer(student_factors: Tensor, teacher_factors: Tensor, *, power: float = 1) -> Tensor:
    """Distance in the p-norm between factors of length one.

        loss = mean over rows of  ‖ F_teacher / ‖F_teacher‖₂ - F_student / ‖F_student‖₂ ‖_p

    Kim et al. 2018 (arXiv:1802.04977), p = 1. It is a sum over the width of the factors and a mean over
    rows only. Other code takes a mean over the width as well: at a width of 384 that is a loss 384 times smaller for
    the same weight. Takes (rows, factors) from the paraphraser of the teacher and from the translator of the student
    (limbeck.distillation.paraphraser). Factors of nothing but zeros get no gradient.
    """
    must_match(student_factors, teacher_factors)
    differences = unit_vectors(teacher_factors) - unit_vectors(student_factors)
    distances: Tensor = torch.linalg.vector_norm(differences, ord=power, dim=-1)  # (rows)
    return distances.mean()
