"""Learn the labels of a corpus whose rows may have several."""

from torch import Tensor
from torch.nn import functional as F

NO_LABEL = -1


def hard_label_sets(student_logits: Tensor, labels: Tensor, *, class_weights: Tensor | None = None) -> Tensor:
    """Binary cross-entropy of every class by itself; rows of -1 (transfer text) add nothing.

        loss = mean over labelled rows and classes of  -( w_c · y · log σ(s)  +  (1 - y) · log(1 - σ(s)) )

    with w = 1 where no class weights are given: the weight lifts what a class is worth where it is there, as PyTorch's
    `pos_weight` does. Takes raw logits and labels of 0 and 1, both (rows, classes). A batch without labels gives zero.
    """
    labelled = (labels != NO_LABEL).all(dim=1)
    cells = F.binary_cross_entropy_with_logits(
        student_logits, labels.clamp(min=0).to(student_logits.dtype), pos_weight=class_weights, reduction="none"
    )
    return (cells.mean(dim=1) * labelled).sum() / labelled.sum().clamp(min=1)
