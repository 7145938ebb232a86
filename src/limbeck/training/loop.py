"""The one training loop: teacher and students, on accelerate, with checkpoints it can go on from."""

import math
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list
from torch import Tensor, nn

from limbeck.errors import LimbeckError
from limbeck.progress import Bar, Reporter
from limbeck.training.checkpoints import load_best, load_checkpoint, save_best, save_checkpoint
from limbeck.training.cuda_graphs import Slots, StepCapturer, Widths, capture_context_for
from limbeck.training.device import Arithmetic, accelerator_for
from limbeck.training.optimiser import RunningMean, adamw, learning_rate_at, set_rate
from limbeck.training.tracks import NO_TRACKS, Curves, Tracks

SECONDS_BETWEEN_CHECKPOINTS = 20.0  # for each second that saving one takes, and never fewer than these
STEPS_BETWEEN_READINGS = 16
MOST_POINTS = 512  # of the curve of every term; beyond it, every other point goes

Places = npt.NDArray[np.int64]  # row positions
Batches = Callable[[int], list[Places]]  # epoch → row positions of each batch
# The weighted terms, whose sum is minimised. The number is how far the training is: 0 at its first step, 1 at its end.
Losses = Callable[[nn.Module, Any, float], dict[str, Tensor]]  # of places, or of slots where steps are captured
Validate = Callable[[nn.Module], dict[str, float]]  # "dev_loss"; to keep the best "dev_accuracy", maybe "dev_score"


class TrainingDiverged(LimbeckError):
    """The loss is infinite or not a number, so nothing is left to learn from."""

    def __init__(self, *, what: str, epoch: int, learning_rate: float) -> None:
        self.model, self.epoch = what, epoch
        super().__init__(
            f"{what}: the loss is not a finite number any more, in epoch {epoch}",
            found=f"the learning rate rises to {learning_rate:g}",
            advice='Lower learning_rate (a third is a good next try), or set precision = "fp32".',
        )


class Hyperparameters(Protocol):
    """The keys that [teacher] and [distillation] have in common; both sections fit."""

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
class Progress:
    """Where a training stands: everything besides tensors that a checkpoint must hold."""

    epoch: int = 0
    step: int = 0  # next step within the epoch
    sums: dict[str, float] = field(default_factory=dict)  # loss terms summed over the epoch's rows so far
    rows: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    best_epoch: int = -1
    points: list[dict[str, float]] = field(default_factory=list)  # a step, and each loss term over the steps up to it
    terms: list[dict[str, float]] = field(default_factory=list)  # of the steps since the last point

    def add_step(self, step: int, terms: dict[str, float]) -> None:
        """One more step of the curves. Where points stand depends on steps alone, not on when losses are read."""
        self.terms.append(terms)
        if len(self.terms) >= STEPS_BETWEEN_READINGS:
            self.add_point(step)

    def add_point(self, step: int) -> None:
        """One more point on the curve of every term, if there was a step since the last one."""
        if not self.terms:
            return
        means = {name: sum(terms[name] for terms in self.terms) / len(self.terms) for name in self.terms[0]}
        self.points.append({"step": step, **means})
        self.terms = []
        if len(self.points) > MOST_POINTS:
            self.points = self.points[::2]

    def has_patience_left(self, patience: int | None) -> bool:
        """Whether a better epoch may still come: fewer than so many have passed since the best one."""
        return patience is None or self.best_epoch < 0 or self.epoch - 1 - self.best_epoch < patience


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
    tracks: Tracks = NO_TRACKS,
    keep: Literal["best", "last"] = "best",
    average: float | None = None,
    widths: Widths | None = None,
) -> Progress:
    """Train, and leave the weights of the best epoch by dev in the model, or those of the last.

    Better is: a higher dev score; where that is equal, a lower dev loss. With `average`, the decay of a running mean of
    the weights (limbeck.training.optimiser), it is the mean that is judged and left. State goes to `work` now and then;
    when it holds a checkpoint, the training goes on from there and ends with the weights it would have had. In a group
    of processes (limbeck.training.processes) each takes its share of every batch; the first one judges and writes.

    With `widths`, all that the losses read of a batch is its rows and these widths: where one process trains on a GPU,
    batch by batch, steps are then captured as CUDA graphs (limbeck.training.cuda_graphs).
    """
    accelerator = accelerator_for(arithmetic, tracks=tracks, what=what)
    capturer = _capturer(widths, accelerator, settings)
    optimiser = adamw(
        model,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
        captured_on=accelerator.device if capturer else None,
    )
    model, optimiser = accelerator.prepare(model, optimiser)
    plain = accelerator.unwrap_model(model)
    mean = RunningMean(plain, decay=average)
    progress = Progress(**(load_checkpoint(work, model=plain, optimiser=optimiser, average=mean.values) or {}))
    stepper = _Stepper(accelerator, model, optimiser, settings, losses, mean, capturer)
    curves = Curves(accelerator, tracks, what=what, settings=settings)

    def save() -> None:
        if accelerator.is_main_process:
            save_checkpoint(work, model=plain, optimiser=optimiser, progress=vars(progress), average=mean.values)

    first = batches(0)
    rows = sum(len(batch) for batch in first)
    if capturer:
        capturer.expect(first, epochs=settings.epochs)
    active = capturer.active() if capturer else nullcontext()
    with active, reporter.bar(what, total=rows * settings.epochs, unit="rows") as bar:
        bar.advance(rows * progress.epoch + progress.rows)  # what an earlier, stopped run has done already
        while progress.epoch < settings.epochs and progress.has_patience_left(settings.patience):
            model.train()
            try:
                plan = _steps(batches(progress.epoch), settings.accumulation_steps)
                _one_epoch(progress, plan, epochs=settings.epochs, stepper=stepper, save=save, bar=bar, curves=curves)
                with mean.in_model():
                    judged = _first_says(accelerator, lambda: validate(plain))
                    curves.add(judged, step=(progress.epoch + 1) * len(plan))
                    _finish_epoch(
                        progress, judged, keep=keep, model=plain, work=work, is_writing=accelerator.is_main_process
                    )
            except FloatingPointError:
                epoch, rate = progress.epoch + 1, settings.learning_rate
                raise TrainingDiverged(what=what, epoch=epoch, learning_rate=rate) from None
            save()
    if capturer and capturer.problem:
        reporter.note(f"  {what}: CUDA graphs are off, which is slower: {capturer.problem}", style="warning")
    if progress.epoch < settings.epochs:
        reporter.note(f"  {what}: stopped after epoch {progress.epoch}, the best was epoch {progress.best_epoch + 1}")
    accelerator.wait_for_everyone()
    load_best(work, plain)
    curves.close()  # last: accelerate ends the group of processes with its trackers
    return progress


