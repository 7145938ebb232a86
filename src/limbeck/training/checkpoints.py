"""Saves a training's state to disk, as safetensors only, so that a killed one continues to the same result."""

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.optim import Optimizer

CHECKPOINT, BEST = "checkpoint.safetensors", "best.safetensors"
MOST_OF_TIME = 0.1  # that saving after each epoch may take
AVERAGE = "average."  # prefix of the running means of weights


def save_checkpoint(
    folder: Path,
    *,
    model: nn.Module,
    optimiser: Optimizer,
    progress: dict[str, Any],
    average: Mapping[str, Tensor] | None = None,
) -> None:
    """Write weights, their running mean if any, optimiser state, random state and progress to one file, atomically."""
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    tensors |= {f"{AVERAGE}{name}": tensor for name, tensor in (average or {}).items()}
    for number, state in optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser.{number}.{name}": torch.as_tensor(value) for name, value in state.items()}
    tensors["random.cpu"] = torch.get_rng_state()
    if torch.cuda.is_available():
        tensors["random.cuda"] = torch.cuda.get_rng_state()
    _save(folder / CHECKPOINT, tensors, {"progress": json.dumps(progress)})


def load_checkpoint(
    folder: Path, *, model: nn.Module, optimiser: Optimizer, average: Mapping[str, Tensor] | None = None
) -> dict[str, Any] | None:
    """Restore everything and return the progress; None if the checkpoint is missing, damaged, or does not have the
    running means of the weights in `average`."""
    path = folder / CHECKPOINT
    try:
        with safe_open(str(path), framework="pt") as file:
            progress: dict[str, Any] = json.loads(file.metadata()["progress"])
        tensors = load_file(str(path))
        means = {name: tensors[f"{AVERAGE}{name}"] for name in average or {}}
        if progress["best_epoch"] >= 0 or progress.get("start"):
            load_file(str(folder / BEST))  # the end of the training needs it
    except (OSError, SafetensorError, ValueError, TypeError, KeyError):
        return None
    model.load_state_dict(_under(tensors, "model."))
    for name, tensor in (average or {}).items():
        tensor.copy_(means[name])
    _restore_optimiser(optimiser, _under(tensors, "optimiser."))
    torch.set_rng_state(tensors["random.cpu"])
    if "random.cuda" in tensors and torch.cuda.is_available():
        torch.cuda.set_rng_state(tensors["random.cuda"])
    return progress


class Saver:
    """Saves from time to time: so seldom that saving takes little of the time."""

    def __init__(self, save: Callable[[], None], *, seconds: float) -> None:
        self._save, self._seconds = save, seconds
        self._last, self._took = time.monotonic(), 0.0

    @property
    def is_due(self) -> bool:
        """Whether so many seconds have passed; times the seconds that saving takes, if that is more than one."""
        return time.monotonic() - self._last > self._seconds * max(1.0, self._took)

    def save_if_due(self) -> None:
        """Save if the last time was long enough ago."""
        if self.is_due:
            self._save_now()

    def save_after_epoch(self, *, is_last: bool) -> None:
        """Save if nothing more will be trained, or saving takes little of the time since the last one.

        A large model reads few rows in less time than it is written.
        """
        if is_last or self.is_due or time.monotonic() - self._last > self._took / MOST_OF_TIME:
            self._save_now()

    def _save_now(self) -> None:
        started = time.monotonic()
        self._save()
        self._last = time.monotonic()
        self._took = self._last - started


class KeptWeights:
    """The weights of the epoch that is kept: in memory, and on disk as soon as a checkpoint refers to them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._weights: dict[str, Tensor] | None = None
        self._is_saved = True

    def take(self, model: nn.Module) -> None:
        """Keep the weights that the model has now."""
        self._weights, self._is_saved = _copied(model.state_dict()), False

    def save(self) -> None:
        """Write them, if they are newer than the file."""
        if self._weights is not None and not self._is_saved:
            _save(self._folder / BEST, self._weights, {})
            self._is_saved = True

    def put_into(self, model: nn.Module) -> None:
        """Load them into the model; those of an earlier process come from its file."""
        model.load_state_dict(best_of(self._folder) if self._weights is None else self._weights)


def best_of(folder: Path) -> dict[str, Tensor]:
    """The weights of the best epoch."""
    return load_file(str(folder / BEST))


def progress_of(folder: Path) -> dict[str, Any]:
    """The progress in the last checkpoint of a finished training."""
    with safe_open(str(folder / CHECKPOINT), framework="pt") as file:
        progress: dict[str, Any] = json.loads(file.metadata()["progress"])
    return progress


def _save(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    scratch = path.with_suffix(".partial")
    save_file(_copied(tensors), str(scratch), metadata=metadata)
    scratch.replace(path)


def _copied(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copied once, on any device: safetensors refuses tensors that share memory, such as tied weights."""
    return {name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in tensors.items()}


def _under(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _restore_optimiser(optimiser: Optimizer, tensors: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for path, tensor in tensors.items():
        number, _, name = path.partition(".")
        state.setdefault(int(number), {})[name] = tensor
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
