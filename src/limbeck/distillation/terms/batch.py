"""What student and teacher said of the rows of one batch."""

from dataclasses import dataclass

from torch import Tensor

from limbeck.models.layer_states import LayerStates


@dataclass(frozen=True)
class Said:
    """One side: logits (rows, classes), and what else the losses asked for."""

    logits: Tensor
    features: Tensor | None = None  # (rows, width)
    layers: LayerStates | None = None


@dataclass(frozen=True)
class Batch:
    """Both sides, the labels, and how far the training is, which schedules go by."""

    student: Said
    teacher: Said
    labels: Tensor  # (rows), or (rows, classes) with several labels a row; -1 where there is none
    mask: Tensor  # (rows, tokens): 1 on tokens, 0 on padding
    done: float  # from 0 to 1
