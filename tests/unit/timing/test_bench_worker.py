"""The process that holds a model: how it goes through the texts, and what it answers."""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from limbeck.runtime.row import Row
from limbeck.timing import bench_worker
from limbeck.timing.bench_worker import Opened, Turns, opened, serve


class Watched:
    """A model that remembers what it was asked."""

    def __init__(self) -> None:
        self.calls: list[list[Row]] = []

    def __call__(self, rows: Sequence[Row]) -> list[str]:
        self.calls.append(list(rows))
        return ["yes"] * len(rows)


def answers(*requests: dict[str, Any], predict: Watched) -> list[dict[str, Any]]:
    """What a worker replies to these requests."""
    replies = io.StringIO()
    lines = io.StringIO("".join(json.dumps(request) + "\n" for request in requests))
    serve(lines, replies, opened=lambda _: Opened(predict, engine="watched"))
    return [json.loads(line) for line in replies.getvalue().splitlines()]


@pytest.fixture
def no_settling(monkeypatch: pytest.MonkeyPatch) -> None:
    """One uncounted call at the start of a turn, and no more."""
    monkeypatch.setattr(bench_worker, "SETTLING_SECONDS", 0.0)


@pytest.mark.usefixtures("no_settling")
def test_a_turn_goes_on_where_the_last_one_stopped() -> None:
    watched = Watched()
    turns = Turns(watched, ["a", "b", "c"])

    turns.take(batch=1, seconds=0.0)
    turns.take(batch=1, seconds=0.0)

    assert watched.calls == [["a"], ["b"], ["c"]]  # the first is uncounted


@pytest.mark.usefixtures("no_settling")
def test_a_call_of_more_rows_than_there_are_begins_again() -> None:
    watched = Watched()

    Turns(watched, ["a", "b", "c"]).take(batch=5, seconds=0.0)

    assert watched.calls == [["a", "b", "c", "a", "b"], ["c", "a", "b", "c", "a"]]


def test_a_turn_begins_with_calls_that_are_not_counted() -> None:
    watched = Watched()

    samples = Turns(watched, ["a"]).take(batch=1, seconds=0.0)

    assert len(samples) == 1
    assert len(watched.calls) > 2


def test_a_call_that_will_take_long_is_counted_from_the_first_one_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_worker, "LONG_SECONDS", 0.0)
    watched = Watched()
    turns = Turns(watched, ["a"])

    turns.take(batch=1, seconds=0.0)
    before = len(watched.calls)
    turns.take(batch=8, seconds=0.0)

    assert before > 2  # of the first turn nothing is known yet
    assert len(watched.calls) == before + 1


def test_a_turn_lasts_as_long_as_it_was_told() -> None:
    samples = Turns(Watched(), ["a"]).take(batch=1, seconds=0.05)

    assert len(samples) > 10
    assert all(sample >= 0 for sample in samples)


@pytest.mark.usefixtures("no_settling")
def test_requests_are_answered_one_by_one_and_pairs_come_as_pairs() -> None:
    watched = Watched()

    loaded, turn = answers(
        {"do": "load", "rows": [["a", "b"]]}, {"do": "turn", "batch": 1, "seconds": 0.0}, predict=watched
    )

    assert loaded == {"engine": "watched"}
    assert len(turn["samples_ms"]) == 1
    assert watched.calls[0] == [("a", "b")]


@pytest.mark.parametrize("request_line", [{"do": "turn", "batch": 1, "seconds": 0.0}, {"do": "sing"}])
def test_a_request_that_makes_no_sense_ends_the_process(request_line: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=request_line["do"]):
        answers(request_line, predict=Watched())


def test_an_exported_model_is_run_by_the_engine_asked_for(model: Path) -> None:
    request = {"kind": "model", "folder": str(model), "threads": 1, "engine": "onnx", "max_length": 8}

    loaded = opened(request)

    assert loaded.engine == "onnxruntime"
    assert loaded.predict(["a gorgeous film"])[0] in ("negative", "neutral", "positive")
