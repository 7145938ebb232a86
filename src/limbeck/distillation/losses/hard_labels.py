"""Learn the labels of the corpus."""

from torch import Tensor
from torch.nn import functional as F

NO_LABEL = -1


def hard_labels(student_logits: Tensor, labels: Tensor, *, class_weights: Tensor | None = None) -> Tensor:
    """Cross-entropy to the class of each labelled row; rows labelled -1 (transfer text) add nothing.

        loss = mean over labelled rows of  w[label] · -log softmax(student)[label]

    with w = 1 where no class weights are given. It is divided by the rows and not by their weights, as PyTorch would:
    then batches that make one step add up to what one large batch would give. Takes raw logits (rows, classes) and
    class numbers (rows). A batch without any label gives zero.
    """
    labelled = labels != NO_LABEL
    total = F.cross_entropy(student_logits, labels, weight=class_weights, ignore_index=NO_LABEL, reduction="sum")
    return total / labelled.sum().clamp(min=1)
