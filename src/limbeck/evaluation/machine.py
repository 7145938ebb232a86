"""The machine a report was made on, as far as it matters for its numbers: no host name, no user, no paths."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("limbeck", "numpy", "onnxruntime", "tokenizers", "torch", "transformers")


def machine_facts(*, threads: int) -> dict[str, Any]:
    """Processor, cores, threads used for timing, system and versions."""
    return {
        "cpu": cpu_name(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "threads": threads,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {package: found for package in PACKAGES if (found := _version(package))},
    }


def cpu_name(listing: Path = Path("/proc/cpuinfo")) -> str:
    """The processor's name as the system gives it."""
    if listing.is_file():
        for line in listing.read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name" and value.strip():
                return value.strip()
    return platform.processor() or platform.machine() or "unknown"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
