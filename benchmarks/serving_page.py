"""docs/serving-load.md, from what the serving benchmarks have measured."""

import json
import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.page_parts import table

ROOT = Path(__file__).resolve().parent.parent
RESULTS, PAGE = ROOT / "benchmarks" / "results" / "serving.json", ROOT / "docs" / "serving-load.md"
PACKAGES = ("fastapi", "uvicorn", "httptools")
NAMES = {
    "nothing": "a server that does nothing",
    "limbeck before": "`limbeck serve`, before",
    "limbeck": "`limbeck serve`",
    "FastAPI and transformers": "FastAPI and a pipeline of MiniLM",
}
Numbers = Mapping[str, Any]

INTRODUCTION = """# Serving under load

What [`limbeck serve`](serving.md) does when many ask, when too many ask, and when it is stopped and started meanwhile.
Every number is measured by a script in `benchmarks/`, which starts the server as its users do and asks it from a
process of its own on the same machine: server and clients share its processor. [Deploying](deploying.md) says what to
make of it."""

COMMANDS = """## Again

```
python benchmarks/serving_load.py runs/reviews/models/best       # without a model: a Bi-LSTM 150 of random weights
python benchmarks/serving_overload.py runs/reviews/models/best
python benchmarks/serving_restarts.py runs/reviews/models/best
python benchmarks/serving_load.py --write-page
```"""


def keep(section: str, found: Numbers, *, file: Path = RESULTS) -> None:
    """Write one section of the results; the others stay."""
    results = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    file.write_text(json.dumps({**results, section: found}, indent=1) + "\n", encoding="utf-8")


def circumstances() -> dict[str, Any]:
    """The machine, the versions of what serves, and how busy the machine was before."""
    from limbeck.timing.machine import machine_facts

    return {
        "machine": machine_facts(threads=1),
        "versions": {name: version(name) for name in PACKAGES},
        "load_average": round(os.getloadavg()[0], 2),
    }


def write_page() -> None:
    """Write it as the committed numbers give it."""
    PAGE.write_text(page_of(json.loads(RESULTS.read_text(encoding="utf-8"))), encoding="utf-8")


def page_of(results: Numbers) -> str:
    """The page, with a section for each part that was measured."""
    parts = [INTRODUCTION]
    for name, section in SECTIONS.items():
        if name in results:
            parts.append(section(results[name]))
    return "\n\n".join([*parts, COMMANDS]) + "\n"


def load_section(found: Numbers) -> str:
    """Requests and rows a second."""
    return "\n\n".join(
        [
            "## Load",
            f"{found['model']}; {found['seconds']:g} seconds a line. Each client has one connection and asks again as "
            "soon as it has its answer. Latency is what the client sees, in milliseconds; refused are answers 429 and "
            "503. Memory is the most that all processes of the server had together, shared pages counted for each; "
            "*cores* is what the server used, and what its clients used beside it. The first lines are what these "
            "clients can ask at most.",
            load_lines(found),
            _setup(found),
        ]
    )


def load_lines(found: Numbers) -> str:
    """The table of load."""
    heads = ["server", "workers", "texts a request", "clients", "requests/s", "rows/s", "p50", "p99", "refused"]
    rows = [
        [
            NAMES[line["server"]],
            *(f"{line[name]:,}" for name in ("workers", "rows", "clients")),
            f"{line['requests_per_second']:,.0f}",
            f"{line['requests_per_second'] * line['rows']:,.0f}",
            _milliseconds(line["p50_ms"]),
            _milliseconds(line["p99_ms"]),
            f"{line['refused']:,}",
            f"{line['failed']:,}",
            f"{line['peak_mb']:,.0f}",
            f"{line['busy']:.1f} + {line['clients_busy']:.1f}",
        ]
        for line in found["lines"]
    ]
    return table([*heads, "failed", "MB", "cores"], rows)


