"""Where and in what arithmetic training runs."""

import os
from pathlib import Path
from typing import Literal

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs, InitProcessGroupKwargs
from accelerate.state import AcceleratorState
from torch import Tensor

from limbeck.recipe.teacher import Precision
from limbeck.training.processes import LONGEST_WAIT
from limbeck.training.tracks import NO_TRACKS, Tracks, log_folder

Arithmetic = Literal["fp32", "bf16"]


def training_device() -> torch.device:
    """The GPU if there is one, else the CPU: the one answer that models, rows and accelerate all go by."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def sent(tensor: Tensor, device: torch.device) -> Tensor:
    """The tensor on the device. A GPU gets it from pinned memory, so that nobody waits for the steps under way."""
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def choose_arithmetic(asked: Precision) -> Arithmetic:
    """What `precision` in the recipe comes to on this machine: "auto" is bf16 where the hardware computes in it."""
    if asked != "auto":
        return asked
    if torch.cuda.is_available():
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
    return "bf16" if _cpu_has_bf16() else "fp32"


def accelerator_for(arithmetic: Arithmetic, *, tracks: Tracks = NO_TRACKS, what: str = "training") -> Accelerator:
    """An accelerator for this arithmetic; accelerate keeps one per process, so it is reset for each training.

    Left alone, accelerate would take devices that `training_device` does not know, such as Apple's. In a group of
    processes the state is what binds them together, and it stays.
    """
    in_group = int(os.environ.get("WORLD_SIZE", "1")) > 1
    if not in_group:
        AcceleratorState._reset_state(reset_partial_state=True)
    return Accelerator(
        # Some models have weights that classifying never touches (XLNet's mask); and while the first process judges on
        # dev, the others wait for it, for longer than torch thinks proper.
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


def _cpu_has_bf16() -> bool:
    """Whether the CPU multiplies in bf16 itself; emulated bf16 is slower than fp32."""
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False  # no Linux, no way to tell
    return "avx512_bf16" in flags or "amx_bf16" in flags
