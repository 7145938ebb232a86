"""More requests than a server can answer: each is answered or refused at once, and both sides count the same.

    python benchmarks/serving_overload.py [MODEL] [--factors 2 10] [--seconds 60] [--rows 128] [--workers 1]

The capacity is measured first, in a closed loop. Then requests begin at a multiple of it, on time, whatever became of
those before. Meanwhile the server is asked four times a second whether it is alive. Afterwards the clients' counts are
compared with those of /metrics, status by status. Last, half of the clients do not wait for their answer: the rows
that the server classified are compared with those that were answered, and one more text is asked. The exit status is 1
if a request was neither answered nor refused, if the counts differ, or if the server once did not say that it lives.
A request whose connection was closed before the server read it is sent again, as a client would do it.

With one text a request, ten times the capacity is more than HTTP itself can take on one core, and time passes before a
request is read. By default a request has 128 texts, so that what is overloaded is the model.
"""

import argparse
import json
import sys
import time
from collections import Counter
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.serving_clients import Plan
from benchmarks.serving_models import bilstm_folder, bodies
from benchmarks.serving_page import RESULTS, all_of, circumstances, keep, overload_section
from benchmarks.serving_server import Pulse, Server, Watch, clients, limbeck_command, serving

CAPACITY_SECONDS, LEAVING_SECONDS, SETTLE_SECONDS = 5.0, 10.0, 5.0  # the first two at most
LEAVING_SHARE, LEAVING_AFTER = 0.5, 0.02
ALONE = 21  # single requests, for the usual time of one
Line = dict[str, Any]


def main() -> int:
    """Measure; whether all was as it should be."""
    asked, before = _options().parse_args(), circumstances()
    model = asked.model or bilstm_folder(asked.work)
    with serving(limbeck_command(model, workers=asked.workers, threads=asked.threads)) as server:
        lines = [line for rows in asked.rows for line in overloaded(server, asked, rows=rows)]
        leaving = left_alone(server, asked)
    found = {
        **before,
        "workers": asked.workers,
        "clients": asked.clients,
        "seconds": asked.seconds,
        "lines": lines,
        "leaving": leaving,
    }
    keep("overload", found, file=asked.out)
    print(overload_section(found))
    wrong = [line for line in lines if line["neither"] or any(line["off"].values()) or line["alive"]["failed"]]
    return 1 if wrong or all_of(lines, "unreadable") else 0


def overloaded(server: Server, asked: argparse.Namespace, *, rows: int) -> list[Line]:
    """Each multiple of the capacity for requests of so many texts."""
    capacity, usual = capacity_of(server, asked, rows=rows)
    print(f"{rows} texts a request: {capacity:,.1f} requests/s", file=sys.stderr, flush=True)
    found = []
    for factor in asked.factors:
        plan = Plan(
            port=server.port,
            bodies=bodies(rows),
            rate=factor * capacity,
            seconds=asked.seconds,
            most_connections=asked.connections,
        )
        known = {"factor": factor, "rows": rows, "capacity": round(capacity, 1), "capacity_p50_ms": usual}
        line = {**known, **held(server, plan)}
        print(json.dumps(line), file=sys.stderr, flush=True)
        found.append(line)
    return found


def capacity_of(server: Server, asked: argparse.Namespace, *, rows: int) -> tuple[float, float]:
    """Requests a second that are answered when there is always one to answer, and the median latency (ms) then."""
    seconds = min(CAPACITY_SECONDS, asked.seconds)
    plan = Plan(port=server.port, bodies=bodies(rows), clients=asked.clients, seconds=seconds)
    clients(plan)  # fills caches
    found = clients(plan)
    return float(found["ends"].get("200", 0) / found["seconds"]), float(found["latency_ms"]["200"]["p50"])


