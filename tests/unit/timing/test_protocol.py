"""Models that take turns: who is called when, on how many threads, and what is made of the samples."""

import sys
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, cast

import pytest

from limbeck.progress import SilentReporter
from limbeck.timing.process import ModelNotTimed, WorkerProcess
from limbeck.timing.protocol import Case, CasePlan, Subject, TimedModel, Timing, _Runner, rows_for, time_models

FakeWorker = tuple[list[str], Callable[[], list[list[str]]]]
FIRST, SECOND = (Subject(name=name, kind="model", folder=Path(name)) for name in ("first", "second"))
ALONE = CasePlan(Case(1, 1), texts=[["a", "b"]], seconds=0.0, every_round=True)


class Scripted:
    """A worker whose calls take so many milliseconds; it remembers what it was asked."""

    def __init__(self, milliseconds: float) -> None:
        self.name, self.milliseconds = "scripted", milliseconds
        self.asked: list[dict[str, Any]] = []

    def ask(self, **request: Any) -> dict[str, Any]:
        self.asked.append(request)
        return {"samples_ms": [self.milliseconds]}


def turns_of(
    plan: CasePlan, *, milliseconds: float = 1.0, seconds_per_row: float = 0.001, timed: TimedModel | None = None
) -> tuple[TimedModel, list[dict[str, Any]]]:
    """Three rounds of one case by one model; what was found, and what was asked."""
    worker = Scripted(milliseconds)
    runner = _Runner(cast(WorkerProcess, worker), timed or TimedModel(), seconds_per_row=seconds_per_row)
    for number in range(3):
        runner.take_turn(number, plan, place=0, rounds=3)
    return runner.timed, worker.asked


def plan_of(case: Case, **given: Any) -> CasePlan:
    return CasePlan(case, **{"texts": [["a"]], "seconds": 1.0, **given})


def timed(subjects: Sequence[Subject], plans: Sequence[CasePlan], command: Sequence[str], *, rounds: int) -> Any:
    return time_models(subjects, plans=plans, rounds=rounds, reporter=SilentReporter(), command=command)


def test_all_are_warmed_up_then_they_take_turns_and_in_every_round_another_one_begins(fake_worker: FakeWorker) -> None:
    command, calls = fake_worker

    timed([FIRST, SECOND], [ALONE], command, rounds=4)

    names = [name for name, *_ in calls()]
    assert names[:36] == ["first"] * 18 + ["second"] * 18  # 16 single rows and two batches
    assert names[36:] == ["first", "second", "second", "first", "first", "second", "second", "first"]


def test_every_round_has_every_case_so_that_a_case_is_spread_over_the_whole_time(fake_worker: FakeWorker) -> None:
    command, calls = fake_worker
    plans = [ALONE, plan_of(Case(1, 4), seconds=0.0, every_round=True)]

    timed([FIRST], plans, command, rounds=2)

    assert [rows for _, rows, *_ in calls()][18:] == ["1", "4", "1", "4"]


def test_a_block_begins_when_the_one_before_has_had_all_its_rounds(fake_worker: FakeWorker) -> None:
    command, calls = fake_worker
    plans = [plan_of(Case(1, batch), seconds=0.0, every_round=True, block=block) for batch, block in ((4, 1), (1, 0))]

    timed([FIRST], plans, command, rounds=2)

    assert [rows for _, rows, *_ in calls()][18:] == ["1", "1", "4", "4"]


def test_every_number_of_threads_has_processes_of_its_own(fake_worker: FakeWorker) -> None:
    command, calls = fake_worker
    plans = [plan_of(Case(threads, batch), seconds=0.001) for threads in (1, 3) for batch in (1, 4)]

    (found,) = timed([FIRST], plans, command, rounds=2)

    asked = [(threads, rows) for _, rows, threads, _ in calls() if rows != "16"]
    assert [pair for pair, _ in groupby(sorted(asked))] == [("1", "1"), ("1", "4"), ("3", "1"), ("3", "4")]
    assert list(found.cases) == [Case(1, 1), Case(1, 4), Case(3, 1), Case(3, 4)]
    assert found.engine == "fake"


