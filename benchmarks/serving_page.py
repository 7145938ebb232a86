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
BEFORE, RIVAL = "limbeck before", "FastAPI and transformers"
NAMES = {
    "nothing": "a server that does nothing",
    BEFORE: "`limbeck serve`, before",
    "limbeck": "`limbeck serve`",
    RIVAL: "FastAPI and a pipeline of MiniLM",
}
SMALLEST = 0.01  # ratio; below it there are no digits
QUIET = 0.3  # of the cores busy in the minute before, at most: else the machine is shared, and times are only ratios
Numbers = Mapping[str, Any]

INTRODUCTION = """# Serving under load

What [`limbeck serve`](serving.md) does when many ask, when too many ask, and when it is stopped and started meanwhile.
Every number is measured by a script in `benchmarks/`, which starts the server as its users do and asks it from a
process of its own on the same machine: server and clients share its processor. [Deploying](deploying.md) says what to
make of it."""

COMMANDS = """## Again

```
python benchmarks/serving_load.py runs/reviews/models/best       # without a model: a Bi-LSTM 150 of random weights
python benchmarks/serving_turns.py runs/reviews/models/best
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
    from benchmarks.runtime_texts import corpus
    from limbeck.timing.machine import machine_facts

    return {
        "texts": corpus().name,
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
            "soon as it has its answer. A server that does nothing shows what these clients can ask at most; the plain "
            "server is FastAPI around a pipeline of transformers with the teacher, a MiniLM (one thread a request). "
            "Refused are answers 429 and 503. Memory is the most that all processes of the server had together, shared "
            "pages counted for each.",
            *([SHARED] if _as_ratios(found) else ["Latency is what a client sees, in ms."]),
            load_lines(found),
            _setup(found),
        ]
    )


SHARED = (
    "The machine had much other work, so times are multiples of the plain server's with one worker. *Rows per core* "
    "are rows in a second of the server's own processor time, which other work hardly changes; 64 and 256 clients did "
    "not ask the plain server for 32 texts, which takes it minutes, and are compared with its line of 8. *p50* and "
    "*p99*, the latency that a client sees, are those of its line with as many clients: only their order of magnitude "
    "says something. Refused was where others had the processor, and the server was behind by half a second."
)


def load_lines(found: Numbers) -> str:
    """The table of load."""
    order = {name: place for place, name in enumerate(NAMES)}
    lines = sorted(found["lines"], key=lambda line: (order[line["server"]], line["workers"]))
    plain = [line for line in lines if line["server"] == RIVAL and line["workers"] == 1]
    as_ratios = _as_ratios(found)
    rows = [
        [
            NAMES[line["server"]],
            *(f"{line[name]:,}" for name in ("workers", "rows", "clients")),
            *(_against(line, plain) if as_ratios else _plainly(line)),
            f"{line['refused']:,}",
            f"{line['failed']:,}",
            f"{line['peak_mb']:,.0f}",
            *([] if as_ratios else [f"{line['busy']:.1f} + {line['clients_busy']:.1f}"]),
        ]
        for line in lines
    ]
    heads = ["server", "workers", "texts a request", "clients", "rows per core" if as_ratios else "rows/s"]
    return table([*heads, "p50", "p99", "refused", "failed", "MB", *([] if as_ratios else ["cores"])], rows)


def _as_ratios(found: Numbers) -> bool:
    return is_shared(found) and any(line["server"] == RIVAL for line in found["lines"])


def _plainly(line: Numbers) -> list[str]:
    rows = f"{line['requests_per_second'] * line['rows']:,.0f}"
    return [rows, _milliseconds(line["p50_ms"]), _milliseconds(line["p99_ms"])]


def _against(line: Numbers, plain: Sequence[Numbers]) -> list[str]:
    """Beside the plain server's line of as many texts and clients, or else the one of most clients."""
    alike = [other for other in plain if other["rows"] == line["rows"]]
    same = next((other for other in alike if other["clients"] == line["clients"]), {})
    most = max(alike, key=lambda other: other["clients"])
    latencies = [_times(line[name], same.get(name)) for name in ("p50_ms", "p99_ms")]
    return [_times(_per_core(line), _per_core(same or most)), *latencies]


def _per_core(line: Numbers) -> float:
    """Requests in a second of the server's own processor time."""
    return float(line["requests_per_second"] / line["busy"]) if line["busy"] else 0.0


def _times(number: float | None, other: float | None) -> str:
    if number is None or not other:
        return "–"
    ratio = number / other
    if ratio < SMALLEST:
        return f"< {SMALLEST} ×"
    return f"{ratio:,.{0 if ratio >= 10 else 1 if ratio >= 1 else 2}f} ×"


