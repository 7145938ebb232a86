"""Workers on a Ray cluster: each holds a model; work is given to those that live, and again if one is lost."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from limbeck.errors import DependencyMissing, LimbeckError

AT_ONCE = 2  # pieces of work that a worker has: the next one is there when it has finished one
ATTEMPTS = 5  # of a piece of work whose worker was lost each time
STARTS = 5  # for each worker, that fail in a row: the model is too large, or its files are at fault
SECONDS_BETWEEN_LOOKS = 1.0
NAMESPACE = "limbeck"

Work = TypeVar("Work")
Result = TypeVar("Result")


class ClusterUnusable(LimbeckError):
    """There is no Ray cluster to work on, or its workers cannot start."""


@dataclass(frozen=True)
class Lost:
    """A piece of work that no worker survived."""

    attempts: int
    reason: str


@dataclass(frozen=True)
class Resources:
    """What the workers of a run take of the cluster."""

    workers: int | None = None  # None: as many as there are CPUs, or GPUs if `gpu`, for
    threads: int = 1  # CPUs of each
    is_on_gpu: bool = False

    def per_worker(self, available: dict[str, float]) -> tuple[int, float]:
        """(workers, GPUs of each), of what the whole cluster has. Raises ClusterUnusable if it has no room for one."""
        cpus, gpus = available.get("CPU", 0.0), available.get("GPU", 0.0)
        if cpus < self.threads:
            raise ClusterUnusable(
                f"a worker of {self.threads} threads does not fit on the cluster, which has {cpus:g} CPUs",
                advice="Give fewer --threads, or a cluster with more CPUs.",
            )
        if not self.is_on_gpu or not gpus:
            return self.workers or int(cpus // self.threads), 0.0
        workers = self.workers or int(gpus)
        share = min(1.0, gpus / workers)
        return workers, 1.0 / -(-1 // share) if share < 1 else 1.0  # a worker is on one GPU: a whole number shares it


@contextmanager
def connected(address: str | None, *, resources: Resources | None = None) -> Iterator[Any]:
    """Ray's module, connected to the cluster at the address ("auto": the one of this machine), or to one of its own on
    this machine, which ends with the block and has room for as many workers as are asked for."""
    ray = _ray()
    if ray.is_initialized():
        yield ray
        return
    options: dict[str, Any] = {"address": address} if address else {"include_dashboard": False}
    if resources and resources.workers and not address:
        options["num_cpus"] = max(resources.workers * resources.threads, os.cpu_count() or 1)
    try:
        ray.init(**options, namespace=NAMESPACE, log_to_driver=False, configure_logging=False)
    except (ConnectionError, ValueError, RuntimeError, OSError, TimeoutError) as error:
        advice = "Start one with `ray start --head`, or leave --address out to work on this machine alone."
        found = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ClusterUnusable(f"no Ray cluster at '{address or 'this machine'}'", found=found, advice=advice) from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise DependencyMissing(package="ray", purpose="work on a cluster", extra="ray") from None
    return ray


class Crew(Protocol):
    """What gives work to workers."""

    def start(self) -> tuple[Any, Any]: ...  # a worker, and what is there when it is ready
    def give(self, worker: Any, work: Any) -> Any: ...
    def end(self, worker: Any) -> None: ...


@dataclass
class RayCrew:
    """Actors of a class: `open` makes one's model from the arguments, `work` does a piece of work."""

    ray: Any
    kind: type
    arguments: tuple[Any, ...]
    threads: int
    gpus: float

    def start(self) -> tuple[Any, Any]:
        """A new actor, which Ray places on a node with room for it, now or later."""
        options = {"num_cpus": self.threads, "num_gpus": self.gpus, "max_restarts": 0, "max_task_retries": 0}
        worker = self.ray.remote(self.kind).options(**options).remote(*self.arguments)
        return worker, worker.ready.remote()

    def give(self, worker: Any, work: Any) -> Any:
        """The reference of the result to come."""
        return worker.work.remote(work)

    def end(self, worker: Any) -> None:
        """End an actor that is not needed, or may be half dead."""
        with suppress(Exception):
            self.ray.kill(worker, no_restart=True)


@dataclass
class _Given(Generic[Work]):
    work: Work
    attempts: int = 0