def test_models_walk_through_the_same_texts_in_the_same_order(fake_worker: FakeWorker) -> None:
    command, calls = fake_worker
    rows = [f"text{number}" for number in range(50)]

    timed([FIRST, SECOND], [plan_of(Case(1, 1), texts=[rows], seconds=0.0005)], command, rounds=8)

    for name in ("first", "second"):
        seen = [text for folder, _, _, text in calls() if folder == name][18:]
        assert seen == [rows[number % 50] for number in range(len(seen))]
        assert len(seen) >= 8


def test_without_models_there_is_nothing_to_time() -> None:
    assert timed([], [ALONE], ["never started"], rounds=3) == []


def test_a_model_that_cannot_be_run_is_an_error_with_the_last_output_of_its_process() -> None:
    command = [sys.executable, "-c", "raise SystemExit('the weights are gone')"]

    with pytest.raises(
        ModelNotTimed, match=r"times 'first' ended with status 1\n  its last line of output: the weights are gone"
    ):
        timed([FIRST], [ALONE], command, rounds=1)


def test_percentiles_are_over_all_calls_and_the_rate_is_the_median_of_the_turns() -> None:
    timing = Timing(samples_ms=[float(number) for number in range(1, 102)], rates=[10.0, 90.0, 30.0])

    assert [timing.percentile(percent) for percent in (50, 95, 99)] == [51.0, 96.0, 100.0]
    assert timing.rows_per_second == 30.0


def test_a_turn_adds_its_calls_and_its_rate() -> None:
    timing = Timing()

    timing.add_turn([100.0, 300.0], batch=8)
    timing.add_turn([100.0], batch=8)

    assert timing.samples_ms == [100.0, 300.0, 100.0]
    assert timing.rates == [40.0, 80.0]
    assert timing.seconds == 0.5


def test_rows_are_sent_in_the_rounds_that_have_their_own() -> None:
    _, asked = turns_of(plan_of(Case(1, 1), texts=[["a"], ["b"]]))

    assert [request["rows"] for request in asked] == [["a"], ["b"], None]


def test_a_model_whose_seconds_are_used_up_has_no_more_turns() -> None:
    found, _ = turns_of(plan_of(Case(1, 32)), milliseconds=1600.0)  # of three seconds

    assert len(found.cases[Case(1, 32)].rates) == 2


def test_a_slow_model_has_a_turn_in_every_round_where_the_plan_says_so() -> None:
    found, _ = turns_of(plan_of(Case(1, 1), every_round=True), milliseconds=5000.0)

    assert len(found.cases[Case(1, 1)].rates) == 3


def test_a_case_whose_calls_would_take_too_long_is_missing() -> None:
    known = TimedModel(cases={Case(1, 1): Timing([500.0], [2.0])})

    found, asked = turns_of(plan_of(Case(1, 256), most_seconds_per_call=30.0), seconds_per_row=0.5, timed=known)

    assert list(found.cases) == [Case(1, 1)]
    assert asked == []


def test_the_first_case_of_a_model_is_timed_however_long_it_takes() -> None:
    found, _ = turns_of(plan_of(Case(1, 1), most_seconds_per_call=30.0), seconds_per_row=40.0, milliseconds=40_000.0)

    assert list(found.cases) == [Case(1, 1)]


@pytest.mark.parametrize(("seconds_per_row", "batch"), [(0.0, 5000), (0.0001, 5000), (0.01, 100), (9.0, 16)])
def test_a_batch_that_shrinks_is_cut_to_what_fits_into_a_turn(seconds_per_row: float, batch: int) -> None:
    found, asked = turns_of(plan_of(Case(1, 5000, shrinks=True), most_calls=1), seconds_per_row=seconds_per_row)

    assert {request["batch"] for request in asked} == {batch}
    assert found.cases[Case(1, 5000, shrinks=True)].rates[0] == pytest.approx(1000 * batch)


@pytest.mark.parametrize("count", [1, 5])
def test_rows_begin_again_where_there_are_not_enough(count: int) -> None:
    assert rows_for(["a", "b"], count) == ["a", "b", "a", "b", "a"][:count]
