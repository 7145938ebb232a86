"""Sharing the processor's cores with whatever else runs on the machine."""

import os

SPINS = "1000"  # rounds of looking before a waiting thread goes to sleep; GNU OpenMP's own is a few hundred thousand


def share_cores() -> None:
    """Let PyTorch's threads soon sleep while they wait for each other. Call it before torch is loaded.

    Looking without pause is quickest on an idle machine; on a busy one it takes the core that the awaited thread
    needs, and training slows down. `benchmarks/waiting_threads.py` measures both. What the user has
    set in the environment is left alone.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPINS)
