"""Spreading work over processes: results in the order of the tasks, whatever the number of processes."""

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from types import ModuleType
from typing import Any, TypeVar

from limbeck.errors import LimbeckError

Equipment = TypeVar("Equipment")
Task = TypeVar("Task")
Result = TypeVar("Result")

SECONDS_WORTH_PROCESSES = 4.0  # work that one process does in less than this is not shared: starting takes seconds too
TASKS_AHEAD = 3  # for each process; bounds the tasks and results that are in memory

_ready: tuple[Callable[[Any, Any], Any], Any]  # in a process that works for another: its work and its equipment


class ProcessLost(LimbeckError):
    """The system ended one of the processes that shared a piece of work."""

    def __init__(self, *, processes: int) -> None:
        super().__init__(
            f"one of {processes:,} processes was ended by the system, most often because memory ran out",
            advice="Run again with fewer: processes = 1 in [augmentation], or --set augmentation.processes=1.",
        )


def available_cores() -> int:
    """CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def worthwhile(processes: int, *, seconds: float) -> int:
    """How many of the processes to use for work that would take one of them so long."""
    return processes if seconds >= SECONDS_WORTH_PROCESSES else 1


def spread(
    work: Callable[[Equipment, Task], Result], tasks: Iterable[Task], *, equipment: Equipment, processes: int
) -> Iterator[Result]:
    """`work(equipment, task)` for every task. Every process gets the equipment once; all of it must be picklable.

    The processes are fresh interpreters, and end with this one however it ends.
    """
    if processes == 1:
        yield from (work(equipment, task) for task in tasks)
        return
    context = multiprocessing.get_context("spawn")  # a fork would copy torch's threads in a state of their own
    pool = ProcessPoolExecutor(processes, context, initializer=_get_ready, initargs=(work, equipment))
    under_way: deque[Future[Result]] = deque()
    try:
        for task in tasks:
            with _main_kept_out():
                under_way.append(pool.submit(_work_on, task))
            if len(under_way) >= TASKS_AHEAD * processes:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
    except BrokenProcessPool:
        raise ProcessLost(processes=processes) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _get_ready(work: Callable[[Any, Any], Any], equipment: Any) -> None:
    global _ready
    _ready = work, equipment
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who gave out the work
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _work_on(task: Any) -> Any:
    work, equipment = _ready
    return work(equipment, task)


def _end_with_parent() -> None:
    """A pool's process that waits for a task would wait for ever if its parent was killed."""
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)


@contextmanager
def _main_kept_out() -> Iterator[None]:
    """New processes would run the caller's script once more if it has no `if __name__ == "__main__"`."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