def _steps(batches: list[Places], accumulation_steps: int) -> list[list[Places]]:
    """The batches of each step."""
    return [batches[start : start + accumulation_steps] for start in range(0, len(batches), accumulation_steps)]


def _first_says(accelerator: Accelerator, judge: Callable[[], dict[str, float]]) -> dict[str, float]:
    """What the first process finds; the others wait for it and take its word, so that all go the same way."""
    found: list[Any] = [judge() if accelerator.is_main_process else None]
    if accelerator.num_processes > 1:
        broadcast_object_list(found)
    answer: dict[str, float] = found[0]
    return answer


@dataclass
class _Stepper:
    """One step of the optimiser after the other."""

    accelerator: Accelerator
    model: nn.Module
    optimiser: Any
    settings: Hyperparameters
    losses: Losses
    mean: RunningMean
    capturer: StepCapturer | None = None
    seed: int = field(default_factory=torch.initial_seed)

    def rate(self, number: int, *, total: int) -> float:
        """The learning rate of a step."""
        peak, warmup = self.settings.learning_rate, self.settings.warmup_fraction
        return learning_rate_at(number, total=total, peak=peak, warmup_fraction=warmup)

    def take(self, batches: list[Places], *, rate: float, number: int, total: int) -> dict[str, Tensor]:
        """One step on these batches; returns the loss terms, averaged over their rows.

        Losses that are means over rows make the step that one batch of all these rows would make.
        """
        set_rate(self.optimiser, rate)
        if self.capturer is not None:
            found = self.capturer.take(batches[0], self._whole_step)
            self.mean.add(number)
            return found
        if self.accelerator.num_processes > 1:  # each drops other units, and the same ones if it is started again here
            torch.manual_seed(self.seed + number * self.accelerator.num_processes + self.accelerator.process_index)
        rows = sum(len(batch) for batch in batches)
        means: dict[str, Tensor] = {}
        for position, batch in enumerate(batches):
            is_last = position == len(batches) - 1
            with nullcontext() if is_last else self.accelerator.no_sync(self.model):
                terms = self._backward(batch, share=len(batch) / rows, done=number / total)
            for name, term in terms.items():
                part = term.detach() if len(batches) == 1 else term.detach() * (len(batch) / rows)
                means[name] = means[name] + part if name in means else part
        self._descend()
        self.mean.add(number)
        return means

    def _whole_step(self, slots: Slots) -> dict[str, Tensor]:
        """All of a step that is captured: nothing in it may depend on when it is taken."""
        self.optimiser.zero_grad()  # a capture that failed leaves gradients
        terms = self.losses(self.model, slots, 0.0)
        self.accelerator.backward(_sum(terms))
        self._descend()
        return {name: term.detach() for name, term in terms.items()}

    def _descend(self) -> None:
        """Change the weights by their gradients."""
        self.accelerator.clip_grad_norm_(self.model.parameters(), self.settings.clip_norm)
        self.optimiser.step()
        self.optimiser.zero_grad()

    def _backward(self, batch: Places, *, share: float, done: float) -> dict[str, Tensor]:
        """Gradients of this process's part of a batch; averaged over processes, they are those of the whole batch."""
        processes, own = self.accelerator.num_processes, batch
        if processes > 1:
            own = batch[self.accelerator.process_index :: processes]
            share *= len(own) * processes / len(batch)
            own = own if len(own) else batch[:1]  # nothing left for this one: it goes along with a share of zero
        terms = self.losses(self.model, own, done)
        total = _sum(terms)
        self.accelerator.backward(total if share == 1.0 else total * share)  # no kernel that changes nothing
        return terms


