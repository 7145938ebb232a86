"""What a run, a prediction and a server tell nobody: no file outside of what was named, no look-up of any host."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from limbeck.telemetry import SWITCHES

TRACED = "trace=connect,sendto,sendmsg,sendmmsg"
FAR = re.compile(r"inet_(?:addr\(|pton\(AF_INET6, )\"(?!127\.|::1\"|::ffff:127\.)")
LOCAL = re.compile(r'sun_path=@?"([^"]*)"')
NAME_SERVICES = ("systemd/resolve", "io.systemd.Resolve")  # nscd is asked for names of users too


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
    return [
        line
        for line in lines
        if FAR.search(line) or any(name in path for path in LOCAL.findall(line) for name in NAME_SERVICES)
    ]


def test_a_trace_with_a_look_up_is_recognised(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    far = [
        'connect(3, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("10.0.0.2")}, 16) = 0',
        "connect(3, {sa_family=AF_INET6, sin6_port=htons(443), sin6_flowinfo=htonl(0), "
        'inet_pton(AF_INET6, "2620:1ec::1", &sin6_addr), sin6_scope_id=0}, 28) = -1',
        'connect(4, {sa_family=AF_UNIX, sun_path="/run/systemd/resolve/io.systemd.Resolve"}, 110) = 0',
    ]
    near = [
        'connect(3, {sa_family=AF_INET, sin_port=htons(8000), sin_addr=inet_addr("127.0.0.1")}, 16) = 0',
        'connect(3, {sa_family=AF_UNIX, sun_path=@"torch"}, 16) = 0',
    ]
    trace.write_text("\n".join([*far, *near]), encoding="utf-8")

    assert far_calls(trace) == far


@pytest.fixture
def quiet_home(tmp_path: Path) -> dict[str, str]:
    """The variables of a user who has set nothing, with an empty home."""
    home = tmp_path / "home"
    home.mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG") if name in os.environ}
    return {**kept, "HOME": str(home), "TMPDIR": str(tmp_path / "scratch"), "OMP_NUM_THREADS": "2"}


def test_a_run_a_prediction_and_a_server_leave_nothing_outside_and_look_nobody_up(
    write_recipe: Callable[[Path], Path], quiet_home: dict[str, str], tmp_path: Path
) -> None:
    assert not set(SWITCHES) & set(quiet_home)  # limbeck sets them itself
    recipe, trace, before = write_recipe(tmp_path / "data"), tmp_path / "trace", traced(tmp_path / "trace")
    (tmp_path / "scratch").mkdir()
    given = set((tmp_path / "data").iterdir())
    limbeck = [*before, sys.executable, "-m", "limbeck"]

    def call(*words: str, **options: object) -> str:
        found = subprocess.run(
            [*limbeck, *words],
            cwd=tmp_path / "data",
            env=quiet_home,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
            **options,  # type: ignore[call-overload]
        )
        assert found.returncode == 0, found.stderr
        assert far_calls(trace) == []
        return str(found.stdout)

    call("run", str(recipe))
    model = tmp_path / "data" / "runs" / "toy" / "models" / "bilstm"
    answers = call("predict", str(model), "--engine", "onnx", input="a gorgeous film\n")
    assert answers.endswith("\ta gorgeous film\n")
    _ask_a_server([*limbeck, "serve", str(model), "--engine", "onnx", "--port", "0"], quiet_home, cwd=tmp_path / "data")
    assert far_calls(trace) == []

    assert [path for path in Path(quiet_home["HOME"]).rglob("*") if path.is_file() and not is_documented(path)] == []
    assert [path for path in (tmp_path / "scratch").rglob("*") if path.is_file()] == []
    assert {path.name for path in set((tmp_path / "data").iterdir()) - given} == {"runs"}
    if not before:
        pytest.skip("there is no strace here: files were checked, look-ups were not")


def _ask_a_server(command: list[str], variables: dict[str, str], *, cwd: Path) -> None:
    """Start it, ask it for one label on loopback, and end it."""
    server = subprocess.Popen(
        command,
        cwd=cwd,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert server.stdout is not None
    try:
        address = next(found[0] for line in server.stdout if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
        data = json.dumps({"texts": ["a gorgeous film"]}).encode()
        headers = {"content-type": "application/json"}
        with urlopen(Request(f"{address}/predict", data=data, headers=headers), timeout=20) as answer:
            assert answer.status == 200
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        time.sleep(0.2)
        server.wait(timeout=20)
        server.stdout.close()
