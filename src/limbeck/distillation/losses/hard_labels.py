"""Learn the labels of the corpus."""

from torch import Tensor
from torch.nn import functional as F

from limbeck.distillation.losses.precision import in_full_precision

NO_LABEL = -1


@in_full_precision
def hard_labels(
    student_logits: Tensor, labels: Tensor, *, class_weights: Tensor | None = None, smoothing: float = 0.0
) -> Tensor:
    """Cross-entropy to the class of each labelled row; rows labelled -1 (transfer text) add nothing.

        y = (1 - ε) · onehot(label) + ε / C
        loss = mean over labelled rows of  Σ_c w_c · y_c · -log softmax(student)_c

    with w = 1 where no class weights are given, and the smoothing ε of Szegedy et al. 2016 (arXiv:1512.00567,
    section 7), over C classes. It is divided by the rows and not by their weights, as PyTorch would: then batches
    that make one step add up to what one large batch would give. Takes raw logits (rows, classes) and class numbers
    (rows). A batch without any label gives zero.
    """
    labelled = labels != NO_LABEL
    total = F.cross_entropy(
        student_logits,
        labels,
        weight=class_weights,
        ignore_index=NO_LABEL,
        label_smoothing=smoothing,
        reduction="sum",
    )
    return total / labelled.sum().clamp(min=1)
