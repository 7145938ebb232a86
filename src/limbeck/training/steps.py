"""One step of the optimiser: its batches, shared out if several processes train together, and their gradients."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from accelerate import Accelerator
from torch import Tensor, nn

from limbeck.training.cuda_graphs import Slots, StepCapturer, Widths, capture_context_for
from limbeck.training.optimiser import MeanWithStart, RunningMean, learning_rate_at, set_rate
from limbeck.training.shares import Share

Places = npt.NDArray[np.int64]  # row positions
# The weighted terms, whose sum is minimised. The number is the progress: 0 at the first step, 1 at the end.
Losses = Callable[[nn.Module, Any, float], dict[str, Tensor]]  # for Places, or for Slots if steps are captured


class Hyperparameters(Protocol):
    """The keys that [teacher] and [distillation] have in common."""

    @property
    def epochs(self) -> int: ...
    @property
    def patience(self) -> int | None: ...
    @property
    def accumulation_steps(self) -> int: ...
    @property
    def learning_rate(self) -> float: ...
    @property
    def warmup_fraction(self) -> float: ...
    @property
    def weight_decay(self) -> float: ...
    @property
    def clip_norm(self) -> float: ...


@dataclass
class Stepper:
    """Runs the steps of the optimiser."""

    accelerator: Accelerator
    model: nn.Module
    optimiser: Any
    settings: Hyperparameters
    losses: Losses
    mean: RunningMean | MeanWithStart
    capturer: StepCapturer | None = None
    losses_share: bool = False  # the losses take whole batches, and share them out themselves
    seed: int = field(default_factory=torch.initial_seed)

    @property
    def share(self) -> Share:
        """This process's of every batch."""
        return Share(self.accelerator.process_index, self.accelerator.num_processes)

    def rate(self, number: int, *, total: int) -> float:
        """The learning rate of a step."""
        peak, warmup = self.settings.learning_rate, self.settings.warmup_fraction
        return learning_rate_at(number, total=total, peak=peak, warmup_fraction=warmup)

    def take(self, batches: list[Places], *, rate: float, number: int, total: int) -> dict[str, Tensor]:
        """One step on these batches; returns the loss terms, averaged over their rows.

        If losses are means over rows, the step is the same as for one batch of all these rows. In a group of processes
        it is the mean over the processes that is the loss term.
        """
        set_rate(self.optimiser, rate)
        if self.capturer is not None:
            found = self.capturer.take(batches[0], self._complete_step)
            self.mean.add(number)
            return found
        if not self.share.is_all:  # another dropout in each, and the same one after a restart
            torch.manual_seed(self.seed + number * self.share.processes + self.share.rank)
        rows = sum(len(batch) for batch in batches)
        means: dict[str, Tensor] = {}
        for position, batch in enumerate(batches):
            is_last = position == len(batches) - 1
            with nullcontext() if is_last else self.accelerator.no_sync(self.model):
                terms = self._backward(batch, weight=len(batch) / rows, done=number / total)
            for name, part in terms.items():
                means[name] = means[name] + part if name in means else part
        self._update_weights()
        self.mean.add(number)
        return means

    def _complete_step(self, slots: Slots) -> dict[str, Tensor]:
        """A complete step, to be captured: nothing in it may depend on the number of the step."""
        self.optimiser.zero_grad()  # a failed capture leaves gradients
        terms = self.losses(self.model, slots, 0.0)
        self.accelerator.backward(_sum(terms))
        self._update_weights()
        return {name: term.detach() for name, term in terms.items()}

    def _update_weights(self) -> None:
        """Update the weights with their gradients."""
        self.accelerator.clip_grad_norm_(self.model.parameters(), self.settings.clip_norm)
        self.optimiser.step()
        self.optimiser.zero_grad()

    def _backward(self, batch: Places, *, weight: float, done: float) -> dict[str, Tensor]:
        """Gradients of this process's part of a batch; their mean over processes is the gradient of the batch."""
        own = batch
        if not self.losses_share:
            own, weight = self.share.own(batch), weight * self.share.weight(np.ones(len(batch)))
        terms = self.losses(self.model, own, done)
        total = _sum(terms)
        self.accelerator.backward(total if weight == 1.0 else total * weight)  # saves a kernel if the weight is 1
        return {name: term.detach() if weight == 1.0 else term.detach() * weight for name, term in terms.items()}


def _sum(terms: dict[str, Tensor]) -> Tensor:
    only, *others = terms.values()
    return torch.stack([only, *others]).sum() if others else only


def capturer_for(widths: Widths | None, accelerator: Accelerator, settings: Hyperparameters) -> StepCapturer | None:
    """A capturer; None if steps are not captured."""
    is_plain = accelerator.num_processes == settings.accumulation_steps == 1
    context = capture_context_for(accelerator.device) if widths and is_plain else None
    return StepCapturer(widths, context=context, device=accelerator.device) if widths and context else None
