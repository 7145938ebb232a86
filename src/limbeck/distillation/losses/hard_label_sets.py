"""Learn the labels of a corpus whose rows may have several."""

from torch import Tensor
from torch.nn import functional as F

from limbeck.distillation.losses.precision import in_full_precision

NO_LABEL = -1


@in_full_precision
def hard_label_sets(
    student_logits: Tensor, labels: Tensor, *, class_weights: Tensor | None = None, smoothing: float = 0.0
) -> Tensor:
    """Binary cross-entropy of every class by itself; rows of -1 (transfer text) add nothing.

        y = (1 - ε) · label + ε / 2
        loss = mean over labelled rows and classes of  -( w_c · y · log σ(s)  +  (1 - y) · log(1 - σ(s)) )

    with w = 1 where no class weights are given: the weight lifts what a class is worth where it is there, as PyTorch's
    `pos_weight` does. The smoothing ε pulls every yes or no towards even odds. Takes raw logits and labels of 0 and 1,
    both (rows, classes). A batch without labels gives zero.
    """
    labelled = (labels != NO_LABEL).all(dim=1)
    targets = labels.clamp(min=0).to(student_logits.dtype) * (1 - smoothing) + smoothing / 2
    cells = F.binary_cross_entropy_with_logits(student_logits, targets, pos_weight=class_weights, reduction="none")
    return (cells.mean(dim=1) * labelled).sum() / labelled.sum().clamp(min=1)
