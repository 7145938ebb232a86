"""Learn the labels of the corpus."""

from torch import Tensor
from torch.nn import functional as F

NO_LABEL = -1


def hard_labels(student_logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy to the class of each labelled row; rows labelled -1 (transfer text) add nothing.

        loss = mean over labelled rows of  -log softmax(student)[label]

    Takes raw logits (rows, classes) and class numbers (rows). A batch without any label gives zero.
    """
    labelled = labels != NO_LABEL
    total = F.cross_entropy(student_logits, labels, ignore_index=NO_LABEL, reduction="sum")
    return total / labelled.sum().clamp(min=1)
