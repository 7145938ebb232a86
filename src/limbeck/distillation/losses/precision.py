"""Losses computed in float32 or better, whatever the precision the models run in."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

Loss = TypeVar("Loss", bound=Callable[..., Tensor])


def in_full_precision(loss: Loss) -> Loss:
    """The same loss with tensors of half precision widened to float32 on entry, and autocast off inside.

    A logarithm, a root or a sum of squares in bfloat16 has two or three digits, and autocast would take matrix
    products down to it again. Float64 stays as it is, and so do whole numbers (labels).
    """

    @wraps(loss)
    def widened(*arguments: Any, **options: Any) -> Tensor:
        device = next(value.device for value in [*arguments, *options.values()] if isinstance(value, Tensor))
        with torch.autocast(device.type, enabled=False):
            return loss(*map(_wide, arguments), **{name: _wide(value) for name, value in options.items()})

    return cast(Loss, widened)


def _wide(value: Any) -> Any:
    if isinstance(value, Tensor) and value.is_floating_point():
        return value.to(torch.promote_types(value.dtype, torch.float32))
    return value
