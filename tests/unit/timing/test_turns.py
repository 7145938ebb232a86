"""Models that take turns: who is called when, on how many threads, and what is made of the samples."""

import sys
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import pytest

from limbeck.errors import ModelNotTimed
from limbeck.progress import SilentReporter
from limbeck.timing.contestant import Contestant
from limbeck.timing.turns import ROUNDS, BenchCase, BenchTiming, Timed, _is_due, time_contestants

FakeWorker = tuple[list[str], Callable[[], list[list[str]]]]
FIRST, SECOND = (Contestant(name=name, kind="model", folder=Path(name)) for name in ("first", "second"))


def test_models_take_turns_and_in_every_round_another_one_begins(fake_worker: FakeWorker) -> None:
    command, calls = fake_worker

    time_contestants(
        [FIRST, SECOND],
        rows=["a", "b"],
        threads=[1],
        batches=[1],
        seconds=0.4,
        reporter=SilentReporter(),
        command=command,
    )

    turns = [name for name, _ in groupby(name for name, *_ in calls())]
    assert turns[:5] == ["first", "second", "first", "second", "first"]
    assert len(turns) == ROUNDS + 1  # who ends a round begins the next


def test_every_case_is_timed_in_processes_of_so_many_threads(fake_worker: FakeWorker) -> None:
    command, calls = fake_worker

    (timed,) = time_contestants(
        [FIRST],
        rows=["a", "b"],
        threads=[1, 3],
        batches=[1, 4],
        seconds=0.001,
        reporter=SilentReporter(),
        command=command,
    )

    assert {(threads, rows) for _, rows, threads, _ in calls()} == {("1", "1"), ("1", "4"), ("3", "1"), ("3", "4")}
    assert list(timed.cases) == [BenchCase(1, 1), BenchCase(1, 4), BenchCase(3, 1), BenchCase(3, 4)]
    assert timed.engine == "fake"


def test_models_see_the_same_texts_in_the_same_order(fake_worker: FakeWorker) -> None:
    command, calls = fake_worker
    rows = [f"text{number}" for number in range(50)]

    time_contestants(
        [FIRST, SECOND],
        rows=rows,
        threads=[1],
        batches=[1],
        seconds=0.004,
        reporter=SilentReporter(),
        command=command,
    )

    for name in ("first", "second"):
        seen = [text for folder, _, _, text in calls() if folder == name]
        assert seen == [rows[number % 50] for number in range(len(seen))]


def test_percentiles_are_over_all_calls_and_the_rate_is_the_median_of_the_turns() -> None:
    timing = BenchTiming(samples_ms=[float(number) for number in range(1, 102)], rates=[10.0, 90.0, 30.0])

    assert [timing.percentile(share) for share in (50, 95, 99)] == [51.0, 96.0, 100.0]
    assert timing.rows_per_second == 30.0


def test_a_model_whose_time_is_used_up_waits_for_the_others() -> None:
    timed = Timed(cases={BenchCase(1, 32): BenchTiming(samples_ms=[900.0, 200.0], rates=[1.0])})

    assert _is_due(BenchCase(1, 32), timed, seconds=1.2)
    assert not _is_due(BenchCase(1, 32), timed, seconds=1.0)


def test_a_slow_model_has_a_call_with_one_row_in_every_round() -> None:
    timed = Timed(cases={BenchCase(1, 1): BenchTiming(samples_ms=[900.0, 200.0], rates=[1.0])})

    assert _is_due(BenchCase(1, 1), timed, seconds=0.1)


def test_a_call_that_would_take_too_long_is_left_out() -> None:
    timed = Timed(cases={BenchCase(1, 1): BenchTiming(samples_ms=[500.0], rates=[2.0])})

    assert _is_due(BenchCase(1, 32), timed, seconds=1.0)
    assert not _is_due(BenchCase(1, 256), timed, seconds=1.0)


def test_a_model_that_cannot_be_run_is_told_with_its_last_words() -> None:
    command = [sys.executable, "-c", "raise SystemExit('the weights are gone')"]

    with pytest.raises(ModelNotTimed, match=r"times 'first' ended with status 1\n.*: the weights are gone\n"):
        time_contestants(
            [FIRST],
            rows=["a"],
            threads=[1],
            batches=[1],
            seconds=0.01,
            reporter=SilentReporter(),
            command=command,
        )
