"""`limbeck serve` under load, beside a plain server of a MiniLM: requests and rows a second, latency, memory.

    python benchmarks/serving_load.py [MODEL] [--seconds 10] [--workers 1 2] [--before CHECKOUT]
    python benchmarks/serving_load.py --write-page

MODEL is a folder of an exported model; by default a Bi-LSTM 150 in int8 with random weights is written into --work.
The server is the command that people type, in processes of its own, and so are its clients
(benchmarks/serving_clients.py): 1, 8, 64 and 256 of them, each with one connection, that ask for one text or for 32,
and again as soon as they have the answer. The plain server (benchmarks/serving_rival.py) gets the same requests. What
the clients can do at most is measured too, on a server that does nothing. --before also measures the server of an
older checkout, which has one process.

Numbers go to benchmarks/results/serving.json, those of serving_overload.py and serving_restarts.py too; --write-page
makes docs/serving-load.md of them.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.serving_clients import Plan
from benchmarks.serving_models import bilstm_folder, bodies, teacher_folder
from benchmarks.serving_page import BEFORE, RESULTS, RIVAL, circumstances, keep, load_lines, write_page
from benchmarks.serving_server import ROOT, Server, Watch, clients, limbeck_command, serving

CLIENTS, ROWS, WORKERS = [1, 8, 64, 256], [1, 32], [1, 2]
WARM_UP = 2.0  # seconds
Line = dict[str, Any]


def main() -> None:
    """Measure, or write the page."""
    asked = _options().parse_args()
    if asked.write_page:
        write_page()
        return
    before, lines = circumstances(), []
    for line in measured(asked):
        print(line, file=sys.stderr, flush=True)
        lines.append(line)
    named = asked.model.name if asked.model else "Bi-LSTM 150, int8"
    found = {**before, "model": named, "seconds": asked.seconds, "lines": lines}
    keep("load", found, file=asked.out)
    print(load_lines(found))


def measured(asked: argparse.Namespace) -> Iterator[Line]:
    """All servers run; each cell is asked of one after the other, so that what else the machine does meets them all."""
    with ExitStack() as stack:
        servers = []
        for name, workers, command, path in _commands(asked):
            running = stack.enter_context(serving(command, environment=path))
            if name == RIVAL:
                running.wait_until("/health")
            servers.append((name, workers, running))
        for rows in asked.rows:
            texts = bodies(rows)
            for _, _, running in servers:  # words are learnt, caches are filled
                clients(Plan(port=running.port, bodies=texts, clients=8, seconds=min(WARM_UP, asked.seconds)))
            for count in asked.clients:
                for name, workers, running in servers:
                    if name == RIVAL and asked.most_rival_texts and rows * count > asked.most_rival_texts:
                        continue
                    plan = Plan(port=running.port, bodies=texts, clients=count, seconds=asked.seconds)
                    yield {"server": name, "workers": workers, "rows": rows, "clients": count, **cell(running, plan)}


def _commands(asked: argparse.Namespace) -> Iterator[tuple[str, int, list[str], dict[str, str] | None]]:
    """Each server: its name, its workers, how it is started, and variables of its environment."""
    model = asked.model or bilstm_folder(asked.work)
    yield "nothing", 1, [sys.executable, str(ROOT / "benchmarks" / "serving_nothing.py")], None
    if asked.before:
        path = {"PYTHONPATH": os.pathsep.join([str(asked.before / "src"), str(asked.before)])}
        yield BEFORE, 1, limbeck_command(model), path
    for workers in asked.workers:
        yield "limbeck", workers, limbeck_command(model, workers=workers, threads=asked.threads), None
    if not asked.without_rival:
        rival = [sys.executable, "-m", "benchmarks.serving_rival", str(teacher_folder(asked.work)), "--workers"]
        for workers in asked.workers:
            yield RIVAL, workers, [*rival, str(workers)], {"OMP_NUM_THREADS": "1"}


def cell(running: Server, plan: Plan) -> Line:
    """One cell of the table. Answers are counted until the last one has come."""
    watch = Watch(running)
    found = clients(plan)
    seen = watch.end()
    ends = found["ends"]
    answered = ends.get("200", 0)
    refused = ends.get("429", 0) + ends.get("503", 0)
    latency = found["latency_ms"].get("200", {})
    return {
        "requests_per_second": round(answered / found["seconds"], 1),
        "p50_ms": latency.get("p50"),
        "p99_ms": latency.get("p99"),
        "max_ms": latency.get("max"),
        "refused": refused,
        "failed": found["sent"] - answered - refused,
        "unreadable": found["unreadable"],
        "peak_mb": seen.peak_mb,
        "private_mb": seen.private_mb,
        "busy": seen.busy,
        "clients_busy": found["busy"],
    }


def _options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("model", type=Path, nargs="?")
    options.add_argument("--work", type=Path, default=Path("runs/benchmark-serving"), help="where models are kept")
    options.add_argument("--seconds", type=float, default=10.0, help="for each cell of the table")
    options.add_argument("--workers", type=int, nargs="*", default=WORKERS)
    options.add_argument("--threads", type=int, help="of each worker; by default the command's own choice")
    options.add_argument("--clients", type=int, nargs="*", default=CLIENTS)
    options.add_argument("--rows", type=int, nargs="*", default=ROWS)
    options.add_argument("--before", type=Path, help="a checkout of an older version, to be measured too")
    options.add_argument("--without-rival", action="store_true")
    options.add_argument("--most-rival-texts", type=int, help="that it gets at once: 8,192 keep two cores for a minute")
    options.add_argument("--out", type=Path, default=RESULTS)
    options.add_argument("--write-page", action="store_true")
    return options


if __name__ == "__main__":
    main()
