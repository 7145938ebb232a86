"""A loss function of the user's own."""

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from torch import Tensor

from limbeck.distillation.terms.term import Batch, Shapes, Term
from limbeck.errors import StudentError
from limbeck.recipe.calls import CallUnusable, resolve_call
from limbeck.recipe.losses import AnyLoss, Custom


class CustomLossUnusable(StudentError):
    """A loss function of the user's own cannot be found, or does not do what a loss must."""

    def __init__(self, *, call: str, reason: str) -> None:
        self.call = call
        super().__init__(
            f"the loss '{call}' cannot be used: {reason}",
            advice="It must be importable from here (PYTHONPATH, or an installed package), take student_logits, "
            "teacher_logits and labels, and return one number as a tensor.",
        )


class CustomTerm(Term):
    """Calls the function with what it asked for, and checks that one number comes back."""

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
            found = self._function(**values, **self._loss.options)
        except Exception as error:
            raise CustomLossUnusable(call=self._loss.call, reason=f"{type(error).__name__}: {error}") from error
        if not isinstance(found, Tensor) or found.ndim:
            shape = f"a tensor of shape {tuple(found.shape)}" if isinstance(found, Tensor) else type(found).__name__
            raise CustomLossUnusable(call=self._loss.call, reason=f"it gave back {shape}, not one number as a tensor")
        return found


def custom_files(losses: Sequence[AnyLoss]) -> dict[str, Path | None]:
    """For each loss function of the user's own the file of its module, None where it has none.

    Raises CustomLossUnusable for one that cannot be found, so that it is known before anything is trained.
    """
    found: dict[str, Path | None] = {}
    for loss in losses:
        if isinstance(loss, Custom):
            custom_function(loss.call)
            file = getattr(import_module(loss.call.partition(":")[0]), "__file__", None)
            found[loss.call] = Path(file) if file else None
    return found


def custom_function(call: str) -> Callable[..., Any]:
    """The function that `module:function` names."""
    try:
        return resolve_call(call)
    except CallUnusable as reason:
        raise CustomLossUnusable(call=call, reason=str(reason)) from reason
