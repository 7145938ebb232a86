"""Match the direction of the first token's states, layer by layer: patient distillation."""

from torch import Tensor
from torch.nn import functional as F

from limbeck.distillation.losses.shapes import must_match


def pkd(student_states: Tensor, teacher_states: Tensor) -> Tensor:
    """Mean over layers and rows of the squared distance between unit vectors.

        loss = mean over layers and rows of  ‖ s/‖s‖ - t/‖t‖ ‖²

    Sun et al. 2019 (arXiv:1908.09355, section 3.2) sum over layers and rows where this takes the mean: theirs is this
    times layers · rows. Their code takes the mean over the width as well (PyTorch's `mse_loss`), so that a β of theirs
    is worth β / width here. A row's distance is between 0 (same direction) and 4 (opposite).
    Takes states of the first token, (layers, rows, width), the layers of both already paired.
    """
    must_match(student_states, teacher_states)
    student, teacher = F.normalize(student_states.float(), dim=-1), F.normalize(teacher_states.float(), dim=-1)
    return (student - teacher).square().sum(dim=-1).mean()
