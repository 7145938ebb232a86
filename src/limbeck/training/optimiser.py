"""AdamW and its learning rate: a rise, then a straight fall to zero."""

from torch import nn
from torch.optim import AdamW


def adamw(model: nn.Module, *, learning_rate: float, weight_decay: float) -> AdamW:
    """Weight decay on matrices alone; biases and norms (one-dimensional parameters) are left out of it."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [parameter for parameter in trained if parameter.ndim >= 2], "weight_decay": weight_decay},
        {"params": [parameter for parameter in trained if parameter.ndim < 2], "weight_decay": 0.0},
    ]
    # Fused: one pass over the weights instead of a dozen. Word vectors are most of a student, and it shows.
    return AdamW([group for group in groups if group["params"]], lr=learning_rate, fused=True)


def learning_rate_at(step: int, *, total: int, peak: float, warmup_fraction: float) -> float:
    """The rate of a step, counted from 0: up to `peak` in the first part, then down to zero behind the last step."""
    warmup = round(total * warmup_fraction)
    if step < warmup:
        return peak * (step + 1) / warmup
    return peak * max(total - step, 0) / max(total - warmup, 1)
