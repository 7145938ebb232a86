"""Learn the labels of the corpus."""

from torch import Tensor
from torch.nn import functional as F

NO_LABEL = -1


def hard_labels(student_logits: Tensor, labels: Tensor, *, class_weights: Tensor | None = None) -> Tensor:
    """Cross-entropy to the class of each labelled row; rows labelled -1 (transfer text) add nothing.

        loss = Σ_rows w[label] · -log softmax(student)[label]  /  Σ_rows w[label]

    over the labelled rows, with w = 1 where no class weights are given. Takes raw logits (rows, classes) and class
    numbers (rows). A batch without any label gives zero.
    """
    labelled = labels != NO_LABEL
    total = F.cross_entropy(student_logits, labels, weight=class_weights, ignore_index=NO_LABEL, reduction="sum")
    if class_weights is None:
        return total / labelled.sum().clamp(min=1)
    weights = class_weights[labels.clamp(min=0)] * labelled
    return total / weights.sum().clamp(min=1e-12)
