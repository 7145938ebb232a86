"""Several processes that train one model together, one on each GPU."""

import os
import socket
from collections.abc import Callable
from typing import Any

import torch
import torch.multiprocessing

from limbeck.progress import Reporter, SilentReporter, TerminalReporter


def process_count(asked: int | None) -> int:
    """As many as the recipe asks for; left out: one for each GPU, and a single one where there is none."""
    return asked or max(1, torch.cuda.device_count())


def run_together(work: Callable[..., object], *arguments: Any, processes: int) -> None:
    """Call `work(*arguments)` in so many processes that know of each other, and wait for all of them.

    Function and arguments must be picklable: each process is a fresh interpreter. If one fails, the others are ended
    and its error is raised here. They end with this process, however it ends.
    """
    port = _free_port()
    start: Any = torch.multiprocessing.spawn  # type: ignore[attr-defined]  # torch does not type it
    start(_member, args=(processes, port, work, arguments), nprocs=processes, join=True)


def reporter_of_member(reporter: Reporter) -> Reporter:
    """For use inside the group: the first process speaks on the terminal if the run does; the others are silent."""
    speaks = os.environ.get("RANK", "0") == "0" and isinstance(reporter, TerminalReporter)
    return TerminalReporter() if speaks else SilentReporter()


def _member(rank: int, processes: int, port: int, work: Callable[..., object], arguments: tuple[Any, ...]) -> None:
    """What accelerate goes by stands in the environment, as torchrun would have put it there."""
    os.environ.update(
        RANK=str(rank),
        LOCAL_RANK=str(rank),
        WORLD_SIZE=str(processes),
        LOCAL_WORLD_SIZE=str(processes),
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(port),
    )
    if torch.cuda.is_available():
        torch.cuda.set_device(rank % torch.cuda.device_count())
    try:
        work(*arguments)
    finally:
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
