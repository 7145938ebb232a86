"""When requests may be sent: at most so many a minute, and none while a server asks for patience."""

import threading
import time
from typing import Any

import pytest

from limbeck.recipe.endpoint import EndpointTeacher
from limbeck.teacher.endpoints.client import Pace, Stopped


def pace(stop: threading.Event | None = None, **keys: Any) -> Pace:
    section = EndpointTeacher(kind="endpoint", url="http://localhost:1", model="tiny", **keys)
    return Pace(section, stop or threading.Event())


def test_who_waits_for_a_turn_waits_on_while_the_server_asks_for_patience() -> None:
    given, turns, started = pace(requests_per_minute=240), list[float](), time.monotonic()

    def turn() -> None:
        given.wait(10)
        turns.append(time.monotonic() - started)

    threads = [threading.Thread(target=turn) for _ in range(3)]
    for thread in threads:
        thread.start()
    while not turns:  # the others wait for their quarter of a second
        time.sleep(0.005)
    given.hold(0.6)
    for thread in threads:
        thread.join()

    _, *others = sorted(turns)
    assert others[0] >= 0.6
    assert others[1] - others[0] >= 0.2  # in turn again, not at once


def test_tokens_a_minute_are_a_pace_too_and_who_waits_can_be_stopped() -> None:
    stop = threading.Event()
    given, started = pace(stop, tokens_per_minute=6_000), time.monotonic()

    given.wait(20)
    given.wait(20)

    assert time.monotonic() - started >= 0.2
    threading.Timer(0.05, stop.set).start()
    with pytest.raises(Stopped):
        given.wait(60_000)
    assert time.monotonic() - started < 30
