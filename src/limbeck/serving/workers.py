"""Several processes that answer on one port: forked from one that has loaded the models, so that they share the memory.

The first process holds the port and the models, and answers nothing itself. It replaces workers that die, replaces all
of them, one after the other, when the models were loaded again, and ends them when it is stopped; the port is open all
the while, so no request is lost.
"""

import contextlib
import ctypes
import os
import select
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import sleep

from limbeck.errors import ServingError

SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # where processes count together; prometheus_client reads it when imported
# Windows has not all of them, and no workers either.
SIGNALS = {getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGCHLD") if hasattr(signal, name)}
TICK_SECONDS = 0.5
START_SECONDS = 60.0  # until a worker must answer
QUICK_SECONDS = 2.0  # a worker that dies so soon after its start is started again only after a pause
MOST_QUICK_DEATHS = 5  # in a row
READY = b"1"
PR_SET_PDEATHSIG = 1


class WorkersDie(ServingError):
    """Workers end as soon as they are started."""

    def __init__(self, *, status: int) -> None:
        super().__init__(
            f"{MOST_QUICK_DEATHS} workers in a row ended right after their start, the last with status {status}",
            advice="Try one process, which says why: `limbeck serve MODEL --workers 1`.",
        )


@dataclass(frozen=True)
class Worker:
    """A process that answers requests."""

    pid: int
    started: float = field(default_factory=time.monotonic)


class Supervisor:
    """Keeps `count` workers alive.

    `answer` is what a worker does until SIGTERM; it calls the function that it is given once it can answer. `reload`
    loads the models again if they have changed, or in any case if it is asked to. `folder` is where workers count.
    """

    def __init__(
        self,
        *,
        count: int,
        answer: Callable[[Callable[[], None]], None],
        reload: Callable[[bool], bool],
        grace_seconds: float,
        folder: Path,
        tell: Callable[[str], None] = lambda _: None,
        stop_listening: Callable[[], None] = lambda: None,
    ) -> None:
        self._count, self._answer, self._reload, self._grace = count, answer, reload, grace_seconds
        self._folder, self._stop_listening, self._tell = folder, stop_listening, tell
        self._workers: dict[int, Worker] = {}
        self._quick_deaths = 0

    def run(self) -> None:
        """Until SIGINT or SIGTERM. Raises WorkersDie."""
        with signals_blocked():
            try:
                self._fill()
                self._watch()
            finally:
                # Before the workers do: who connects to a port that only this process holds waits for nobody.
                self._stop_listening()
                self._end(list(self._workers))

    def _watch(self) -> None:
        while True:
            found = signal.sigtimedwait(SIGNALS, TICK_SECONDS)
            if found is not None and found.si_signo in (signal.SIGINT, signal.SIGTERM):
                return
            self._bury()
            if self._reload(found is not None and found.si_signo == signal.SIGHUP):
                self._replace()
            self._fill()

    def _fill(self) -> None:
        while len(self._workers) < self._count:
            self._start()

    def _start(self) -> bool:
        """Fork a worker and wait until it answers. Raises WorkersDie."""
        if self._quick_deaths:
            sleep(min(2.0, 0.1 * 2**self._quick_deaths))
        reading, writing = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        with warnings.catch_warnings():
            # Of Python 3.12 and later: that threads are lost. Those of numpy are made again where they are needed.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            os.close(reading)
            self._be_worker(writing)
        os.close(writing)
        self._workers[pid] = Worker(pid)
        with os.fdopen(reading, "rb") as pipe:
            said, *_ = select.select([pipe], [], [], START_SECONDS)
            if said:
                return pipe.read(1) == READY  # nothing, if the worker dies first
        self._signal(pid, signal.SIGKILL)  # _bury takes note of it
        return False

    def _be_worker(self, writing: int) -> None:
        """Never returns: what follows in the first process is not for a worker."""
        status = 1
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
            _end_with_parent()

            def ready() -> None:
                os.write(writing, READY)
                os.close(writing)

            self._answer(ready)
            status = 0
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def _bury(self) -> None:
        """Take note of workers that have ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            if pid in self._workers:
                self._tell(f"Worker {pid} has ended ({_how(status)}); another one takes its place.")
            self._forget(pid, status)

    def _forget(self, pid: int, status: int) -> None:
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(pid, str(self._folder))  # type: ignore[no-untyped-call]
        keep_counts(pid, self._folder)
        worker = self._workers.pop(pid, None)
        if worker is None:
            return
        is_quick = time.monotonic() - worker.started < QUICK_SECONDS
        self._quick_deaths = self._quick_deaths + 1 if is_quick else 0
        if self._quick_deaths >= MOST_QUICK_DEATHS:
            raise WorkersDie(status=os.waitstatus_to_exitcode(status))

    def _replace(self) -> None:
        """A new worker for each old one: the old one ends once the new one answers."""
        for pid in list(self._workers):
            old = self._workers.pop(pid)
            if not self._start():
                self._workers[pid] = old
                return
            self._end([pid])

    def _end(self, pids: list[int]) -> None:
        """SIGTERM, time to finish what is in progress, then SIGKILL."""
        for pid in pids:
            self._signal(pid, signal.SIGTERM)
        until = time.monotonic() + self._grace + 2
        left = set(pids)
        while left and time.monotonic() < until:
            left = {pid for pid in left if not self._has_ended(pid)}
            sleep(0.02 if left else 0)
        for pid in left:
            self._signal(pid, signal.SIGKILL)
            self._has_ended(pid, options=0)

    def _signal(self, pid: int, number: signal.Signals) -> None:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            self._workers.pop(pid, None)

    def _has_ended(self, pid: int, *, options: int = os.WNOHANG) -> bool:
        try:
            ended, status = os.waitpid(pid, options)
        except ChildProcessError:
            self._workers.pop(pid, None)
            return True
        if not ended:
            return False
        self._workers.pop(pid, None)
        self._forget(pid, status)
        return True


def _how(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"signal {-code}" if code < 0 else f"status {code}"


def _end_with_parent() -> None:
    """Let this process end when the first one is killed: nobody would replace it, and it would keep the port."""
    with contextlib.suppress(OSError, AttributeError):  # not Linux
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM))


def keep_counts(pid: int, folder: Path) -> None:
    """Add what a process that has ended has counted to the file of all that have ended, and remove its own files."""
    from prometheus_client.mmap_dict import MmapedDict

    for kind in ("counter", "histogram"):
        ended = folder / f"{kind}_{pid}.db"
        if not ended.is_file():
            continue
        together = MmapedDict(str(folder / f"{kind}_0.db"))  # type: ignore[no-untyped-call]
        for key, value, timestamp, _ in MmapedDict.read_all_values_from_file(str(ended)):  # type: ignore[no-untyped-call]
            so_far, _ = together.read_value(key)  # type: ignore[no-untyped-call]
            together.write_value(key, so_far + value, timestamp)  # type: ignore[no-untyped-call]
        together.close()  # type: ignore[no-untyped-call]
        ended.unlink()


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Signals wait until the supervisor asks for them."""
    earlier = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, earlier)


@contextmanager
def shared_counters() -> Iterator[Path]:
    """A folder for the counters of several processes. To be entered before prometheus_client is imported."""
    folder = tempfile.mkdtemp(prefix="limbeck-serve-")
    os.environ[SHARED_FOLDER] = folder
    try:
        yield Path(folder)
    finally:
        del os.environ[SHARED_FOLDER]
        shutil.rmtree(folder, ignore_errors=True)
