"""The worker's protocol in this process, and its teacher."""

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.export import export_student
from limbeck.progress import SilentReporter
from limbeck.recipe.export import Export
from limbeck.runtime.row import Row
from limbeck.timing.clock_worker import (
    Predict,
    calls,
    latency,
    open_exported,
    open_student,
    open_teacher,
    serve,
    throughput,
    warm_up,
)

LOAD: dict[str, Any] = {"do": "load", "kind": "model", "folder": "anywhere", "max_length": 8, "threads": 1}


class Recorder:
    """A model that answers at once and remembers how many rows each call had."""

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.rows: list[Row] = []

    def __call__(self, rows: Sequence[Row]) -> list[str]:
        self.calls.append(len(rows))
        self.rows.extend(rows)
        return ["yes"] * len(rows)


def replies_to(requests: list[dict[str, Any]], predict: Predict) -> list[dict[str, Any]]:
    """What a worker with this model answers."""
    replies = io.StringIO()
    lines = io.StringIO("".join(json.dumps(request) + "\n" for request in requests))
    serve(lines, replies, opened=lambda _: predict)
    return [json.loads(line) for line in replies.getvalue().splitlines()]


def test_every_request_is_answered_by_one_line() -> None:
    requests = [
        LOAD,
        {"do": "warm_up", "rows": ["a", "b"]},
        {"do": "latency", "rows": ["a", "b", "c"], "seconds": 60, "least": 1},
        {"do": "throughput", "rows": ["a"] * 50, "seconds": 60, "least": 1},
    ]

    loaded, warmed, alone, together = replies_to(requests, Recorder())

    assert "heavy_modules" in loaded
    assert warmed["seconds_per_row"] >= 0
    assert len(alone["samples_ms"]) == 3
    assert together["rows"] == 50
    assert together["rows_per_second"] > 0


def test_pairs_reach_the_model_as_pairs() -> None:
    model = Recorder()

    replies_to([LOAD, {"do": "latency", "rows": [["a", "b"]], "seconds": 1, "least": 1}], model)

    assert model.rows == [("a", "b")]


def test_nothing_is_timed_before_it_is_loaded() -> None:
    with pytest.raises(ValueError, match="before anything was loaded"):
        replies_to([{"do": "latency", "rows": ["a"], "seconds": 1, "least": 1}], Recorder())


def test_an_unknown_request_ends_the_worker() -> None:
    with pytest.raises(ValueError, match="unknown request 'dance'"):
        replies_to([LOAD, {"do": "dance"}], Recorder())


def test_when_the_time_is_up_the_least_samples_are_still_taken() -> None:
    model = Recorder()

    samples = latency(model, ["text"] * 100, seconds=-1, least=10)

    assert len(samples) == 10
    assert model.calls == [1] * 10


def test_a_batch_is_cut_to_what_fits_into_the_time() -> None:
    model = Recorder()
    requests = [
        LOAD,
        {"do": "warm_up", "rows": ["a"] * 4},
        {"do": "throughput", "rows": ["a"] * 5000, "seconds": 1e-12, "least": 16},
    ]

    *_, reply = replies_to(requests, model)

    assert reply["rows"] == 16
    assert model.calls[-1] == 16


def test_a_batch_that_fits_is_one_call() -> None:
    model = Recorder()

    throughput(model, ["a"] * 300)

    assert model.calls == [300]


def test_calls_go_on_through_the_rows_and_begin_again() -> None:
    model = Recorder()

    reply = calls(model, list("abcdefg"), batch=3, seconds=0.002)

    assert set(model.calls) == {3}
    assert len(model.calls) > 2
    assert model.rows[:9] == list("abcdefabc")  # the last row is no whole call
    assert reply["seconds"] >= 0.002
    assert reply["rows_per_second"] == pytest.approx(len(model.rows) / reply["seconds"])


def test_one_call_is_made_even_when_there_is_no_time() -> None:
    model = Recorder()

    calls(model, ["a"] * 10, batch=5, seconds=0)

    assert model.calls == [5]


def test_a_call_that_would_take_too_long_is_left_out() -> None:
    model = Recorder()
    asked = {"do": "calls", "rows": ["a"] * 9, "batch": 9, "seconds": 0}
    requests = [LOAD, {"do": "warm_up", "rows": ["a"]}, {**asked, "most_seconds": 1e-12}, {**asked, "most_seconds": 60}]

    *_, refused, timed = replies_to(requests, model)

    assert refused == {"rows_per_second": None, "seconds": 0.0}
    assert timed["rows_per_second"] > 0
    assert model.calls.count(9) == 1


def test_a_call_of_more_rows_than_there_are_is_an_error() -> None:
    with pytest.raises(ValueError, match="a call of 3 rows was asked for, and 2 rows were given"):
        calls(Recorder(), ["a", "b"], batch=3, seconds=0)


def test_warming_up_runs_single_rows_and_batches() -> None:
    model = Recorder()

    warm_up(model, ["a", "b", "c"])

    assert model.calls == [1, 1, 1, 3, 3]


def test_the_teacher_answers_in_the_order_of_the_rows(tiny_teacher_folder: Path) -> None:
    teacher = open_teacher(tiny_teacher_folder, max_length=32)
    rows = [" ".join(["gorgeous", "film", "dreadful", "story"][: 1 + number % 4]) for number in range(70)]

    together = teacher(rows)

    assert together == [teacher([row])[0] for row in rows]
    assert set(together) <= {"negative", "positive"}


def test_the_teacher_takes_pairs_and_cuts_long_texts(tiny_teacher_folder: Path) -> None:
    teacher = open_teacher(tiny_teacher_folder, max_length=16)

    assert len(teacher([("film " * 500, "story"), ("a", "b")])) == 2


@pytest.mark.parametrize("pair", [False, True])
def test_a_student_that_is_the_teacher_answers_as_its_exported_file_does(
    make_student: Callable[..., Any], toy_rows: Sequence[tuple[str, str]], tmp_path: Path, pair: bool
) -> None:
    student = make_student(tmp_path / "student", pair=pair)
    texts = [text for text, _ in toy_rows[:40]]
    rows: list[Row] = list(zip(texts, texts[::-1], strict=True)) if pair else list(texts)
    export_student(
        Export(),
        student=student,
        rows=Rows.of(ids=[str(number) for number in range(40)], texts=texts, pairs=texts[::-1] if pair else None),
        precision="fp32",
        out=tmp_path / "model",
        key=Key(section={}, inputs={}),
        reporter=SilentReporter(),
    )

    trained, exported = open_student(tmp_path / "student"), open_exported(tmp_path / "model", threads=1)

    assert trained(rows) == exported(rows) == [trained([row])[0] for row in rows]
    assert pair or len(set(trained(rows))) > 1  # this one says the same of all toy pairs
