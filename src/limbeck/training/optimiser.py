"""AdamW and its learning rate: a rise, then a straight fall to zero."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import AdamW


def adamw(model: nn.Module, *, learning_rate: float, weight_decay: float, captured_on: Any = None) -> AdamW:
    """Weight decay on matrices alone; biases and norms (one-dimensional parameters) are left out of it.

    Where a GPU is to capture its steps (limbeck.training.cuda_graphs), its learning rate is kept there.
    """
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [parameter for parameter in trained if parameter.ndim >= 2], "weight_decay": weight_decay},
        {"params": [parameter for parameter in trained if parameter.ndim < 2], "weight_decay": 0.0},
    ]
    # Fused: one pass over the weights instead of a dozen. Word vectors are most of a student, and it shows.
    on_gpu = captured_on is not None and captured_on.type == "cuda"
    rate = torch.tensor(learning_rate, device=captured_on) if on_gpu else learning_rate
    return AdamW([group for group in groups if group["params"]], lr=rate, fused=True, capturable=on_gpu)


def set_rate(optimiser: Any, rate: float) -> None:
    """The learning rate of the next step; one that a GPU holds is changed there, where graphs read it."""
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


class RunningMean:
    """The mean of all weights that are trained; with a decay of None there is none, and nothing happens.

        mean ← d · mean + (1 - d) · weights,   d = min(decay, (1 + t) / (10 + t))   after step t, counted from 0

    The smaller d of the first steps soon forgets the weights that the training began with; it holds the mean to about
    the last ninth of the steps taken so far.
    """

    def __init__(self, model: nn.Module, *, decay: float | None) -> None:
        self._decay = decay
        trained = {} if decay is None else {name: one for name, one in model.named_parameters() if one.requires_grad}
        self._weights: list[Tensor] = list(trained.values())
        self.values = {name: weight.detach().clone() for name, weight in trained.items()}

    @torch.no_grad()
    def add(self, step: int) -> None:
        """Take in the weights as they are after this step of the training."""
        if self._decay is not None:
            decay = min(self._decay, (1 + step) / (10 + step))
            torch._foreach_lerp_(list(self.values.values()), self._weights, 1 - decay)  # one pass over all of them

    @contextmanager
    def in_model(self) -> Iterator[None]:
        """Inside, the model has the mean for its weights; afterwards its own again, bit by bit."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    @torch.no_grad()
    def _exchange(self) -> None:
        """Values are copied and no tensor is put elsewhere: optimiser and cuDNN know the weights by where they lie."""
        for weight, value in zip(self._weights, self.values.values(), strict=True):
            held = weight.clone()
            weight.copy_(value)
            value.copy_(held)