def is_shared(found: Numbers) -> bool:
    """Whether the machine had other work: a time then says little, and a ratio of two that were taken together more."""
    return bool(found["load_average"] > QUIET * found["machine"]["cores"])


def turns_section(found: Numbers) -> str:
    """What it brings to compute texts of several requests together."""
    return "\n\n".join(
        [
            "## Texts of several requests together",
            "Where the native engine runs the model, short requests that wait are computed in one call. "
            f"{found['model']}, {found['clients']} clients that ask for one text each, without a network: "
            f"{found['ratio']:g} times as many texts a second as one by one (the median of {found['rounds']} pairs of "
            "rounds). In onnxruntime a text's probabilities would depend on its neighbours, so requests are never "
            "joined there.",
            _setup(found),
        ]
    )


def overload_section(found: Numbers) -> str:
    """What becomes of too many requests."""
    shared = is_shared(found)
    rows = [_overload_row(line, as_ratios=shared) for line in found["lines"]]
    heads = [
        "asked",
        "texts a request",
        *([] if shared else ["requests/s"]),
        "sent",
        "asked again",
        "answered",
        "refused",
        "neither",
        "server counts",
    ]
    heads += ["p50 of answers", "p50 of refusals", "p99 of refusals", "longest `/livez`", "MB"]
    unit = "a multiple of the median at capacity" if shared else "in ms"
    return "\n\n".join(
        [
            "## Overload",
            f"First the capacity is measured, by {found['clients']} clients in a closed loop. Then requests begin at "
            f"a fixed rate for {found['seconds']:g} seconds, whatever became of those before, and latency ({unit}) is "
            "counted from the moment at which a request should have begun. Those whose connection was closed "
            "before the server read them are *asked again*, on another one. *Neither* were not answered, not refused, "
            "or broken off. The server counts what the clients count, status by status, or the number it is "
            "off by is shown.",
            table(heads, rows, words={"server counts"}),
            _leaving(found["leaving"], as_ratios=shared),
            _setup(found),
        ]
    )


def _overload_row(line: Numbers, *, as_ratios: bool) -> list[str]:
    latency, alive = line["latency_ms"], line["alive"]
    refusals = latency.get("429") or latency.get("503") or {}
    off = sum(abs(number) for number in line["off"].values())
    times = [latency.get("200", {}).get("p50"), refusals.get("p50"), refusals.get("p99"), alive["longest_ms"]]
    usual = line.get("capacity_p50_ms")
    shown = [_times(time, usual) if as_ratios else _milliseconds(time) for time in times]
    shown[-1] += f", {alive['failed']} failed" if alive["failed"] else ""
    return [
        f"{line['factor']:g} × capacity",
        f"{line['rows']:,}",
        *([] if as_ratios else [f"{line['rate']:,.0f}"]),
        f"{line['sent']:,}" + (f" of {line['sent'] + line['not_sent']:,}" if line["not_sent"] else ""),
        *(f"{line[name]:,}" for name in ("asked_again", "answered", "refused", "neither")),
        "the same" if off == 0 else f"off by {off:,}",
        *shown,
        f"{line['peak_mb']:,.0f}",
    ]


def _leaving(found: Numbers, *, as_ratios: bool) -> str:
    before, after = found.get("first_before_ms"), found["first_after_ms"]
    took = f"{_times(after, before)} its usual time" if as_ratios and before else f"{after:,.1f} ms"
    return (
        f"Clients that leave: of {found['sent']:,} requests, {found['left']:,} were given up by their client "
        f"{found['after_ms']:.0f} ms after they were sent. {found['answered']:,} were answered, "
        f"{found['rows_answered']:,} rows; the server classified {found['rows_classified']:,}. When all "
        f"had left, one text was answered after {took}."
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


SECTIONS = {
    "load": load_section,
    "turns": turns_section,
    "overload": overload_section,
    "restarts": restarts_section,
}


def _setup(found: Numbers) -> str:
    versions = {"limbeck": found["machine"]["versions"]["limbeck"], **found["versions"]}
    named = ", ".join(f"{name} {number}" for name, number in versions.items())
    texts = f" Texts: {found['texts']}." if "texts" in found else ""
    shared = ", shared with other jobs" if is_shared(found) else ""
    machine = found["machine"]
    return f"{machine['cpu']}, {machine['cores']} cores{shared}, Python {machine['python']}; {named}.{texts}"


def _milliseconds(found: float | None) -> str:
    if found is None:
        return "–"
    return f"{found:.2f}" if found < 10 else f"{found:,.0f}"


def all_of(lines: Sequence[Numbers], name: str) -> int:
    """The sum of a number over lines."""
    return sum(line[name] for line in lines)
