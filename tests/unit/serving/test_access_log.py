import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from limbeck.errors import PathUnusable
from limbeck.serving import access_log
from limbeck.serving.access import Access, AccessSettings
from limbeck.serving.access_log import AccessLog, Logged

SECRET = "a text that nobody may read"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_log, "SECONDS_BETWEEN_WRITES", 0.01)


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Reads the body, fails where the path says so, and notes what it did."""
    await receive()
    if scope["path"] == "/broken":
        raise RuntimeError(SECRET)
    if scope["path"] == "/stopped":
        raise asyncio.CancelledError
    if scope["path"] == "/left":
        return
    scope["state"]["log"].update(model="m", rows=2, answered_by="student", text=SECRET)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"12345"})


def ask(log: AccessLog, path: str = "/predict") -> None:
    scope = {
        "type": "http", "path": path, "method": "POST", "query_string": SECRET.encode(), "http_version": "1.1",
        "client": ("192.0.2.7", 4711),
        "headers": [(b"host", b"a"), (b"authorization", SECRET.encode()), (b"x-request-id", b"id-1")],
    }  # fmt: skip

    async def receive() -> Any:
        return {"type": "http.request", "body": SECRET.encode(), "more_body": False}

    async def send(message: Any) -> None:
        del message

    asyncio.run(Logged(Access(application, AccessSettings()), log)(scope, receive, send))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(one) for one in path.read_text(encoding="utf-8").splitlines() if one]


def eventually(path: Path, count: int) -> list[dict[str, Any]]:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and (not path.exists() or len(lines(path)) < count):
        time.sleep(0.01)
    return lines(path)


def test_a_line_has_what_is_to_be_known_and_no_text_and_no_key(tmp_path: Path) -> None:
    log = AccessLog(tmp_path / "log")

    ask(log)
    log.close()

    text = (tmp_path / "log").read_text(encoding="utf-8")
    (line,) = lines(tmp_path / "log")
    assert SECRET not in text
    assert line.pop("time").endswith("+00:00")
    assert line.pop("milliseconds") >= 0
    assert line == {
        "id": "id-1", "client": "192.0.2.7", "method": "POST", "path": "/predict", "status": 200,
        "bytes_in": len(SECRET), "bytes_out": 5, "model": "m", "rows": 2, "answered_by": "student",
    }  # fmt: skip


def test_requests_that_fail_are_noted(tmp_path: Path) -> None:
    log = AccessLog(tmp_path / "log")

    with pytest.raises(RuntimeError):
        ask(log, "/broken")
    with pytest.raises(asyncio.CancelledError):
        ask(log, "/stopped")
    ask(log, "/left")
    log.close()

    assert [line["status"] for line in lines(tmp_path / "log")] == [500, 503, 0]
    assert SECRET not in (tmp_path / "log").read_text(encoding="utf-8")


def test_a_path_is_one_short_line_whatever_is_in_it(tmp_path: Path) -> None:
    log = AccessLog(tmp_path / "log")

    ask(log, "/\n\x1b[31m" + "x" * 5_000)
    log.close()

    (line,) = lines(tmp_path / "log")
    assert len(line["path"]) == 200
    assert "\x1b" not in (tmp_path / "log").read_text(encoding="utf-8")


def test_lines_are_written_while_the_server_runs(tmp_path: Path) -> None:
    log = AccessLog(tmp_path / "log")

    ask(log)

    assert len(eventually(tmp_path / "log", 1)) == 1
    log.close()


def test_a_file_that_was_moved_away_is_opened_again(tmp_path: Path) -> None:
    log = AccessLog(tmp_path / "log")
    ask(log)
    eventually(tmp_path / "log", 1)

    (tmp_path / "log").rename(tmp_path / "log.1")
    ask(log)
    log.close()

    assert (len(lines(tmp_path / "log.1")), len(lines(tmp_path / "log"))) == (1, 1)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a full disk is played by /dev/full")
def test_a_full_disk_loses_lines_and_nothing_else() -> None:
    log = AccessLog(Path("/dev/full"))

    for _ in range(100):
        ask(log)
    log.close()

    assert log.dropped >= 100


def test_a_broken_pipe_loses_lines_and_says_how_many_when_it_can(tmp_path: Path) -> None:
    read, write = os.pipe()
    log = AccessLog(tmp_path / "log")
    file, log._file, log._path = log._file, write, None
    os.close(read)
    ask(log)
    deadline = time.monotonic() + 10
    while not log.dropped and time.monotonic() < deadline:
        time.sleep(0.01)

    log._file = file
    ask(log)
    log.close()
    os.close(write)

    found = lines(tmp_path / "log")
    assert sum(line.get("dropped_lines", 0) for line in found) >= 1
    assert found[-1].get("id", "id-1") == "id-1"


def test_a_pipe_that_nobody_reads_holds_nothing_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(access_log, "MOST_WAITING", 50)
    read, write = os.pipe()
    log = AccessLog(tmp_path / "log")
    os.close(log._file)
    log._file, log._path = write, None
    began = time.monotonic()

    for number in range(5_000):
        log.add({"number": number, "padding": "x" * 100})
    log.close(patience=0.1)

    assert time.monotonic() - began < 5
    assert log.dropped > 1_000
    os.close(read)  # which ends the thread's write
    log._thread.join(10)
    assert not log._thread.is_alive()


def test_lines_of_two_servers_in_one_file_do_not_mix(tmp_path: Path) -> None:
    logs = [AccessLog(tmp_path / "log") for _ in range(2)]

    for number in range(500):
        for log in logs:
            log.add({"number": number, "padding": "x" * (number % 300)})
    for log in logs:
        log.close()

    assert len(lines(tmp_path / "log")) == 1_000


def test_a_file_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    with pytest.raises(PathUnusable, match="no-folder"):
        AccessLog(tmp_path / "no-folder" / "log")


def test_without_a_file_it_is_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    log = AccessLog()

    ask(log)
    log.close()
    sys.stderr.flush()

    assert json.loads(capfd.readouterr().err)["status"] == 200
