"""Tries one input after another in a process of its own, which an input may end: that is a finding like any other.

The process prints a line of JSON for each: number, what it is, and the outcome. The line is printed in two parts:
the end of the process leaves the first one alone, and names the input.
"""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from tests.hostile.campaigns.campaign import Campaign

Trial = Callable[[], str]  # the outcome: one of the clean outcomes, or what is wrong
Prepare = Callable[[random.Random, Path], tuple[str, Trial]]  # what the input is, and how it is tried

ROOT = Path(__file__).resolve().parents[3]
CODE = "from tests.hostile.campaigns.trials import main; main()"
AT_ONCE = 1000  # inputs of one process
MOST_SECONDS = 60  # for one input
MOST_MB = 900  # of a process, of which about 250 are libraries


class Outcome(NamedTuple):
    """Of one input."""

    number: int
    what: str
    outcome: str


def campaign(name: str, prepare: Prepare, count: int, *, seed: int, clean: Sequence[str]) -> Campaign:
    """Try so many inputs. The same seed makes the same ones."""
    outcomes: Counter[str] = Counter()
    findings: list[str] = []
    for number, what, outcome in tried(prepare, count, seed=seed):
        outcomes[outcome if outcome in clean else "finding"] += 1
        if outcome not in clean:
            findings.append(f"{name} {number} of seed {seed}, {what}: {outcome}")
    total = sum(outcomes.values())
    return Campaign(name, total, total - outcomes["finding"], tuple(findings), {kind: outcomes[kind] for kind in clean})


def tried(prepare: Prepare, count: int, *, seed: int) -> Iterator[Outcome]:
    """The outcomes in order; after the input that ends a process, another one goes on."""
    first = 0
    while first < count:
        end = min(count, first + AT_ONCE)
        command = [sys.executable, "-c", CODE, prepare.__module__, prepare.__name__, str(first), str(end), str(seed)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        done = subprocess.run(command, capture_output=True, errors="replace", check=False, cwd=ROOT, env=environment)
        lines = done.stdout.splitlines()
        if not lines:
            raise RuntimeError(f"nothing could be tried: {done.stderr[-2000:]}")
        for line in lines:
            found = _outcome(line, returncode=done.returncode, errors=done.stderr)
            first = found.number + 1
            yield found


def _outcome(line: str, *, returncode: int, errors: str) -> Outcome:
    if line.endswith("]"):
        return Outcome(*json.loads(line))
    number, what = json.loads(f"{line.removesuffix(', ')}]")
    return Outcome(number, what, f"the process ended with {returncode}: {errors[-2000:]}")


def main() -> None:
    """The process: try the inputs from `first` to `end`, or until one has taken too much memory."""
    module, name, first, end, seed = sys.argv[1:]
    prepare: Prepare = getattr(import_module(module), name)
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        for number in range(int(first), int(end)):
            what, trial = prepare(random.Random(f"{seed} {number}"), Path(scratch))
            print(json.dumps([number, what])[:-1], end=", ", flush=True)
            signal.alarm(MOST_SECONDS)
            outcome = without_traceback(trial)
            signal.alarm(0)
            megabytes = most_megabytes()
            if megabytes > MOST_MB:
                outcome = f"{megabytes} MB of memory, and {outcome}"
            print(f"{json.dumps(outcome)}]", flush=True)
            if megabytes > MOST_MB:  # which the next ones should not be blamed for
                return


def most_megabytes() -> int:
    """The most memory that this process has had; its `ru_maxrss` would count what its parent had before it."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    peak = next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) // 1024


def without_traceback(trial: Trial) -> str:
    """The outcome, in which any exception that the trial does not expect is a traceback."""
    try:
        return trial()
    except BaseException:
        return traceback.format_exc(limit=-4)
