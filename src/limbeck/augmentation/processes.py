"""Distributes tasks over processes; results come in the order of the tasks, whatever the number of processes."""

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

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")

SECONDS_WORTH_PROCESSES = 4.0  # shorter jobs run in one process: starting processes takes seconds too
TASKS_AHEAD = 3  # for each process; limits the tasks and results in memory

_job: tuple[Callable[[Any, Any], Any], Any]  # in a worker process: the function, and the object that its calls share


class ProcessLost(LimbeckError):
    """The system ended one of the worker processes."""

    def __init__(self, *, processes: int) -> None:
        super().__init__(
            f"one of {processes:,} processes was ended by the system, most often because memory ran out",
            advice="Run again with fewer: processes = 1 in [augmentation], or --set augmentation.processes=1.",
        )


def available_cores() -> int:
    """CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def worthwhile(processes: int, *, seconds: float) -> int:
    """How many of the processes to use for a job that would take one process this many seconds."""
    return processes if seconds >= SECONDS_WORTH_PROCESSES else 1


def spread(
    function: Callable[[Shared, Task], Result], tasks: Iterable[Task], *, shared: Shared, processes: int
) -> Iterator[Result]:
    """`function(shared, task)` for every task. Every process gets `shared` once; everything must be picklable.

    The processes are new interpreters, and end when this process ends, however it ends.
    """
    if processes == 1:
        yield from (function(shared, task) for task in tasks)
        return
    context = multiprocessing.get_context("spawn")  # a fork would copy torch's threads in an undefined state
    pool = ProcessPoolExecutor(processes, context, initializer=_start_worker, initargs=(function, shared))
    pending: deque[Future[Result]] = deque()
    try:
        for task in tasks:
            with _without_main():
                pending.append(pool.submit(_run_task, task))
            if len(pending) >= TASKS_AHEAD * processes:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    except BrokenProcessPool:
        raise ProcessLost(processes=processes) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _start_worker(function: Callable[[Any, Any], Any], shared: Any) -> None:
    global _job
    _job = function, shared
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl-C
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _run_task(task: Any) -> Any:
    function, shared = _job
    return function(shared, task)


def _end_with_parent() -> None:
    """Without this, a worker that waits for a task would wait forever if its parent was killed."""
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)


@contextmanager
def _without_main() -> Iterator[None]:
    """Keeps new processes from running the caller's script again if it has no `if __name__ == "__main__"`."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
