"""Tell the teacher's features from the student's, with a width-wise idea of how well that is possible."""

from torch import Tensor

from limbeck.distillation.losses.precision import in_full_precision
from limbeck.distillation.losses.shapes import must_match


@in_full_precision
def vid(student_features: Tensor, teacher_features: Tensor, *, log_variance: Tensor) -> Tensor:
    """Negative log-likelihood of the teacher's features under a normal distribution around the student's.

        loss = ½ · mean over rows and width of  log σ² + (teacher - student)² / σ²

    Variational information distillation, Ahn et al. 2019 (arXiv:1904.05835), without the constant
    log 2π, and a mean over the width where they have a sum. `log_variance` (width) is learned: what the student cannot
    tell gets a large σ² and weighs little. The least loss is where σ² is the mean squared error, and may be negative.
    The student's features come projected to the teacher's width.
    """
    must_match(student_features, teacher_features)
    return 0.5 * (log_variance + (teacher_features - student_features).square() * (-log_variance).exp()).mean()