def _sum(terms: dict[str, Tensor]) -> Tensor:
    only, *others = terms.values()
    return torch.stack([only, *others]).sum() if others else only


def _capturer(widths: Widths | None, accelerator: Accelerator, settings: Hyperparameters) -> StepCapturer | None:
    """None where steps are not captured."""
    is_plain = accelerator.num_processes == settings.accumulation_steps == 1
    context = capture_context_for(accelerator.device) if widths and is_plain else None
    return StepCapturer(widths, context=context, device=accelerator.device) if widths and context else None


@dataclass(frozen=True)
class _Taken:
    """A step that was taken: its number in the training, its rows, and its loss terms."""

    number: int
    rows: int
    terms: dict[str, Tensor]


def _one_epoch(
    progress: Progress,
    plan: list[list[Places]],
    *,
    epochs: int,
    stepper: _Stepper,
    save: Callable[[], None],
    bar: Bar,
    curves: Curves,
) -> None:
    """The rest of an epoch, from the step that `progress` names."""
    last_save, pause = time.monotonic(), SECONDS_BETWEEN_CHECKPOINTS
    unread: list[_Taken] = []  # losses still on the device: reading each would stall it
    while progress.step < len(plan):
        batches = plan[progress.step]
        number = progress.epoch * len(plan) + progress.step
        rate = stepper.rate(number, total=epochs * len(plan))
        terms = stepper.take(batches, rate=rate, number=number, total=epochs * len(plan))
        unread.append(_Taken(number, sum(len(batch) for batch in batches), terms))
        progress.step += 1
        due = (now := time.monotonic()) - last_save > pause
        if due or len(unread) >= STEPS_BETWEEN_READINGS or progress.step == len(plan):
            read = _read(unread)
            latest = {f"loss/{name}": _mean(read, name) for name in read[0]}
            curves.add({**latest, "learning_rate": rate}, step=number)
            bar.advance(_add_losses(progress, unread, read), note=_note(progress))
            unread.clear()
        if due:
            save()
            last_save = time.monotonic()
            pause = SECONDS_BETWEEN_CHECKPOINTS * max(1.0, last_save - now)
    progress.add_point((progress.epoch + 1) * len(plan) - 1)  # what is left of the epoch


def _read(unread: list[_Taken]) -> list[dict[str, float]]:
    """The loss terms of these steps, fetched from the device at once."""
    table = torch.stack([torch.stack(list(step.terms.values())) for step in unread])  # (steps, terms)
    return [
        dict(zip(step.terms, map(_finite, values), strict=True))
        for step, values in zip(unread, table.tolist(), strict=True)
    ]


def _mean(read: list[dict[str, float]], name: str) -> float:
    return sum(terms[name] for terms in read) / len(read)


def _add_losses(progress: Progress, taken: list[_Taken], read: list[dict[str, float]]) -> int:
    """Add the losses to the epoch's sums and to the curves; returns the rows they stand for."""
    for step, terms in zip(taken, read, strict=True):
        progress.add_step(step.number, terms)
        for name, term in terms.items():
            progress.sums[name] = progress.sums.get(name, 0.0) + term * step.rows
    rows = sum(step.rows for step in taken)
    progress.rows += rows
    return rows


def _finish_epoch(
    progress: Progress,
    validation: dict[str, float],
    *,
    keep: Literal["best", "last"],
    model: nn.Module,
    work: Path,
    is_writing: bool,
) -> None:
    _finite(validation["dev_loss"])
    means = {name: value / progress.rows for name, value in progress.sums.items()}
    progress.history.append({"epoch": progress.epoch + 1, "loss": sum(means.values()), "losses": means, **validation})
    best = None if progress.best_epoch < 0 else progress.history[progress.best_epoch]
    if best is None or keep == "last" or rank(validation) > rank(best):
        progress.best_epoch = progress.epoch
        if is_writing:
            save_best(work, model)
    progress.epoch, progress.step, progress.rows, progress.sums = progress.epoch + 1, 0, 0, {}


def _finite(loss: float) -> float:
    if not math.isfinite(loss):
        raise FloatingPointError(loss)
    return loss


def rank(validation: dict[str, Any]) -> tuple[float, float]:
    """Better is larger: a higher score on dev; at the same score, a lower loss."""
    return validation.get("dev_score", validation["dev_accuracy"]), -validation["dev_loss"]


def _note(progress: Progress) -> str:
    loss = sum(progress.sums.values()) / max(progress.rows, 1)
    last = "".join(f", dev {entry['dev_accuracy']:.1%}" for entry in progress.history[-1:] if "dev_accuracy" in entry)
    return f"epoch {progress.epoch + 1}, loss {loss:.3f}{last}"
