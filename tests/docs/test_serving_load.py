"""The scripts that put a server under load: what they count, and the page that shows it."""

import asyncio
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.hostile.campaigns.toy_models import form_model

ROOT = Path(__file__).resolve().parents[2]
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
BUSY = b'HTTP/1.1 429 Too Many\r\nretry-after: 1\r\ncontent-length: 17\r\n\r\n{"detail":"busy"}'
SILENT = b"HTTP/1.1 503 No\r\ncontent-length: 2\r\n\r\n{}"
Speak = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def module(name: str) -> ModuleType:
    """A script of benchmarks/, which is no part of the package."""
    return import_module(f"benchmarks.{name}")


def asked(speak: Speak, **plan: Any) -> Any:
    """The tally of a plan against a server in the same loop that speaks like this on each connection."""

    async def run() -> Any:
        async def speak_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await speak(reader, writer)
            except (asyncio.IncompleteReadError, ConnectionError):
                pass
            finally:
                writer.close()

        server = await asyncio.start_server(speak_and_close, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        made = module("serving_clients").Plan(port=port, bodies=['{"texts":["a"]}'], patience=1.0, **plan)
        load = module("serving_clients").Load(made)
        await load.run()
        server.close()
        return load.tally

    return asyncio.run(run())


async def read(reader: asyncio.StreamReader) -> None:
    """One request."""
    await reader.readuntil(b"}")


def test_only_this_machine_is_put_under_load() -> None:
    with pytest.raises(SystemExit, match=r"'10\.0\.0\.1' is not an address of this machine"):
        module("serving_clients").Plan(host="10.0.0.1", port=80, bodies=[])


def test_answers_are_counted_by_status_on_one_kept_connection() -> None:
    connections = 0

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        for number in range(10_000):
            await read(reader)
            writer.write((OK, BUSY, SILENT)[number % 3])

    tally = asked(speak, seconds=0.1)

    assert connections == 1
    assert tally.sent == tally.ends.total() > 10
    assert tally.ends.keys() == {"200", "429", "503"}
    assert tally.unreadable == tally.ends["503"], "a refusal says why, and when to come again"


def test_a_request_that_was_read_and_not_answered_is_broken() -> None:
    async def speak(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await read(reader)

    assert asked(speak, seconds=0.05).ends.keys() == {"broken"}


def test_half_an_answer_is_broken() -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read(reader)
        writer.write(OK[:-1])

    assert asked(speak, seconds=0.05).ends.keys() == {"broken"}


def test_a_connection_that_was_closed_before_the_request_arrived_is_not_a_loss() -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read(reader)
        writer.write(OK)  # and closes: the client has its next request on the way

    tally = asked(speak, seconds=0.1, clients=4)

    assert tally.ends["200"] > 10
    assert tally.ends.keys() <= {"200", "closed"}


def test_bytes_that_arrived_and_were_never_read_are_not_a_loss() -> None:
    async def speak(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # the transport of a socket has it
        await asyncio.sleep(0.02)
        writer.transport.abort()

    assert asked(speak, seconds=0.05).ends.keys() == {"closed"}


def test_in_an_open_loop_a_request_that_had_to_wait_took_as_long_as_it_waited() -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read(reader)
        await asyncio.sleep(0.2)  # once; what should have been asked meanwhile is late
        while True:
            writer.write(OK)
            await read(reader)

    tally = asked(speak, seconds=0.25, rate=200.0, most_connections=1)

    latency = module("serving_clients").percentiles(tally.seconds["200"])
    assert tally.sent > 10
    assert latency["p50"] > 50
    assert latency["max"] >= 200


def test_clients_that_leave_and_those_that_get_no_answer_are_counted() -> None:
    async def speak(_: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
        await asyncio.sleep(30)

    left = asked(speak, seconds=0.1, leaving_share=1.0, leaving_after=0.01)
    kept = asked(speak, seconds=0.05, clients=3)

    assert left.ends.keys() == {"left"}
    assert kept.ends == {"unanswered": 3}


def test_the_counters_of_a_server_are_added_up_without_our_own_requests() -> None:
    metrics = """
# TYPE limbeck_requests_total counter
limbeck_requests_total{path="/predict"} 10.0
limbeck_requests_total{path="/livez"} 99.0
limbeck_requests_total{path="other"} 1.0
limbeck_errors_total{path="/predict",status="429"} 3.0
limbeck_errors_total{path="other",status="404"} 1.0
limbeck_rows_total{model="a"} 5.0
limbeck_rows_total{model="b"} 2.0
limbeck_refused_total{reason="queue"} 3.0
limbeck_requests_created{path="/predict"} 1.7e+09
"""

    counts = module("serving_server").counts_of(metrics)

    assert counts == Counter({"200": 7, "429": 3, "404": 1, "rows": 7, "refused: queue": 3})


def test_the_page_is_the_one_that_the_committed_numbers_give() -> None:
    page = module("serving_page")

    written = page.page_of(json.loads(page.RESULTS.read_text(encoding="utf-8")))

    assert page.PAGE.read_text(encoding="utf-8") == written, "run `python benchmarks/serving_load.py --write-page`"


def test_the_scripts_run_from_end_to_end_in_short(tmp_path: Path) -> None:
    out, model = tmp_path / "found.json", str(form_model("single"))
    short = {
        "serving_load": ["--seconds", "0.2", "--workers", "1", "--clients", "2", "--without-rival"],
        "serving_turns": ["--rounds", "1", "--clients", "4"],
        "serving_overload": ["--seconds", "0.5", "--factors", "2", "--rows", "32"],
        "serving_restarts": ["--restarts", "1", "--reloads", "0", "--workers", "1", "--between", "0.2"],
    }

    for script, options in short.items():
        command = [sys.executable, str(ROOT / "benchmarks" / f"{script}.py"), model, *options, "--out", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]

    found = json.loads(out.read_text(encoding="utf-8"))
    page = module("serving_page").page_of(found)
    assert [line["server"] for line in found["load"]["lines"]] == ["nothing", "limbeck"] * 2
    assert found["turns"]["ratio"] > 0
    assert found["restarts"]["lines"][0]["lost"] == 0
    assert all(heading in page for heading in ("## Load", "## Texts", "## Overload", "## Restarts"))
