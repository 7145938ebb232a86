"""Commands in an empty home: what they leave outside of what was named, and whom they look up."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import Request, urlopen

from tests.hostile.campaigns.campaign import Campaign
from tests.hostile.campaigns.impossible import CampaignImpossible
from tests.hostile.campaigns.toy_models import framed_model, french_rows, toy_recipe, word_model

TRACED = "trace=connect,sendto,sendmsg,sendmmsg"
FAR = re.compile(r"inet_(?:addr\(|pton\(AF_INET6, )\"(?!127\.|::1\"|::ffff:127\.)")
NAME_PORT = re.compile(r"sin6?_port=htons\(53\)")  # of a resolver, which may be on this machine
LOCAL = re.compile(r'sun_path=@?"([^"]*)"')
NAME_SERVICES = ("systemd/resolve", "io.systemd.Resolve")
# nscd is asked for names of users too: what is sent says for what, in its protocol's version 2. These are for hosts.
OF_HOST = re.compile(r'"\\2\\0\\0\\0\\(?:4|5|6|7|r|16)\\0\\0\\0')
TEXT = "a gorgeous film"
PATIENCE = 240  # seconds for one command


@dataclass(frozen=True)
class Step:
    """A command of limbeck, and the only things that it may leave in its working folder."""

    words: Sequence[str]
    leaves: frozenset[str] = frozenset()
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The command, its engine, and the variables that are set for it."""
        engines = [word for word in self.words if word in ("onnx", "native")]
        return " ".join([self.words[0], *engines, *self.variables])


def outside(count: int | None = None, *, seed: int = 0) -> Campaign:
    """The first `count` commands, by default all. Nothing is random: `seed` is there because all campaigns have one."""
    del seed
    findings: list[str] = []
    steps = all_steps()[:count]
    with tempfile.TemporaryDirectory() as scratch:
        place = Place(Path(scratch))
        if not place.words_before:
            raise CampaignImpossible("strace is not installed, or may not trace here: look-ups cannot be seen")
        wrong = [place.faults_of(step) for step in steps]
    findings = [f"{step.name}: {fault}" for step, faults in zip(steps, wrong, strict=True) for fault in faults]
    clean = sum(not faults for faults in wrong)
    detail = dict(Counter(step.name for step in steps))
    return Campaign("outside", len(steps), clean, tuple(findings), detail)


def all_steps() -> list[Step]:
    """Each command that reads, trains, answers or serves; the long ones first, and what needs them behind."""
    words, framed = str(word_model()), str(framed_model())
    data, recipe = str(toy_recipe().with_name("toy.csv")), str(toy_recipe())
    run = frozenset({"runs"})
    return [
        Step(("run", recipe, "--out", "runs/toy"), run),
        Step(("predict", words, "--engine", "onnx")),
        Step(("serve", words, "--engine", "onnx", "--port", "0")),
        Step(("predict", framed)),
        Step(("predict", words, "--engine", "native")),
        Step(("serve", framed, "--port", "0")),
        Step(("init", data, "--out", "drafted.toml"), frozenset({"drafted.toml"})),
        Step(("doctor", recipe)),
        Step(("doctor", "runs/toy"), run),
        Step(("report", "runs/toy"), run),
        Step(("labels", "runs/toy"), run),
        Step(("evaluate", words, data)),
        Step(("bench", words, "--texts", data, "--seconds", "0.1")),
        Step(("sbom", words)),
        Step(("recipes",)),
        # Without the variable, init would ask the hub for the teacher of a language that is not installed.
        Step(("init", str(french_rows()), "--out", "french.toml"), frozenset({"french.toml"}), {"HF_HUB_OFFLINE": "1"}),
    ]


class Place:
    """A home, a scratch folder and a working folder that were all empty, and the trace of network calls."""

    def __init__(self, folder: Path) -> None:
        self.home, self.scratch, self.working = (folder / name for name in ("home", "scratch", "working"))
        for made in (self.home, self.scratch, self.working):
            made.mkdir()
        self._trace = folder / "trace"
        self.words_before = traced(self._trace)

    @property
    def variables(self) -> dict[str, str]:
        """Those of a user who has set nothing."""
        kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "LANG") if name in os.environ}
        paths = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "HOME": str(self.home)}
        return {**kept, **paths, "TMPDIR": str(self.scratch), "OMP_NUM_THREADS": "2"}

    def faults_of(self, step: Step) -> list[str]:
        """Run a command; what it did that nobody asked for, in words."""
        before = {path.name for path in self.working.iterdir()}
        self._trace.unlink(missing_ok=True)
        command = [*self.words_before, sys.executable, "-m", "limbeck", *step.words]
        failure = self._served(command, step) if step.words[0] == "serve" else self._ended(command, step)
        left = {path.name for path in self.working.iterdir()} - before - step.leaves
        files = [*_files(self.home), *_files(self.scratch), *(self.working / name for name in sorted(left))]
        return [
            *([failure] if failure else []),
            *(f"left {path}" for path in files if not is_documented(path)),
            *far_calls(self._trace),
        ]

    def _ended(self, command: list[str], step: Step) -> str:
        """Run it to its end; how it failed, if it did. The doctor ends with 1 where it has found something."""
        done = subprocess.run(
            command,
            cwd=self.working,
            env={**self.variables, **step.variables},
            input=f"{TEXT}\n" if "predict" in command else None,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        is_fine = done.returncode == 0 or ("doctor" in command and done.returncode == 1)
        return "" if is_fine else f"ended with {done.returncode}: {done.stderr[-2000:]}"

    def _served(self, command: list[str], step: Step) -> str:
        """Start a server, ask it for one label on loopback, and end it."""
        server = subprocess.Popen(
            command,
            cwd=self.working,
            env={**self.variables, **step.variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        assert server.stdout is not None
        try:
            found = (re.search(r"http://127\.0\.0\.1:\d+", line) for line in server.stdout)
            address = next((match[0] for match in found if match), None)
            if address is None:
                return "it said no address"
            request = Request(
                f"{address}/predict",
                data=json.dumps({"texts": [TEXT]}).encode(),
                headers={"content-type": "application/json"},
            )
            with urlopen(request, timeout=20) as answer:
                return "" if answer.status == 200 else f"it answered with {answer.status}"
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            time.sleep(0.2)
            server.wait(timeout=20)
            server.stdout.close()


def traced(trace: Path) -> list[str]:
    """The words before a command that note its network calls, where that is possible here."""
    strace = shutil.which("strace")
    if strace is None:
        return []
    words = [strace, "-f", "--seccomp-bpf", "-qq", "-e", TRACED, "-o", str(trace)]
    tried = subprocess.run([*words, "true"], capture_output=True, check=False)
    return words if tried.returncode == 0 else []


def is_documented(path: Path) -> bool:
    """Whether it is in a cache that SECURITY.md names: the list of fonts for the pictures of a report."""
    return path.parent.name == "matplotlib"


def far_calls(trace: Path) -> list[str]:
    """The lines of a trace that reach another machine, or ask a service of this one for a name."""
    lines = trace.read_text(encoding="utf-8", errors="replace").splitlines() if trace.is_file() else []
    return [line for line in lines if _is_far(line)]


def _is_far(line: str) -> bool:
    asks = any(name in path for path in LOCAL.findall(line) for name in NAME_SERVICES)
    return asks or any(pattern.search(line) for pattern in (FAR, NAME_PORT, OF_HOST))


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
