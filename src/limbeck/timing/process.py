"""The parent's handle of a worker process with one model to time: starts it, sends requests, always ends it."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import IO, Any, Self

from limbeck.errors import LimbeckError

WORKER = (sys.executable, "-m", "limbeck.timing.worker")
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
SECONDS_TO_EXIT = 5.0
STDERR_TAIL_CHARACTERS = 2000


class ModelNotTimed(LimbeckError):
    """The worker process of a model ended while the model was timed."""

    def __init__(self, *, output: str) -> None:
        first, *rest = output.splitlines()
        super().__init__(
            first.rstrip(":"),
            found=f"its last line of output: {rest[-1].strip()}" if rest else "",
            advice="Check that the folder holds a complete classifier, and that memory is enough for all models at "
            "once.",
        )


class WorkerProcess:
    """A process with one model that answers each JSON line with another; `with` makes sure that it ends."""

    def __init__(self, name: str, *, threads: int, command: Sequence[str] = WORKER) -> None:
        self.name = name
        self._command, self._threads = list(command), threads

    def __enter__(self) -> Self:
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # closed in __exit__; a pipe could fill up
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=pinned_environment(self._threads),
            encoding="utf-8",
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        """A worker exits when its input ends; after an error, or if it does not exit, it is killed."""
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                assert pipe is not None
                pipe.close()
            except BrokenPipeError:
                pass  # it has ended already
        try:
            if kind is not None:
                self._process.kill()
            self._process.wait(SECONDS_TO_EXIT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        finally:
            self._stderr.close()

    def send(self, **request: Any) -> None:
        """Send a request without waiting for the answer."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._died() from None

    def receive(self) -> dict[str, Any]:
        """The answer to the oldest open request. Raises ModelNotTimed if the process died."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.endswith("\n"):
            raise self._died()
        answer: dict[str, Any] = json.loads(line)
        return answer

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request, and wait for its answer."""
        self.send(**request)
        return self.receive()

    def _died(self) -> ModelNotTimed:
        status = self._process.wait()
        self._stderr.seek(0)
        tail = self._stderr.read().decode("utf-8", "replace").strip()[-STDERR_TAIL_CHARACTERS:]
        return ModelNotTimed(output=f"the process that times '{self.name}' ended with status {status}:\n{tail}")


def pinned_environment(threads: int) -> dict[str, str]:
    """This process's environment, with all thread pools limited to this number of threads, and no network."""
    pins = {variable: str(threads) for variable in THREAD_VARIABLES}
    quiet = {"TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false", "HF_HUB_OFFLINE": "1"}
    return {**os.environ, **pins, **quiet, "PYTHONIOENCODING": "utf-8"}
