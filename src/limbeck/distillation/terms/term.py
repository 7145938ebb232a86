"""What every term of an objective is: a batch, what student and teacher said of it, their shapes, and the call."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from limbeck.kinds import LOSS_KINDS, resolved
from limbeck.models.layer_states import LayerStates
from limbeck.recipe.losses import AnyLoss


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


class Term(nn.Module):
    """One loss of the recipe, not yet weighted."""

    def forward(self, batch: Batch) -> Tensor:
        """One number."""
        raise NotImplementedError


def formula_of(loss: AnyLoss, *, multi_label: bool = False) -> Callable[..., Tensor]:
    """The pure function of a loss, by its kind; where a row may have several labels, the one for that if there is."""
    kind = LOSS_KINDS[loss.kind]
    name = kind.function_of_sets if multi_label and kind.function_of_sets else kind.function
    assert name is not None, f"{loss.kind} has no formula of this package"
    formula: Callable[..., Tensor] = resolved(name)
    return formula


def settings_of(loss: AnyLoss) -> dict[str, Any]:
    """What its section has besides kind and weight: the formula's keyword arguments, by the same names."""
    return {name: getattr(loss, name) for name in type(loss).model_fields if name not in ("kind", "weight")}


def projection(source: int, target: int) -> nn.Module:
    """A learned linear map from the student's width to the teacher's; nothing to learn where they agree."""
    return nn.Identity() if source == target else nn.Linear(source, target)


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
