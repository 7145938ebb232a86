"""The one training loop, for teacher and students: on accelerate, with checkpoints from which it can continue."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from limbeck.errors import LimbeckError
from limbeck.progress import Bar, Reporter
from limbeck.recipe.teacher import Keep
from limbeck.training.checkpoints import KeptWeights, Saver, load_checkpoint, save_checkpoint
from limbeck.training.cuda_graphs import Widths
from limbeck.training.device import Arithmetic, accelerator_for
from limbeck.training.epochs import STEPS_BETWEEN_READINGS, Progress, is_judged
from limbeck.training.optimiser import MeanWithStart, OptimizerName, RunningMean, optimiser_for
from limbeck.training.shares import from_first_process, share_of_group
from limbeck.training.steps import Hyperparameters, Losses, Places, Stepper, capturer_for
from limbeck.training.tracks import NO_TRACKS, Curves, Tracks

SECONDS_BETWEEN_CHECKPOINTS = 20.0  # at least; times the seconds that saving takes, if that is more than one

Batches = Callable[[int], list[Places]]  # epoch → row positions of each batch
# "dev_loss"; to keep the best: "dev_accuracy" or "dev_score" too, and "dev_macro_f1" or "dev_spearman" if it is that
Validate = Callable[[nn.Module], dict[str, float]]

# Groups of processes that are done, until the process ends. The destructor of a group waits for its thread while it
# holds the interpreter's lock; right after the last message that thread needs the lock, and both would wait for ever.
_GROUPS: list[Any] = []


class TrainingDiverged(LimbeckError):
    """The loss is infinite or NaN, so the training cannot continue."""

    def __init__(self, *, what: str, epoch: int, learning_rate: float) -> None:
        self.model, self.epoch = what, epoch
        super().__init__(
            f"{what}: the loss is no longer a finite number, in epoch {epoch}",
            found=f"peak learning rate: {learning_rate:g}",
            advice='Lower learning_rate (a third is a good next try), or set precision = "fp32".',
        )


class NotShared(LimbeckError):
    """A process of a group does not see the checkpoint from which the first one continues."""

    def __init__(self, *, folder: Path, rank: int) -> None:
        super().__init__(
            f"process {rank + 1} does not see the checkpoint from which the first process continues",
            found=f"looked into '{folder}'",
            advice="Put the run on a disk that all machines see under the same path; if it is, start it again.",
        )


def train(
    model: nn.Module,
    settings: Hyperparameters,
    *,
    arithmetic: Arithmetic,
    batches: Batches,
    losses: Losses,
    validate: Validate,
    work_folder: Path,
    reporter: Reporter,
    what: str,
    tracks: Tracks = NO_TRACKS,
    keep: Keep | Literal["last"] = "best",
    average: float | None = None,
    start_share: float = 0.0,
    widths: Widths | None = None,
    judge_start: Callable[[], dict[str, float]] | None = None,
    optimizer: OptimizerName = "adamw",
    losses_share: bool = False,
) -> Progress:
    """Train; at the end the model has the weights of the best epoch on dev, of the latest that is as good within the
    noise (see Progress.is_kept), or of the last.

    With `judge_start`, which is called before the first step, it has those it started with if no epoch was better.
    A loss that is no longer finite, or an epoch that collapses, ends it early with what it has; without a whole epoch,
    TrainingDiverged is raised. Better means a higher dev score or, if equal, a lower dev loss. With `average`, the
    decay of a running mean of the weights (limbeck.training.optimiser), that mean is evaluated and kept; with
    `start_share`, the mean with the weights at the start. State is saved to `work_folder` from time to time; if it
    holds a checkpoint, the training continues from there and ends with the same weights as without the interruption.
    In a group of processes (limbeck.training.processes) each trains on its share of every batch, or with `losses_share`
    the losses get whole batches and share them out (limbeck.training.shares); the first one evaluates and writes.

    `widths` means that the losses read only the rows of a batch and these widths: if one process trains on a GPU
    without accumulation, steps are then captured as CUDA graphs (limbeck.training.cuda_graphs).
    """
    accelerator = accelerator_for(arithmetic, tracks=tracks, what=what)
    capturer = capturer_for(widths, accelerator, settings)
    optimiser = optimiser_for(
        model,
        name=optimizer,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
        captured_on=accelerator.device if capturer else None,
    )
    model, optimiser = accelerator.prepare(model, optimiser)
    plain = accelerator.unwrap_model(model)
    mean = MeanWithStart(plain, share=start_share) if start_share else RunningMean(plain, decay=average)
    progress = Progress(**(load_checkpoint(work_folder, model=plain, optimiser=optimiser, average=mean.values) or {}))
    _refuse_other_start(progress, work_folder)
    stepper = Stepper(accelerator, model, optimiser, settings, losses, mean, capturer, losses_share)
    curves = Curves(accelerator, tracks, what=what, settings=settings)
    kept = KeptWeights(work_folder)

    def save() -> None:
        if accelerator.is_main_process:
            kept.save()
            save_checkpoint(work_folder, model=plain, optimiser=optimiser, progress=vars(progress), average=mean.values)

    saver = Saver(save, seconds=SECONDS_BETWEEN_CHECKPOINTS)
    _judge_start(progress, judge_start, kept=kept, model=plain)
    first, is_finite = batches(0), True
    rows = sum(len(batch) for batch in first)
    if capturer:
        capturer.expect(first, epochs=settings.epochs)
    active = capturer.active() if capturer else nullcontext()
    with active, reporter.bar(what, total=rows * settings.epochs, unit="rows") as bar:
        bar.advance(rows * progress.epoch + progress.rows)  # already done by an earlier, stopped run
        while is_finite and from_first_process(lambda: _goes_on(progress, settings, keep=keep)):
            model.train()
            try:
                plan = _steps(batches(progress.epoch), settings.accumulation_steps)
                _one_epoch(progress, plan, epochs=settings.epochs, stepper=stepper, saver=saver, bar=bar, curves=curves)
                with mean.in_model():
                    validation = from_first_process(lambda: validate(plain))
                    curves.add(validation, step=(progress.epoch + 1) * len(plan))
                    _finish_epoch(progress, validation, keep=keep, kept=kept, model=plain)
            except FloatingPointError:
                if progress.best is None:
                    epoch, rate = progress.epoch + 1, settings.learning_rate
                    raise TrainingDiverged(what=what, epoch=epoch, learning_rate=rate) from None
                is_finite = False
                continue
            saver.save_after_epoch(is_last=not _goes_on(progress, settings, keep=keep))
    if capturer and capturer.problem:
        reporter.note(f"  {what}: trained without CUDA graphs, which is slower: {capturer.problem}", style="warning")
    _note_early_end(progress, settings, reporter, what=what, is_finite=is_finite)
    accelerator.wait_for_everyone()
    kept.put_into(plain)
    accelerator.wait_for_everyone()  # then the first one may remove the file
    _GROUPS.extend([torch.distributed.group.WORLD] if accelerator.num_processes > 1 else [])
    curves.close()
    return progress


def _goes_on(progress: Progress, settings: Hyperparameters, *, keep: Keep | Literal["last"]) -> bool:
    """Whether there is another epoch to run; what is kept for any dev score does not end by it either."""
    is_promising = keep == "last" or (progress.has_patience_left(settings.patience) and not progress.has_collapsed)
    return progress.epoch < settings.epochs and is_promising


def _note_early_end(
    progress: Progress, settings: Hyperparameters, reporter: Reporter, *, what: str, is_finite: bool
) -> None:
    """If there were epochs left: patience was spent, or the training diverged, which is a warning."""
    if progress.epoch == settings.epochs:
        return
    done, kept = progress.epoch, f"epoch {progress.best_epoch + 1}" if progress.best_epoch >= 0 else "the start"
    if is_finite and not progress.has_collapsed:
        reporter.note(f"  {what}: stopped after epoch {done}, the best was {kept}")
        return
    why = (
        f"the loss rose sharply in epoch {done}" if is_finite else f"the loss was no longer finite in epoch {done + 1}"
    )
    advice = f"a learning rate lower than {settings.learning_rate:g} may do better"
    reporter.note(f"  warning: {what}: ended early, because {why}; {kept} is kept; {advice}", style="warning")


def _steps(batches: list[Places], accumulation_steps: int) -> list[list[Places]]:
    """The batches of each step."""
    return [batches[start : start + accumulation_steps] for start in range(0, len(batches), accumulation_steps)]


def _refuse_other_start(progress: Progress, folder: Path) -> None:
    """Raise NotShared unless this process continues from where the first one of its group does."""
    own = (progress.epoch, progress.step)
    first = from_first_process(lambda: own)
    if own != first:
        raise NotShared(folder=folder, rank=share_of_group().rank)


def _judge_start(
    progress: Progress,
    judge: Callable[[], dict[str, float]] | None,
    *,
    kept: KeptWeights,
    model: nn.Module,
) -> None:
    """Keep the start, if it may be kept and is not judged yet: a checkpoint has the result."""
    if judge is not None and progress.start is None:
        progress.start = from_first_process(judge)
        kept.take(model)


@dataclass(frozen=True)
class _FinishedStep:
    """A finished step: its number in the training, the number of its rows, and its loss terms."""

    number: int
    rows: int
    terms: dict[str, Tensor]


def _one_epoch(
    progress: Progress,
    plan: list[list[Places]],
    *,
    epochs: int,
    stepper: Stepper,
    saver: Saver,
    bar: Bar,
    curves: Curves,
) -> None:
    """Run the rest of an epoch, from the step in `progress`."""
    unread: list[_FinishedStep] = []  # losses still on the device: reading each would stall it
    while progress.step < len(plan):
        batches = plan[progress.step]
        number = progress.epoch * len(plan) + progress.step
        rate = stepper.rate(number, total=epochs * len(plan))
        terms = stepper.take(batches, rate=rate, number=number, total=epochs * len(plan))
        unread.append(_FinishedStep(number, sum(len(batch) for batch in batches), terms))
        progress.step += 1
        due = saver.is_due and stepper.share.is_all  # all processes of a group read after the same steps
        if due or len(unread) >= STEPS_BETWEEN_READINGS or progress.step == len(plan):
            read = _read(unread, stepper.accelerator)
            latest = {f"loss/{name}": _mean(read, name) for name in read[0]}
            curves.add({**latest, "learning_rate": rate}, step=number)
            bar.advance(_add_losses(progress, unread, read), note=_note(progress))
            unread.clear()
            saver.save_if_due()
    progress.add_point((progress.epoch + 1) * len(plan) - 1)  # the remaining steps of the epoch


def _read(unread: list[_FinishedStep], accelerator: Accelerator) -> list[dict[str, float]]:
    """The loss terms of these steps, fetched from the device in one copy; the same ones in all processes of a group,
    which then agree on whether they are finite."""
    table = torch.stack([torch.stack(list(step.terms.values())) for step in unread])  # (steps, terms)
    if accelerator.num_processes > 1:
        table = accelerator.reduce(table, reduction="mean")
    return [
        dict(zip(step.terms, map(_finite, values), strict=True))
        for step, values in zip(unread, table.tolist(), strict=True)
    ]


def _mean(read: list[dict[str, float]], name: str) -> float:
    return sum(terms[name] for terms in read) / len(read)


def _add_losses(progress: Progress, finished: list[_FinishedStep], read: list[dict[str, float]]) -> int:
    """Add the losses to the epoch's sums and to the curves; returns the number of their rows."""
    for step, terms in zip(finished, read, strict=True):
        progress.add_step(step.number, terms)
        for name, term in terms.items():
            progress.sums[name] = progress.sums.get(name, 0.0) + term * step.rows
    rows = sum(step.rows for step in finished)
    progress.rows += rows
    return rows


