"""Match the teacher's softened belief in every class by itself, for rows that may have several labels."""

from torch import Tensor
from torch.nn import functional as F

from limbeck.distillation.losses.precision import in_full_precision


@in_full_precision
def soft_target_sets(student_logits: Tensor, teacher_logits: Tensor, *, temperature: float) -> Tensor:
    """KL divergence between two coins a class, at temperature T, summed over classes, times T².

        p = σ(teacher / T)    q = σ(student / T)
        loss = T² · mean over rows of  Σ_c  p_c log(p_c / q_c)  +  (1 - p_c) log((1 - p_c) / (1 - q_c))

    A softmax over classes that do not exclude each other would push one label down for every label that is there;
    this is Hinton et al. 2015 (arXiv:1503.02531) for each class's own yes or no. Takes raw logits (rows, classes).
    """
    teacher, student = teacher_logits / temperature, student_logits / temperature
    yes = F.logsigmoid(teacher).exp() * (F.logsigmoid(teacher) - F.logsigmoid(student))
    no = F.logsigmoid(-teacher).exp() * (F.logsigmoid(-teacher) - F.logsigmoid(-student))
    return temperature**2 * (yes + no).sum(dim=-1).mean()
