"""What a term must know of both models to bring its learned parts."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class LayerShape:
    """How a transformer is built."""

    layers: int
    heads: int
    width: int


@dataclass(frozen=True)
class Shapes:
    """Widths, the layers where losses go by them, and the task."""

    student_features: int | None = None
    teacher_features: int | None = None
    student_layers: LayerShape | None = None
    teacher_layers: LayerShape | None = None
    multi_label: bool = False
    class_weights: Tensor | None = None  # (classes), for losses on labels
