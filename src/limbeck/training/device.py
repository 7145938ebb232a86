"""The device and the arithmetic of training."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs, InitProcessGroupKwargs
from accelerate.state import AcceleratorState
from torch import Tensor

from limbeck.errors import StudentError
from limbeck.recipe.teacher import Precision
from limbeck.training.processes import LONGEST_WAIT
from limbeck.training.tracks import NO_TRACKS, Tracks, log_folder

Arithmetic = Literal["fp32", "bf16"]


def training_device() -> torch.device:
    """The GPU if there is one, else the CPU; models, rows and accelerate all use this one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def sent(tensor: Tensor, device: torch.device) -> Tensor:
    """The tensor on the device. For a GPU it is copied from pinned memory, without waiting for running steps."""
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def choose_arithmetic(asked: Precision) -> Arithmetic:
    """The arithmetic for `precision` in the recipe: "auto" is bf16 if the hardware supports it, else fp32."""
    if asked != "auto":
        return asked
    if torch.cuda.is_available():
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
    return "bf16" if _cpu_has_bf16() else "fp32"


class Bf16Missing(StudentError):
    """A recurrent student is to be trained in bf16 on a CPU that cannot."""

    def __init__(self, *, reason: str) -> None:
        super().__init__(
            "this CPU cannot train a recurrent student in bf16",
            found=f"PyTorch has no bf16 LSTM for its instructions: {reason}",
            advice='Set distillation.precision = "fp32", which is the default, or train on a GPU.',
        )


def refuse_bf16_recurrence(arithmetic: Arithmetic, *, is_recurrent: bool) -> None:
    """Raise Bf16Missing before a training that would break off in its first step. A tiny one shows whether it would:
    which instructions it needs depends on the version of PyTorch."""
    if arithmetic != "bf16" or not is_recurrent or training_device().type != "cpu":
        return
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            torch.nn.LSTM(2, 2, batch_first=True)(torch.zeros(1, 2, 2))[0].sum().backward()
    except RuntimeError as error:
        raise Bf16Missing(reason=str(error).partition(".")[0]) from None


def accelerator_for(arithmetic: Arithmetic, *, tracks: Tracks = NO_TRACKS, what: str = "training") -> Accelerator:
    """An accelerator for this arithmetic; accelerate keeps one per process, so it is reset for each training.

    By itself, accelerate would use devices that `training_device` does not use, such as Apple's. In a group of
    processes the state connects them, and is kept.
    """
    in_group = int(os.environ.get("WORLD_SIZE", "1")) > 1
    AcceleratorState._reset_state(reset_partial_state=not in_group)
    return Accelerator(
        # Some models have weights that a classifier never uses (XLNet's mask); and while the first process evaluates on
        # dev, the others wait for it, for longer than torch's default timeout.
        kwargs_handlers=[
            DistributedDataParallelKwargs(find_unused_parameters=True),
            InitProcessGroupKwargs(timeout=LONGEST_WAIT),
        ]
        if in_group
        else None,
        mixed_precision="bf16" if arithmetic == "bf16" else "no",
        cpu=training_device().type == "cpu",
        log_with=list(tracks.trackers) or None,
        project_dir=str(log_folder(tracks, what=what)) if tracks.trackers else None,
    )


def per_second(work: Callable[[], object], *, rows: int) -> float:
    """Rows per second of this work, which reads so many; a GPU is waited for."""
    _wait()
    started = time.perf_counter()
    work()
    _wait()
    return rows / (time.perf_counter() - started)


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _cpu_has_bf16() -> bool:
    """Whether the CPU has bf16 instructions; emulated bf16 is slower than fp32."""
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False  # not Linux: unknown
    return "avx512_bf16" in flags or "amx_bf16" in flags