def held(server: Server, plan: Plan) -> Line:
    """A rate, for as long as the plan says; what both sides counted."""
    pulse = Pulse(server)  # which asks once itself
    before, watch = server.counts(), Watch(server)
    found = clients(plan)
    seen, alive = watch.end(), pulse.end()
    ends = Counter(found["ends"])
    answered, refused = ends["200"], ends["429"] + ends["503"]
    server_counts, off = settled(server, before, ends)
    return {
        "rate": round(plan.rate or 0.0, 1),
        "sent": found["sent"],
        "not_sent": found["not_sent"],
        "asked_again": found["asked_again"],
        "answered": answered,
        "refused": refused,
        "neither": ends.total() - answered - refused - ends["closed"],
        "ends": dict(ends),
        "unreadable": found["unreadable"],
        "server": dict(server_counts),
        "off": off,
        "latency_ms": found["latency_ms"],
        "latest_start_ms": found["latest_start_ms"],
        "alive": alive,
        "peak_mb": seen.peak_mb,
        "busy": seen.busy,
        "clients_busy": found["busy"],
    }


def settled(server: Server, before: Counter[str], ends: Counter[str]) -> tuple[Counter[str], dict[str, int]]:
    """What the server has counted since, and how far its statuses are off; it counts an answer after it is sent."""
    until = time.monotonic() + SETTLE_SECONDS
    while True:
        after = server.counts()
        counted = Counter({name: after[name] - before[name] for name in after if after[name] != before[name]})
        statuses = sorted(name for name in {*counted, *ends} if name.isdecimal())
        off = {name: counted[name] - ends[name] for name in statuses}
        if not any(off.values()) or time.monotonic() > until:
            return counted, off
        time.sleep(0.2)


def left_alone(server: Server, asked: argparse.Namespace) -> Line:
    """Half of the requests are given up by who sent them, before the answer."""
    first_before = median(milliseconds_of_one(server) for _ in range(ALONE))
    before, rows = server.counts(), asked.rows[0]
    plan = Plan(
        port=server.port,
        bodies=bodies(rows),
        clients=asked.clients,
        seconds=min(LEAVING_SECONDS, asked.seconds),
        leaving_share=LEAVING_SHARE,
        leaving_after=LEAVING_AFTER,
    )
    found = clients(plan)
    first_after = milliseconds_of_one(server)
    after = server.counts()
    answered = found["ends"].get("200", 0)
    return {
        "sent": found["sent"],
        "left": found["ends"].get("left", 0),
        "after_ms": 1_000 * LEAVING_AFTER,
        "answered": answered,
        "ends": found["ends"],
        "rows_answered": answered * rows,
        "rows_classified": after["rows"] - before["rows"],
        "first_before_ms": first_before,
        "first_after_ms": first_after,
    }


def milliseconds_of_one(server: Server) -> float:
    """How long one text takes, by a connection of its own."""
    started = time.perf_counter()
    connection = HTTPConnection("127.0.0.1", server.port, timeout=120)
    connection.request("POST", "/predict", bodies(1)[0].encode(), {"content-type": "application/json"})
    connection.getresponse().read()
    connection.close()
    return round(1_000 * (time.perf_counter() - started), 3)


def _options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("model", type=Path, nargs="?")
    options.add_argument("--work", type=Path, default=Path("runs/benchmark-serving"), help="where models are kept")
    options.add_argument("--factors", type=float, nargs="*", default=[2.0, 10.0], help="of the capacity")
    options.add_argument("--seconds", type=float, default=60.0, help="for each of them")
    options.add_argument("--rows", type=int, nargs="*", default=[128], help="texts of a request")
    options.add_argument("--clients", type=int, default=16, help="by which the capacity is measured")
    options.add_argument("--connections", type=int, default=900, help="of all clients; a server allows 1,000")
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--threads", type=int, help="of each worker; by default the command's own choice")
    options.add_argument("--out", type=Path, default=RESULTS)
    return options


if __name__ == "__main__":
    sys.exit(main())
