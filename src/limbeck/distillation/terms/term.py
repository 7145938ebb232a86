"""What all terms of an objective share: the batch with the outputs of student and teacher, and the shapes of both."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from limbeck.kinds import LOSS_KINDS, resolved
from limbeck.models.layer_states import LayerStates
from limbeck.recipe.losses import AnyLoss


@dataclass(frozen=True)
class Outputs:
    """The outputs of one model: logits (rows, classes), and what else the losses need."""

    logits: Tensor
    features: Tensor | None = None  # (rows, width)
    layers: LayerStates | None = None


@dataclass(frozen=True)
class Batch:
    """The outputs of both models, the labels, and the progress of the training, on which schedules depend.

    Where several processes train together, layers and mask are those of the process's own rows, and `weights` has the
    factors of losses on them (limbeck.training.shares); everything else is of the batch as a whole.
    """

    student: Outputs
    teacher: Outputs
    labels: Tensor  # (rows), or (rows, classes) with several labels per row; -1 (score: NaN) on rows without a label
    mask: Tensor  # (rows, tokens): 1 on tokens, 0 on padding
    done: float  # from 0 to 1
    weights: Mapping[str, float] = field(default_factory=dict)
    row_numbers: Tensor | None = None  # (rows): the place of each row's id among all ids in sorted order


class Term(nn.Module):
    """One loss of the recipe, not yet weighted."""

    def forward(self, batch: Batch) -> Tensor:
        """One number."""
        raise NotImplementedError


def formula_of(loss: AnyLoss, *, multi_label: bool = False, is_score: bool = False) -> Callable[..., Tensor]:
    """The pure function of a loss, by its kind; with several labels per row, or for scores, the one for that case if it
    has one."""
    kind = LOSS_KINDS[loss.kind]
    name = kind.function_of_sets if multi_label and kind.function_of_sets else kind.function
    name = kind.function_of_scores if is_score and kind.function_of_scores else name
    assert name is not None, f"{loss.kind} has no formula of this package"
    formula: Callable[..., Tensor] = resolved(name)
    return formula


def settings_of(loss: AnyLoss) -> dict[str, Any]:
    """The fields of its section other than kind and weight: the keyword arguments of the formula."""
    return {name: getattr(loss, name) for name in type(loss).model_fields if name not in ("kind", "weight")}


def projection(source: int, target: int) -> nn.Module:
    """A learned linear map from the student's width to the teacher's; the identity if they are equal."""
    return nn.Identity() if source == target else nn.Linear(source, target)


@dataclass(frozen=True)
class LayerShape:
    """The sizes of a transformer's layers."""

    layers: int
    heads: int
    width: int


@dataclass(frozen=True)
class Shapes:
    """The widths of both models, their layers if losses use them, and the task."""

    student_features: int | None = None
    teacher_features: int | None = None
    student_layers: LayerShape | None = None
    teacher_layers: LayerShape | None = None
    multi_label: bool = False
    is_score: bool = False
    class_weights: Tensor | None = None  # (classes), for losses on labels
    row_groups: Tensor | None = None  # (training rows), by row number: the class of each, for losses on single rows
