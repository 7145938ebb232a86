"""Match the direction of the teacher's features."""

from torch import Tensor

from limbeck.distillation.losses.precision import in_full_precision
from limbeck.distillation.losses.shapes import must_match
from limbeck.distillation.losses.unit_vectors import unit_vectors


@in_full_precision
def feature_cosine(student_features: Tensor, teacher_features: Tensor) -> Tensor:
    """One minus the cosine between the features of student and teacher.

        loss = mean over rows of  1 - ⟨student, teacher⟩ / (‖student‖₂ · ‖teacher‖₂)

    The third term of DistilBERT, Sanh et al. 2019 (arXiv:1910.01108, section 2). Takes features of one width. A row of
    zeros has no direction: it counts 1 and gets no gradient.
    """
    must_match(student_features, teacher_features)
    return 1 - (unit_vectors(student_features) * unit_vectors(teacher_features)).sum(dim=-1).mean()
