"""Work is given to workers that live; that of a lost one is done by others, and only what ends them is given up."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from limbeck.cluster.workers import ATTEMPTS, ClusterUnusable, Lost, Resources, dispatch
from limbeck.errors import TeacherError


class Squares:
    """Squares numbers; ends its own process at those in `fatal`, each time, or the first time if there is a folder."""

    def __init__(self, fatal: set[int], marks: Path | None = None) -> None:
        self._fatal, self._marks = fatal, marks

    def ready(self) -> bool:
        return True

    def work(self, number: int) -> int:
        if number in self._fatal and not (self._marks and (self._marks / str(number)).exists()):
            if self._marks:
                (self._marks / str(number)).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if number < 0:
            raise TeacherError("a negative number", found=str(number))
        return number * number


def test_work_of_killed_workers_is_done_by_others(cluster: Any, tmp_path: Path) -> None:
    crew = dispatch(cluster, Squares, ({3, 9}, tmp_path), Resources(workers=2))

    results = dict(crew.results(range(20)))

    assert results == {number: number**2 for number in range(20)}
    assert crew.lost == 2


def test_work_that_ends_every_worker_is_given_up_and_the_rest_is_done(cluster: Any) -> None:
    crew = dispatch(cluster, Squares, ({2},), Resources(workers=1))

    results = dict(crew.results(range(5)))

    assert isinstance(results[2], Lost)
    assert results[2].attempts == ATTEMPTS
    assert {number: found for number, found in results.items() if number != 2} == {0: 0, 1: 1, 3: 9, 4: 16}


def test_an_error_of_the_user_arrives_as_it_is(cluster: Any) -> None:
    with pytest.raises(TeacherError, match="a negative number"):
        list(dispatch(cluster, Squares, (set(),), Resources(workers=1)).results([1, -1]))


def test_no_more_work_is_taken_than_there_is_room_for(cluster: Any) -> None:
    taken = []

    def work() -> Any:
        for number in range(100):
            taken.append(number)
            yield number

    results = dispatch(cluster, Squares, (set(),), Resources(workers=1)).results(work())
    next(results)
    results.close()

    assert len(taken) <= 4


def test_shares_of_the_cluster() -> None:
    cluster = {"CPU": 16.0, "GPU": 2.0}

    assert Resources().per_worker(cluster) == (16, 0.0)
    assert Resources(threads=3).per_worker(cluster) == (5, 0.0)
    assert Resources(is_on_gpu=True).per_worker(cluster) == (2, 1.0)
    assert Resources(workers=3, is_on_gpu=True).per_worker(cluster) == (3, 0.5)
    assert Resources(workers=8, is_on_gpu=True).per_worker(cluster) == (8, 0.25)
    assert Resources(workers=3, is_on_gpu=True).per_worker({"CPU": 4.0}) == (3, 0.0)
    with pytest.raises(ClusterUnusable, match="32 threads"):
        Resources(threads=32).per_worker(cluster)
