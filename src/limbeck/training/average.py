"""A running mean of the weights, which is judged and kept in place of the weights themselves."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


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
