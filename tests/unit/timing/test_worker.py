"""What a worker answers, how it goes through the texts, and how it opens models; all in this process."""

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus, save_corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.export import export_student
from limbeck.judging.rival import make_rival
from limbeck.progress import SilentReporter
from limbeck.recipe.export import Export
from limbeck.runtime.row import Row
from limbeck.timing import worker
from limbeck.timing.worker import CallTimer, Opened, open_student, open_teacher, opened, serve

LOAD: dict[str, Any] = {"do": "load", "kind": "model", "folder": "anywhere", "threads": 1}
TURN: dict[str, Any] = {
    "case": 0, "rows": None, "batch": 1, "seconds": 0.0, "least_calls": 1, "most_calls": None, "settling_seconds": 0.0
}  # fmt: skip
SETTLING = {"settling_seconds": 0.002}


class Recorder:
    """A model that answers at once and remembers what it was asked."""

    def __init__(self) -> None:
        self.calls: list[list[Row]] = []

    def __call__(self, rows: Sequence[Row]) -> list[str]:
        self.calls.append(list(rows))
        return ["yes"] * len(rows)

    @property
    def sizes(self) -> list[int]:
        """Rows of each call."""
        return [len(rows) for rows in self.calls]


def replies_to(*requests: dict[str, Any], predict: Recorder | None = None) -> list[dict[str, Any]]:
    """What a worker with this model answers."""
    replies = io.StringIO()
    lines = io.StringIO("".join(json.dumps(request) + "\n" for request in requests))
    serve(lines, replies, opened=lambda _: Opened(predict or Recorder(), engine="recorder"))
    return [json.loads(line) for line in replies.getvalue().splitlines()]


def turn_of(timer: CallTimer, **given: Any) -> list[float]:
    """The samples of a turn of one call, but for what is given."""
    return timer.take_turn(**{**TURN, **given})


def test_every_request_is_answered_by_one_line() -> None:
    loaded, warmed, turn = replies_to(
        LOAD, {"do": "warm_up", "rows": ["a", "b"]}, {"do": "turn", **TURN, "rows": ["a", "b", "c"], "least_calls": 3}
    )

    assert loaded["engine"] == "recorder"
    assert "heavy_modules" in loaded
    assert warmed["seconds_per_row"] >= 0
    assert len(turn["samples_ms"]) == 3


def test_pairs_reach_the_model_as_pairs() -> None:
    model = Recorder()

    replies_to(LOAD, {"do": "turn", **TURN, "rows": [["a", "b"]]}, predict=model)

    assert model.calls == [[("a", "b")]]


def test_nothing_is_timed_before_it_is_loaded() -> None:
    with pytest.raises(ValueError, match="'turn' was requested before 'load'"):
        replies_to({"do": "turn", **TURN, "rows": ["a"]})


def test_an_unknown_request_ends_the_worker() -> None:
    with pytest.raises(ValueError, match="unknown request 'dance'"):
        replies_to(LOAD, {"do": "dance"})


def test_warming_up_runs_single_rows_and_batches() -> None:
    model = Recorder()

    CallTimer(model).warm_up(["a", "b", "c"])

    assert model.sizes == [1, 1, 1, 3, 3]


def test_a_slow_model_is_warmed_up_with_single_rows_until_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "WARM_UP_SECONDS", 0.0)
    monkeypatch.setattr(worker, "LONGEST_WARM_UP_CALL", 0.0)
    model = Recorder()

    assert CallTimer(model).warm_up(["a", "b", "c"]) > 0

    assert model.sizes == [1]


def test_a_turn_without_rows_goes_on_where_the_last_one_of_its_case_stopped() -> None:
    model = Recorder()
    timer = CallTimer(model)

    turn_of(timer, rows=["a", "b", "c"], batch=2)
    turn_of(timer, rows=["x", "y"], case=1)
    turn_of(timer, batch=2)
    turn_of(timer, case=1)

    assert model.calls == [["a", "b"], ["x"], ["c", "a"], ["y"]]


def test_a_turn_with_rows_begins_with_the_first_of_them() -> None:
    model = Recorder()
    timer = CallTimer(model)

    turn_of(timer, rows=["a", "b", "c"])
    turn_of(timer, rows=["x", "y"])

    assert model.calls == [["a"], ["x"]]


def test_a_call_of_more_rows_than_there_are_begins_again() -> None:
    model = Recorder()

    turn_of(CallTimer(model), rows=["a", "b", "c"], batch=5)

    assert model.calls == [["a", "b", "c", "a", "b"]]


@pytest.mark.parametrize(("limits", "calls"), [({"least_calls": 10}, 10), ({"seconds": 60.0, "most_calls": 7}, 7)])
def test_a_turn_has_its_least_calls_after_its_time_and_never_more_than_its_most(
    limits: dict[str, Any], calls: int
) -> None:
    model = Recorder()

    samples = turn_of(CallTimer(model), rows=["a"], **limits)

    assert len(samples) == len(model.calls) == calls


def test_a_turn_lasts_as_long_as_it_is_asked_to() -> None:
    samples = turn_of(CallTimer(Recorder()), rows=["a"], seconds=0.05)

    assert len(samples) > 10
    assert all(sample >= 0 for sample in samples)


def test_a_turn_may_begin_with_calls_that_do_not_count() -> None:
    model = Recorder()

    samples = turn_of(CallTimer(model), rows=["a"], **SETTLING)

    assert len(samples) == 1
    assert len(model.calls) > 2


def test_a_call_that_will_take_long_counts_from_the_first_one_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "LONG_SECONDS", 0.0)
    model = Recorder()
    timer = CallTimer(model)
    timer.warm_up(["a"])
    before = len(model.calls)

    turn_of(timer, rows=["a"], **SETTLING)

    assert len(model.calls) == before + 1


def test_an_exported_model_is_run_by_the_engine_asked_for(model: Path) -> None:
    request = {"kind": "model", "folder": str(model), "threads": 1, "engine": "onnx", "max_length": 8}

    loaded = opened(request)

    assert loaded.engine == "onnxruntime"
    assert loaded.predict(["a gorgeous film"])[0] in ("negative", "neutral", "positive")


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

    trained = open_student(tmp_path / "student")
    exported = opened({"kind": "student", "folder": tmp_path / "model", "threads": 1, "engine": "auto"}).predict

    assert trained(rows) == exported(rows) == [trained([row])[0] for row in rows]
    assert pair or len(set(trained(rows))) > 1  # this one says the same of all toy pairs


def test_the_rival_is_run_by_scikit_learn(tmp_path: Path) -> None:
    facts = {"name": "toy", "labels": ["bad", "good"], "language": "en", "pair": False}
    rows = Rows.of(ids=["0", "1"], texts=["a gorgeous film", "a dreadful film"], labels=[1, 0])
    key = Key(section={}, inputs={})
    with written_atomically(tmp_path / "corpus", kind="corpus", key=key) as scratch:
        save_corpus(scratch, splits={"train": rows, "dev": rows}, facts=facts)
    rival = make_rival(Corpus(tmp_path / "corpus"), out=tmp_path / "rival", key=key, reporter=SilentReporter())

    found = opened({**LOAD, "kind": "rival", "folder": str(rival.folder)})

    assert found.engine == "scikit-learn"
    assert found.predict(["gorgeous", "dreadful"]) == ["good", "bad"]