def _finish_epoch(
    progress: Progress,
    validation: dict[str, float],
    *,
    keep: Keep | Literal["last"],
    kept: KeptWeights,
    model: nn.Module,
) -> None:
    _finite(validation["dev_loss"])
    means = {name: value / progress.rows for name, value in progress.sums.items()}
    progress.history.append({"epoch": progress.epoch + 1, "loss": sum(means.values()), "losses": means, **validation})
    if keep == "last" or progress.is_kept(validation, keep=keep):
        progress.best_epoch = progress.epoch
        kept.take(model)
    progress.epoch, progress.step, progress.rows, progress.sums = progress.epoch + 1, 0, 0, {}


def _finite(loss: float) -> float:
    if not math.isfinite(loss):
        raise FloatingPointError(loss)
    return loss


def _note(progress: Progress) -> str:
    loss = sum(progress.sums.values()) / max(progress.rows, 1)
    last = "".join(f", dev {_dev(entry)}" for entry in progress.history[-1:] if is_judged(entry))
    return f"epoch {progress.epoch + 1}, loss {loss:.3f}{last}"


def _dev(entry: dict[str, Any]) -> str:
    """What the epochs are chosen by."""
    names = {"dev_spearman": "Spearman {:.3f}", "dev_macro_f1": "macro F1 {:.1%}", "dev_accuracy": "{:.1%}"}
    return next(text.format(entry[name]) for name, text in names.items() if name in entry)