def overload_section(found: Numbers) -> str:
    """What becomes of too many requests."""
    rows = [_overload_row(line) for line in found["lines"]]
    heads = [
        "asked",
        "texts a request",
        "requests/s",
        "sent",
        "asked again",
        "answered",
        "refused",
        "neither",
        "server counts",
    ]
    heads += ["p50 of answers", "p50 of refusals", "p99 of refusals", "longest `/livez`", "MB"]
    return "\n\n".join(
        [
            "## Overload",
            f"First the capacity is measured, by {found['clients']} clients in a closed loop. Then requests begin at "
            f"a fixed rate for {found['seconds']:g} seconds, whatever became of those before, and latency (ms) is "
            "counted from the moment at which a request should have begun. Those whose connection was closed "
            "before the server read them are *asked again*, on another one. *Neither* were not answered, not refused, "
            "or broken off. The server counts what the clients count, status by status, or the number it is "
            "off by is shown.",
            table(heads, rows, words={"server counts"}),
            _leaving(found["leaving"]),
            _setup(found),
        ]
    )


def _overload_row(line: Numbers) -> list[str]:
    latency = line["latency_ms"]
    refusals = latency.get("429") or latency.get("503") or {}
    off = sum(abs(number) for number in line["off"].values())
    return [
        f"{line['factor']:g} × capacity",
        f"{line['rows']:,}",
        f"{line['rate']:,.0f}",
        f"{line['sent']:,}" + (f" of {line['sent'] + line['not_sent']:,}" if line["not_sent"] else ""),
        *(f"{line[name]:,}" for name in ("asked_again", "answered", "refused", "neither")),
        "the same" if off == 0 else f"off by {off:,}",
        _milliseconds(latency.get("200", {}).get("p50")),
        _milliseconds(refusals.get("p50")),
        _milliseconds(refusals.get("p99")),
        f"{line['alive']['longest_ms']:,.0f} ms"
        + (f", {line['alive']['failed']} failed" if line["alive"]["failed"] else ""),
        f"{line['peak_mb']:,.0f}",
    ]


def _leaving(found: Numbers) -> str:
    return (
        f"Clients that leave: of {found['sent']:,} requests, {found['left']:,} were given up by their client "
        f"{found['after_ms']:.0f} ms after they were sent. {found['answered']:,} were answered, "
        f"{found['rows_answered']:,} rows; the server classified {found['rows_classified']:,}. When all "
        f"had left, one text was answered after {found['first_after_ms']:,.1f} ms."
    )


def restarts_section(found: Numbers) -> str:
    """What is lost when a server ends and another one begins."""
    heads = ["", "times", "requests", "answered", "refused (429, 503)", "closed before it was read", "lost"]
    rows = [
        [
            line["what"],
            *(f"{line[name]:,}" for name in ("times", "sent", "answered", "refused", "closed", "lost")),
        ]
        for line in found["lines"]
    ]
    return "\n\n".join(
        [
            "## Restarts",
            f"{found['clients']} clients with kept connections ask all the time, while the server is ended by SIGTERM "
            "and another one is started on its port, or reads its model again on SIGHUP. A client that cannot connect "
            "tries again. A request is *lost* if the server read it and did not answer. It was *closed before it was "
            "read* if the other side acknowledged none of its bytes, or ended the connection by a reset, which Linux "
            "sends for bytes that no program has read: such a request can be sent again without being answered twice.",
            table(heads, rows),
            _setup(found),
        ]
    )


SECTIONS = {"load": load_section, "overload": overload_section, "restarts": restarts_section}


def _setup(found: Numbers) -> str:
    versions = {"limbeck": found["machine"]["versions"]["limbeck"], **found["versions"]}
    named = ", ".join(f"{name} {number}" for name, number in versions.items())
    return (
        f"{found['machine']['cpu']}, {found['machine']['cores']} cores, Python {found['machine']['python']}; {named}."
    )


def _milliseconds(found: float | None) -> str:
    if found is None:
        return "–"
    return f"{found:.2f}" if found < 10 else f"{found:,.0f}"


def all_of(lines: Sequence[Numbers], name: str) -> int:
    """The sum of a number over lines."""
    return sum(line[name] for line in lines)
