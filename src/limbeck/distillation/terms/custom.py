"""A loss function that the user provides."""

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from torch import Tensor

from limbeck.distillation.terms.term import Batch, Shapes, Term
from limbeck.errors import StudentError
from limbeck.recipe.calls import CallUnusable, reported, resolve_call
from limbeck.recipe.losses import AnyLoss, Custom


class CustomLossUnusable(StudentError):
    """A loss function that the user provides cannot be found, or does not do what a loss must."""

    def __init__(self, *, call: str, reason: str) -> None:
        self.call = call
        super().__init__(
            f"the loss '{call}' cannot be used: {reason}",
            advice="It must be importable from here (PYTHONPATH, or an installed package), take student_logits, "
            "teacher_logits and labels, and return one number as a tensor.",
        )


class CustomTerm(Term):
    """Calls the function with the values it asks for, and checks that it returns one number."""

    def __init__(self, loss: Custom, _shapes: Shapes) -> None:
        super().__init__()
        self._loss, self._function = loss, custom_function(loss.call)

    def forward(self, batch: Batch) -> Tensor:
        """One number."""
        values: dict[str, Any] = {
            "student_logits": batch.student.logits,
            "teacher_logits": batch.teacher.logits,
            "labels": batch.labels,
        }
        if self._loss.features:
            values |= {"student_features": batch.student.features, "teacher_features": batch.teacher.features}
        try:
            value = self._function(**values, **self._loss.options)
        except Exception as error:
            raise CustomLossUnusable(call=self._loss.call, reason=reported(error)) from error
        if not isinstance(value, Tensor) or value.ndim:
            shape = f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
            raise CustomLossUnusable(call=self._loss.call, reason=f"it returned {shape}, not one number as a tensor")
        return value


def custom_files(losses: Sequence[AnyLoss]) -> dict[str, Path | None]:
    """The file of the module of each loss function that the user provides; None if the module has no file.

    Raises CustomLossUnusable for one that cannot be found, before anything is trained.
    """
    files: dict[str, Path | None] = {}
    for loss in losses:
        if isinstance(loss, Custom):
            custom_function(loss.call)
            file = getattr(import_module(loss.call.partition(":")[0]), "__file__", None)
            files[loss.call] = Path(file) if file else None
    return files


def custom_function(call: str) -> Callable[..., Any]:
    """The function that `module:function` names."""
    try:
        return resolve_call(call)
    except CallUnusable as reason:
        raise CustomLossUnusable(call=call, reason=str(reason)) from reason
