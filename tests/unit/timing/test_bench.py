"""A whole bench on tiny models: what its numbers say, and by whom the others are measured."""

from pathlib import Path

import pytest

from limbeck.progress import SilentReporter
from limbeck.timing.bench import bench, compared
from limbeck.timing.contestant import Contestant
from limbeck.timing.texts import TextFile
from limbeck.timing.turns import BenchCase, BenchTiming, Timed

SLOW, FAST = (Contestant(name=name, kind="model", folder=Path(name)) for name in ("slow", "fast"))


def timed(*milliseconds: float, batch: int = 1) -> Timed:
    """A model that took so long for its calls."""
    return Timed("onnx", {BenchCase(1, batch): BenchTiming(list(milliseconds), [1000 * batch / milliseconds[0]])})


def test_without_a_teacher_the_slowest_is_what_the_others_are_measured_by() -> None:
    found = compared([FAST, SLOW], [timed(2.0), timed(50.0)])

    assert found["measured_by"] == "slow"
    assert [model["cases"][0]["times_faster"] for model in found["models"]] == [25.0, 1.0]


def test_a_model_on_two_engines_is_called_by_both_names() -> None:
    found = compared([SLOW, SLOW], [Timed("onnxruntime", timed(9.0).cases), Timed("native avx2", timed(1.0).cases)])

    assert found["measured_by"] == "slow on onnxruntime"
    assert [model["engine"] for model in found["models"]] == ["onnxruntime", "native avx2"]


def test_a_teacher_is_what_the_others_are_measured_by_even_if_it_is_quicker() -> None:
    teacher = Contestant(name="teacher", kind="teacher", folder=Path("teacher"), is_teacher=True)

    found = compared([teacher, SLOW], [timed(10.0), timed(40.0)])

    assert found["measured_by"] == "teacher"
    assert found["models"][1]["cases"][0]["times_faster"] == 0.25


def test_a_case_that_the_reference_was_too_slow_for_has_no_ratio() -> None:
    fast = timed(1.0)
    fast.cases |= timed(8.0, batch=32).cases

    found = compared([SLOW, FAST], [timed(50.0), fast])

    assert [case["times_faster"] for case in found["models"][1]["cases"]] == [50.0, None]


def test_a_case_tells_percentiles_calls_and_rate() -> None:
    found = compared([SLOW], [timed(*map(float, range(1, 102)))])

    (case,) = found["models"][0]["cases"]
    assert case["call_ms"] == {"p50": 51.0, "p95": 96.0, "p99": 100.0}
    assert (case["threads"], case["batch"], case["calls"], case["rows_per_second"]) == (1, 1, 101, 1000.0)


def test_a_bench_of_models_of_pairs_on_a_file(pair_model: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("a film\ta story\nanother film\tno story\n", encoding="utf-8")

    found = bench(
        [pair_model],
        texts=TextFile(tmp_path / "rows.txt"),
        threads=[1],
        batches=[3],
        seconds=0.05,
        reporter=SilentReporter(),
    )

    assert found["texts"] == {
        "source": str(tmp_path / "rows.txt"), "count": 2, "pairs": True, "median_characters": 16
    }  # fmt: skip
    assert [case["batch"] for case in found["models"][0]["cases"]] == [1, 3]
    assert all(case["rows_per_second"] > 0 for case in found["models"][0]["cases"])


def test_a_teacher_in_pytorch_is_timed_beside_the_model(model: Path, tiny_teacher_folder: Path) -> None:
    """The one test that loads torch in a worker."""
    found = bench(
        [model],
        teacher=tiny_teacher_folder,
        threads=[1],
        batches=[2],
        seconds=0.1,
        reporter=SilentReporter(),
    )

    assert found["models"][0]["engine"] == "pytorch"
    assert found["measured_by"] == tiny_teacher_folder.name
    assert found["models"][1]["cases"][0]["times_faster"] > 1
    assert found["texts"]["source"] == "built in"


@pytest.mark.parametrize(("threads", "expected"), [([2, 1, 2], {1, 2}), ([3], {3})])
def test_models_are_timed_on_the_threads_asked_for(model: Path, threads: list[int], expected: set[int]) -> None:
    found = bench([model], threads=threads, batches=[], seconds=0.02, reporter=SilentReporter())

    assert {case["threads"] for case in found["models"][0]["cases"]} == expected
