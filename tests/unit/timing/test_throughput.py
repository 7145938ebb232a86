"""Which cases are timed, over which texts, and how the turns are shared out."""

from typing import Any, cast

import pytest

from limbeck.progress import SilentReporter
from limbeck.runtime.row import Row
from limbeck.timing import throughput
from limbeck.timing.clock_process import Worker
from limbeck.timing.throughput import ThroughputCase, cases_by_length, cases_of_all_cores, taken, time_cases, turned

ROWS: list[Row] = ["dddd", "a", "ccc", "bb"]


class Scripted:
    """A worker that takes so many seconds for a turn, or finds a call too long; it remembers what it was asked."""

    def __init__(self, *, seconds: float = 0.01, longest: int = 1000) -> None:
        self.name = "scripted"
        self.seconds, self.longest = seconds, longest
        self.asked: list[dict[str, Any]] = []

    def ask(self, **request: Any) -> dict[str, Any]:
        self.asked.append(request)
        if request["batch"] > self.longest:
            return {"rows_per_second": None, "seconds": 0.0}
        return {"rows_per_second": 100.0 * len(self.asked), "seconds": self.seconds}


def timed(
    workers: list[Scripted], *cases: ThroughputCase, rounds: int = 3, rows: list[Row] = ROWS
) -> list[throughput.Rates]:
    with SilentReporter().bar("timing", total=1, unit="turns") as bar:
        return time_cases(cast(list[Worker], workers), cases=cases, rows=rows, rounds=rounds, bar=bar)


def test_texts_are_all_or_one_half_by_length_in_their_order() -> None:
    assert ThroughputCase(1, 32).of(ROWS) == ROWS
    assert ThroughputCase(1, 32, "short").of(ROWS) == ["a", "bb"]
    assert ThroughputCase(1, 32, "long").of(ROWS) == ["dddd", "ccc"]


def test_both_texts_of_a_pair_count() -> None:
    assert ThroughputCase(1, 2, "long").of([("a", "bbbbb"), ("ccc", "")]) == [("a", "bbbbb")]


def test_the_first_batch_is_timed_by_length_too() -> None:
    cases = cases_by_length([32, 256], threads=2, rows=10)

    assert cases == [
        ThroughputCase(2, 32),
        ThroughputCase(2, 256),
        ThroughputCase(2, 32, "short"),
        ThroughputCase(2, 32, "long"),
    ]


def test_one_row_has_no_halves_and_no_batches_no_cases() -> None:
    assert cases_by_length([32], threads=1, rows=1) == [ThroughputCase(1, 32)]
    assert cases_by_length([], threads=1, rows=10) == []


def test_all_cores_are_timed_where_they_are_more_than_the_threads() -> None:
    assert cases_of_all_cores([32], threads=1, cores=4) == [ThroughputCase(4, 1), ThroughputCase(4, 32)]
    assert cases_of_all_cores([32], threads=4, cores=4) == cases_of_all_cores([], threads=1, cores=4) == []


def test_workers_take_turns_case_by_case_and_round_by_round() -> None:
    first, second = Scripted(), Scripted()

    rates = timed([first, second], ThroughputCase(1, 2), ThroughputCase(1, 3), rounds=2)

    assert [request["batch"] for request in first.asked] == [2, 3, 2, 3]
    assert rates[0] == rates[1] == {ThroughputCase(1, 2): [100.0, 300.0], ThroughputCase(1, 3): [200.0, 400.0]}
    assert first.asked == second.asked
    assert first.asked[0]["rows"] != first.asked[2]["rows"]  # begun at another place


def test_whoever_has_used_up_its_seconds_has_no_more_turns() -> None:
    slow, fast = Scripted(seconds=1.3), Scripted(seconds=0.08)

    rates = timed([slow, fast], ThroughputCase(1, 2))

    assert [len(of_worker[ThroughputCase(1, 2)]) for of_worker in rates] == [1, 3]


def test_a_case_that_takes_too_long_is_asked_once_and_left_out() -> None:
    worker = Scripted(longest=2)

    (rates,) = timed([worker], ThroughputCase(1, 2), ThroughputCase(1, 256))

    assert list(rates) == [ThroughputCase(1, 2)]
    assert [request["batch"] for request in worker.asked] == [2, 256, 2, 2]


def test_there_are_rows_enough_for_a_call_and_for_many_calls_of_one() -> None:
    worker = Scripted()

    timed([worker], ThroughputCase(1, 1), ThroughputCase(1, 100), rounds=1)

    assert [len(request["rows"]) for request in worker.asked] == [throughput.LEAST_ROWS, 100]


@pytest.mark.parametrize("how_many", [1, 5])
def test_rows_begin_again_where_there_are_not_enough(how_many: int) -> None:
    assert taken(["a", "b"], how_many) == ["a", "b", "a", "b", "a"][:how_many]


def test_every_round_begins_at_another_row() -> None:
    assert [turned(["a", "b", "c"], turn, of=3) for turn in range(3)] == [
        ["a", "b", "c"],
        ["b", "c", "a"],
        ["c", "a", "b"],
    ]
