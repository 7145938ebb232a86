"""Sharing CPU cores with other programs on the machine."""

import os

SPINS = "1000"  # busy-wait rounds before a waiting thread sleeps; GNU OpenMP's default is a few hundred thousand


def share_cores() -> None:
    """Let PyTorch's threads sleep soon while they wait for each other. Call it before torch is imported.

    Busy waiting is fastest on an idle machine; on a busy one it takes the core that the awaited thread needs, and
    training slows down. `benchmarks/waiting_threads.py` measures both. Environment variables that the user has set are
    not changed.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPINS)
