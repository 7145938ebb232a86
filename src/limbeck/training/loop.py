"""The one training loop: teacher and students, on accelerate, with checkpoints it can go on from."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from limbeck.errors import TrainingDiverged
from limbeck.progress import Bar, Reporter
from limbeck.training.checkpoints import load_best, load_checkpoint, save_best, save_checkpoint
from limbeck.training.device import Arithmetic, accelerator_for
from limbeck.training.optimiser import adamw, learning_rate_at

SECONDS_BETWEEN_CHECKPOINTS = 20.0  # for each second that saving one takes, and never fewer than these
STEPS_BETWEEN_READINGS = 16

Batches = Callable[[int], list[npt.NDArray[np.int64]]]  # epoch → row positions of each batch
Losses = Callable[[nn.Module, npt.NDArray[np.int64]], dict[str, Tensor]]  # the weighted terms; their sum is minimised
Validate = Callable[[nn.Module], dict[str, float]]  # must hold "dev_accuracy" and "dev_loss"


class Hyperparameters(Protocol):
    """The keys that [teacher] and [distillation] have in common; both sections fit."""

    @property
    def epochs(self) -> int: ...
    @property
    def learning_rate(self) -> float: ...
    @property
    def warmup_fraction(self) -> float: ...
    @property
    def weight_decay(self) -> float: ...
    @property
    def clip_norm(self) -> float: ...


@dataclass
class Progress:
    """Where a training stands: everything besides tensors that a checkpoint must hold."""

    epoch: int = 0
    batch: int = 0  # next batch within the epoch
    sums: dict[str, float] = field(default_factory=dict)  # loss terms summed over the epoch's rows so far
    rows: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    best_epoch: int = -1


def train(
    model: nn.Module,
    settings: Hyperparameters,
    *,
    arithmetic: Arithmetic,
    batches: Batches,
    losses: Losses,
    validate: Validate,
    work: Path,
    reporter: Reporter,
    what: str,
) -> Progress:
    """Train, and leave the weights of the best epoch by dev in the model.

    Better is: higher dev accuracy; where that is equal, lower dev loss. State goes to `work` now and then;
    when it holds a checkpoint, the training goes on from there and ends with the weights it would have had.
    """
    accelerator = accelerator_for(arithmetic)
    optimiser = adamw(model, learning_rate=settings.learning_rate, weight_decay=settings.weight_decay)
    model, optimiser = accelerator.prepare(model, optimiser)
    plain = accelerator.unwrap_model(model)
    progress = Progress(**(load_checkpoint(work, model=plain, optimiser=optimiser) or {}))

    def step(rows: npt.NDArray[np.int64], *, number: int, total: int) -> dict[str, Tensor]:
        rate = learning_rate_at(
            number, total=total, peak=settings.learning_rate, warmup_fraction=settings.warmup_fraction
        )
        for group in optimiser.param_groups:
            group["lr"] = rate
        terms = losses(model, rows)
        accelerator.backward(torch.stack(list(terms.values())).sum())
        accelerator.clip_grad_norm_(model.parameters(), settings.clip_norm)
        optimiser.step()
        optimiser.zero_grad()
        return terms

    def save() -> None:
        save_checkpoint(work, model=plain, optimiser=optimiser, progress=vars(progress))

    rows = sum(len(batch) for batch in batches(0))
    with reporter.bar(what, total=rows * settings.epochs, unit="rows") as bar:
        bar.advance(rows * progress.epoch + progress.rows)  # what an earlier, stopped run has done already
        while progress.epoch < settings.epochs:
            model.train()
            try:
                _one_epoch(progress, batches(progress.epoch), epochs=settings.epochs, step=step, save=save, bar=bar)
                _finish_epoch(progress, validate(plain), model=plain, work=work)
            except FloatingPointError:
                epoch, rate = progress.epoch + 1, settings.learning_rate
                raise TrainingDiverged(what=what, epoch=epoch, learning_rate=rate) from None
            save()
    load_best(work, plain)
    return progress


class Step(Protocol):
    """One step of the optimiser on these rows; returns the loss terms."""

    def __call__(self, rows: npt.NDArray[np.int64], *, number: int, total: int) -> dict[str, Tensor]: ...


def _one_epoch(
    progress: Progress,
    plan: list[npt.NDArray[np.int64]],
    *,
    epochs: int,
    step: Step,
    save: Callable[[], None],
    bar: Bar,
) -> None:
    """The rest of an epoch, from the batch that `progress` names."""
    last_save, pause = time.monotonic(), SECONDS_BETWEEN_CHECKPOINTS
    unread: list[tuple[int, dict[str, Tensor]]] = []  # losses still on the device: reading each would stall it
    while progress.batch < len(plan):
        rows = plan[progress.batch]
        terms = step(rows, number=progress.epoch * len(plan) + progress.batch, total=epochs * len(plan))
        unread.append((len(rows), {name: term.detach() for name, term in terms.items()}))
        progress.batch += 1
        due = (now := time.monotonic()) - last_save > pause
        if due or len(unread) >= STEPS_BETWEEN_READINGS or progress.batch == len(plan):
            bar.advance(_read_losses(progress, unread), note=_note(progress))
        if due:
            save()
            last_save = time.monotonic()
            pause = SECONDS_BETWEEN_CHECKPOINTS * max(1.0, last_save - now)


def _read_losses(progress: Progress, unread: list[tuple[int, dict[str, Tensor]]]) -> int:
    """Add the losses to the epoch's sums and empty the list; returns the rows they stand for."""
    read = 0
    for rows, terms in unread:
        read += rows
        for name, term in terms.items():
            progress.sums[name] = progress.sums.get(name, 0.0) + _finite(float(term)) * rows
    unread.clear()
    progress.rows += read
    return read


def _finish_epoch(progress: Progress, validation: dict[str, float], *, model: nn.Module, work: Path) -> None:
    _finite(validation["dev_loss"])
    means = {name: value / progress.rows for name, value in progress.sums.items()}
    progress.history.append({"epoch": progress.epoch + 1, "loss": sum(means.values()), "losses": means, **validation})
    best = None if progress.best_epoch < 0 else progress.history[progress.best_epoch]
    if best is None or _rank(validation) > _rank(best):
        progress.best_epoch = progress.epoch
        save_best(work, model)
    progress.epoch, progress.batch, progress.rows, progress.sums = progress.epoch + 1, 0, 0, {}


def _finite(loss: float) -> float:
    if not math.isfinite(loss):
        raise FloatingPointError(loss)
    return loss


def _rank(validation: dict[str, Any]) -> tuple[float, float]:
    return validation["dev_accuracy"], -validation["dev_loss"]


def _note(progress: Progress) -> str:
    loss = sum(progress.sums.values()) / max(progress.rows, 1)
    last = f", dev {progress.history[-1]['dev_accuracy']:.1%}" if progress.history else ""
    return f"epoch {progress.epoch + 1}, loss {loss:.3f}{last}"
