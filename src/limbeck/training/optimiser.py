"""AdamW and its learning rate: a rise, then a straight fall to zero."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import AdamW


def adamw(model: nn.Module, *, learning_rate: float, weight_decay: float, recorded_on: Any = None) -> AdamW:
    """Weight decay on matrices alone; biases and norms (one-dimensional parameters) are left out of it.

    Where its steps are to be recorded (limbeck.training.recording) on a GPU, its learning rate is kept there.
    """
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [parameter for parameter in trained if parameter.ndim >= 2], "weight_decay": weight_decay},
        {"params": [parameter for parameter in trained if parameter.ndim < 2], "weight_decay": 0.0},
    ]
    # Fused: one pass over the weights instead of a dozen. Word vectors are most of a student, and it shows.
    on_gpu = recorded_on is not None and recorded_on.type == "cuda"
    rate = torch.tensor(learning_rate, device=recorded_on) if on_gpu else learning_rate
    return AdamW([group for group in groups if group["params"]], lr=rate, fused=True, capturable=on_gpu)


def set_rate(optimiser: Any, rate: float) -> None:
    """The learning rate of the next step; one that a GPU holds is changed there, where recordings look for it."""
    for group in optimiser.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


def learning_rate_at(step: int, *, total: int, peak: float, warmup_fraction: float) -> float:
    """The rate of a step, counted from 0: up to `peak` in the first part, then down to zero behind the last step."""
    warmup = round(total * warmup_fraction)
    if step < warmup:
        return peak * (step + 1) / warmup
    return peak * max(total - step, 0) / max(total - warmup, 1)
