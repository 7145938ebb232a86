"""AdamW or Adadelta, and the learning rate: warm-up, then linear decay to zero."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, assert_never

import torch
from torch import Tensor, nn
from torch.optim import Adadelta, AdamW, Optimizer

OptimizerName = Literal["adamw", "adadelta"]


def optimiser_for(
    model: nn.Module,
    *,
    learning_rate: float,
    weight_decay: float,
    captured_on: Any = None,
    name: OptimizerName = "adamw",
) -> Optimizer:
    """AdamW (Loshchilov & Hutter 2019), or Adadelta (Zeiler 2012), whose rate scales steps that it sizes itself. Weight
    decay is on matrices only, not on biases and norms (one-dimensional parameters).

    If a GPU captures its steps (limbeck.training.cuda_graphs), its learning rate is a tensor on that GPU.
    """
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [parameter for parameter in trained if parameter.ndim >= 2], "weight_decay": weight_decay},
        {"params": [parameter for parameter in trained if parameter.ndim < 2], "weight_decay": 0.0},
    ]
    # Fused: one pass over the weights instead of a dozen, which matters because word vectors are most of a student.
    on_gpu = captured_on is not None and captured_on.type == "cuda"
    rate = torch.tensor(learning_rate, device=captured_on) if on_gpu else learning_rate
    groups = [group for group in groups if group["params"]]
    match name:
        case "adamw":
            return AdamW(groups, lr=rate, fused=True, capturable=on_gpu)
        case "adadelta":
            return Adadelta(groups, lr=rate, capturable=on_gpu)
        case _:
            assert_never(name)


def set_rate(optimiser: Any, rate: float) -> None:
    """Set the learning rate of the next step; a tensor on a GPU is changed in place, where graphs read it."""
    for group in optimiser.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


def learning_rate_at(step: int, *, total: int, peak: float, warmup_fraction: float) -> float:
    """The rate of a step, counted from 0: up to `peak` during warm-up, then down to zero after the last step."""
    warmup = round(total * warmup_fraction)
    if step < warmup:
        return peak * (step + 1) / warmup
    return peak * max(total - step, 0) / max(total - warmup, 1)


class MeanWithStart:
    """A mean of all trained weights and of those that the training starts from, which have this share of it.

    A model that starts as a good one is often best half-way (WiSE-FT, Wortsman et al. 2022); a model that is linear in
    its weights then answers with the mean of both logits.
    """

    def __init__(self, model: nn.Module, *, share: float) -> None:
        self._share = share
        trained = {name: one for name, one in model.named_parameters() if one.requires_grad}
        self._weights: list[Tensor] = list(trained.values())
        self.values = {name: weight.detach().clone() for name, weight in trained.items()}  # the start

    def add(self, step: int) -> None:
        """The start does not change."""

    @contextmanager
    def in_model(self) -> Iterator[None]:
        """Inside, the model's weights are the means; afterwards its own again, bit by bit."""
        own = [weight.detach().clone() for weight in self._weights]
        with torch.no_grad():
            torch._foreach_lerp_(self._weights, list(self.values.values()), self._share)
        try:
            yield
        finally:
            with torch.no_grad():
                torch._foreach_copy_(self._weights, own)


class RunningMean:
    """The running mean of all trained weights; with a decay of None it does nothing.

        mean ← d · mean + (1 - d) · weights,   d = min(decay, (1 + t) / (10 + t))   after step t, counted from 0

    The smaller d of the first steps quickly reduces the influence of the initial weights: the mean then covers about
    the last ninth of the steps so far.
    """

    def __init__(self, model: nn.Module, *, decay: float | None) -> None:
        self._decay = decay
        trained = {} if decay is None else {name: one for name, one in model.named_parameters() if one.requires_grad}
        self._weights: list[Tensor] = list(trained.values())
        self.values = {name: weight.detach().clone() for name, weight in trained.items()}

    @torch.no_grad()
    def add(self, step: int) -> None:
        """Add the current weights, after this step of the training."""
        if self._decay is not None:
            decay = min(self._decay, (1 + step) / (10 + step))
            torch._foreach_lerp_(list(self.values.values()), self._weights, 1 - decay)  # one pass over all of them

    @contextmanager
    def in_model(self) -> Iterator[None]:
        """Inside, the model's weights are the means; afterwards its own again, bit by bit."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    @torch.no_grad()
    def _exchange(self) -> None:
        """Values are copied and tensors stay in place: optimiser and cuDNN refer to the weights' memory."""
        for weight, value in zip(self._weights, self.values.values(), strict=True):
            held = weight.clone()
            weight.copy_(value)
            value.copy_(held)
