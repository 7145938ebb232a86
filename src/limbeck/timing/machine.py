"""The machine that a report was made on, as far as it affects the numbers: no host name, no user, no paths."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("limbeck", "numpy", "onnxruntime", "tokenizers", "torch", "transformers")


def machine_facts(*, threads: int) -> dict[str, Any]:
    """Processor, cores, threads used for timing, system and versions; the GPU, if training had one."""
    gpu = gpu_name()
    return {
        "cpu": cpu_name(),
        **({"gpu": gpu} if gpu else {}),
        "cores": usable_cores(),
        "threads": threads,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {package: found for package in PACKAGES if (found := _version(package))},
    }


def usable_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cpu_name(listing: Path = Path("/proc/cpuinfo")) -> str:
    """The processor's name as the system gives it."""
    if listing.is_file():
        for line in listing.read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name" and value.strip():
                return value.strip()
    return platform.processor() or platform.machine() or "unknown"


def gpu_name() -> str | None:
    """The GPU's name; None without a GPU, or if torch is not loaded."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return None
    name: str = torch.cuda.get_device_name(0)
    return name


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
