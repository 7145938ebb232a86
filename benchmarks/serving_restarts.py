"""A server is stopped and started, and reads its model again, while clients ask: no request may be lost.

    python benchmarks/serving_restarts.py [MODEL] [--restarts 20] [--reloads 20] [--clients 16]

Restarts: SIGTERM, and as soon as the process has ended another one on the same port; with one worker, and with two.
A client that cannot connect tries again; an answer 503 is an answer. Reloads: SIGHUP to a server of two workers.

A request is lost if the server read it and its connection ended without a complete answer. It is not lost if the
server never read it, which the client's side of a connection can tell on Linux: benchmarks/serving_connection.py says
how. Where it cannot tell, the request counts as lost. The exit status is 1 if a request was lost.
"""

import argparse
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.serving_clients import Plan
from benchmarks.serving_models import bilstm_folder, bodies
from benchmarks.serving_page import RESULTS, all_of, circumstances, keep, restarts_section
from benchmarks.serving_server import CLIENTS, Server, limbeck_command, line_of, serving

LONGEST = 1_800.0  # seconds, if nobody stops the clients
NOT_LOST = ("200", "429", "503", "closed")
Line = dict[str, Any]


def main() -> int:
    """Restart and reload; whether anything was lost."""
    asked, before = _options().parse_args(), circumstances()
    model = asked.model or bilstm_folder(asked.work)
    lines = [restarted(model, asked, workers=workers) for workers in asked.workers if asked.restarts]
    if asked.reloads:
        lines.append(reloaded(model, asked, workers=max(asked.workers)))
    found = {**before, "clients": asked.clients, "lines": lines}
    keep("restarts", found, file=asked.out)
    print(restarts_section(found))
    wrong = all_of(lines, "lost") + all_of(lines, "unreadable")
    return 1 if wrong or any(line["exit_statuses"] != [0] for line in lines) else 0


def restarted(model: Path, asked: argparse.Namespace, *, workers: int) -> Line:
    """Server after server on one port."""
    statuses, stopping = set(), []
    server = Server(limbeck_command(model, workers=workers))
    port = server.port

    def restart() -> None:
        nonlocal server
        time.sleep(asked.between)
        began = time.monotonic()
        statuses.add(server.stop())
        stopping.append(time.monotonic() - began)
        server = Server(limbeck_command(model, workers=workers, port=port))

    try:
        found = under_load(port, asked, restart, times=asked.restarts)
    finally:
        statuses.add(server.stop())
    longest = round(max(stopping), 3)
    what = f"restarts, {some_workers(workers)}"
    return {"what": what, **found, "exit_statuses": sorted(statuses), "longest_stop_seconds": longest}


def reloaded(model: Path, asked: argparse.Namespace, *, workers: int) -> Line:
    """One server of several workers, which reads its model again."""
    with serving(limbeck_command(model, workers=workers)) as server:

        def reload() -> None:
            time.sleep(asked.between)
            server.signal(signal.SIGHUP)

        found = under_load(server.port, asked, reload, times=asked.reloads)
        status = server.stop()
    return {"what": f"reloads, {some_workers(workers)}", **found, "exit_statuses": [status]}


def some_workers(count: int) -> str:
    """In words."""
    return "1 worker" if count == 1 else f"{count} workers"


def under_load(port: int, asked: argparse.Namespace, act: Callable[[], None], *, times: int) -> Line:
    """Do something so many times while clients ask; what became of their requests."""
    plan = Plan(
        port=port,
        bodies=bodies(asked.rows),
        clients=asked.clients,
        seconds=LONGEST,
        keeps_trying=True,
        until_told=True,
    )
    process = subprocess.Popen(CLIENTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    process.stdin.write(line_of(plan))
    process.stdin.flush()
    try:
        for _ in range(times):
            act()
        time.sleep(asked.between)
        output, _ = process.communicate(timeout=plan.patience + 30)  # the end of its input ends it
    finally:
        process.kill()
    return {"times": times, **outcome(json.loads(output))}


def outcome(found: dict[str, Any]) -> Line:
    """What became of all requests, in the words of the table."""
    ends = found["ends"]
    return {
        "sent": found["sent"],
        "answered": ends.get("200", 0),
        "refused": ends.get("429", 0) + ends.get("503", 0),
        "closed": ends.get("closed", 0),
        "lost": sum(count for end, count in ends.items() if end not in NOT_LOST),
        "ends": ends,
        "unreadable": found["unreadable"],
        "connected_in_vain": found["refused_connections"],
        "latency_ms": found["latency_ms"],
    }


def _options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("model", type=Path, nargs="?")
    options.add_argument("--work", type=Path, default=Path("runs/benchmark-serving"), help="where models are kept")
    options.add_argument("--restarts", type=int, default=20)
    options.add_argument("--reloads", type=int, default=20)
    options.add_argument("--clients", type=int, default=16)
    options.add_argument("--rows", type=int, default=8, help="texts of a request")
    options.add_argument("--workers", type=int, nargs="*", default=[1, 2], help="the most of them reload too")
    options.add_argument("--between", type=float, default=1.0, help="seconds from one to the next")
    options.add_argument("--out", type=Path, default=RESULTS)
    return options


if __name__ == "__main__":
    sys.exit(main())
