"""Whether training on this machine will have a GPU, told without loading torch."""

import os
import shutil
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

DRIVER = Path("/proc/driver/nvidia/gpus")  # a folder for each GPU, where NVIDIA's driver runs on Linux
HIDDEN = {"", "-1"}  # what CUDA_VISIBLE_DEVICES says when no GPU is to be seen


def has_gpu() -> bool:
    """Whether there is an NVIDIA GPU that this process may use, and a torch that is built for it."""
    if os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in HIDDEN or not _torch_can():
        return False
    if DRIVER.is_dir():
        return any(DRIVER.iterdir())
    return shutil.which("nvidia-smi") is not None  # WSL has the driver, but no such folder


def _torch_can() -> bool:
    try:
        return not version("torch").endswith("+cpu")
    except PackageNotFoundError:  # the one that will be installed may
        return True