@dataclass
class Dispatch(Generic[Work]):
    """Gives every piece of work to a worker that lives, and to another one if that worker is lost."""

    ray: Any
    crew: Crew
    workers: int
    _starting: dict[Any, Any] = field(default_factory=dict)  # reference → worker
    _busy: dict[Any, deque[tuple[Any, _Given[Work]]]] = field(default_factory=dict)  # worker → (reference, its work)
    _again: deque[_Given[Work]] = field(default_factory=deque)
    _failed_starts: int = 0
    lost: int = 0  # workers

    def results(self, work: Iterable[Work]) -> Generator[tuple[Work, Any], None, None]:
        """(work, result) as they come, in any order; `Lost` for work that ended its workers ATTEMPTS times.

        No more is taken from `work` than the workers have room for. An error inside a worker is raised here.
        """
        waiting = iter(work)
        try:
            while True:
                is_idle = not self._feed(waiting)
                if is_idle and not self._references():
                    return
                for reference in self._finished():
                    yield from self._result_of(reference)
        finally:
            for worker in [*self._starting.values(), *self._busy]:
                self.crew.end(worker)

    def _feed(self, waiting: Iterator[Work]) -> bool:
        """Give work to every worker that has room for more; False if there is no more work to give."""
        if not self._busy and not self._starting:
            first = self._next(waiting)
            if first is None:
                return False
            self._again.appendleft(first)
        while len(self._busy) + len(self._starting) < self.workers:
            worker, ready = self.crew.start()
            self._starting[ready] = worker
        for at_most in range(1, AT_ONCE + 1):  # first one piece for each, then the next for each
            for worker, tasks in self._busy.items():
                if len(tasks) < at_most:
                    task = self._next(waiting)
                    if task is None:
                        return False
                    tasks.append((self.crew.give(worker, task.work), task))
        return True

    def _next(self, waiting: Iterator[Work]) -> _Given[Work] | None:
        if self._again:
            return self._again.popleft()
        for work in waiting:
            return _Given(work)
        return None

    def _references(self) -> list[Any]:
        return [reference for tasks in self._busy.values() for reference, _ in tasks]

    def _finished(self) -> Sequence[Any]:
        references = [*self._starting, *self._references()]
        done, _ = self.ray.wait(references, num_returns=1, timeout=SECONDS_BETWEEN_LOOKS)
        finished: Sequence[Any] = done
        return finished

    def _result_of(self, reference: Any) -> Iterator[tuple[Work, Any]]:
        if reference in self._starting:
            self._started(reference)
            return
        worker = next((one for one, tasks in self._busy.items() if any(own == reference for own, _ in tasks)), None)
        if worker is None:  # it was lost since
            return
        try:
            result = self.ray.get(reference)
        except self.ray.exceptions.RayTaskError as error:
            raise (error.cause if isinstance(error.cause, LimbeckError) else error) from None
        except self.ray.exceptions.RayError as error:
            yield from self._lost(worker, reason=_in_short(error))
            return
        tasks = self._busy[worker]
        task = next(task for own, task in tasks if own == reference)
        self._busy[worker] = deque(one for one in tasks if one[0] != reference)
        yield task.work, result

    def _started(self, reference: Any) -> None:
        worker = self._starting.pop(reference)
        try:
            self.ray.get(reference)
        except self.ray.exceptions.RayTaskError as error:
            raise (error.cause if isinstance(error.cause, LimbeckError) else error) from None
        except self.ray.exceptions.RayError as error:
            self.crew.end(worker)
            self._failed_starts += 1
            if self._failed_starts >= STARTS * self.workers:
                raise ClusterUnusable(
                    f"{self._failed_starts:,} workers in a row ended before they were ready",
                    found=_in_short(error),
                    advice="The nodes may have too little memory for the model: give fewer --workers.",
                ) from None
            return
        self._failed_starts = 0
        self._busy[worker] = deque()

    def _lost(self, worker: Any, *, reason: str) -> Iterator[tuple[Work, Any]]:
        """Give the work of a lost worker to others. It was at the first piece: that one may be what ended it."""
        tasks = self._busy.pop(worker)
        self.crew.end(worker)
        self.lost += 1
        for at, (_, task) in enumerate(tasks):
            task.attempts += at == 0
            if task.attempts >= ATTEMPTS:
                yield task.work, Lost(task.attempts, reason)
            else:
                self._again.append(task)


def _in_short(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def dispatch(
    ray: Any,
    kind: type,
    arguments: Sequence[Any],
    resources: Resources,
    *,
    note: Callable[[str], None] = lambda _: None,
) -> Dispatch[Any]:
    """Workers of a class for the whole cluster."""
    workers, gpus = resources.per_worker(ray.cluster_resources())
    on = f", {gpus:g} GPU each" if gpus else ""
    note(f"{workers:,} workers of {resources.threads} CPU{on}, on {len(ray.nodes()):,} nodes")
    return Dispatch(ray, RayCrew(ray, kind, tuple(arguments), resources.threads, gpus), workers)
