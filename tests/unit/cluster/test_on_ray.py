"""On a real Ray cluster of this machine: the same answers as here, whatever is lost on the way. Skipped without ray."""

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.cluster.asking import RayRunner
from limbeck.cluster.pieces import InputForm
from limbeck.cluster.predict import predict_files
from limbeck.cluster.workers import Lost, Resources, dispatch
from limbeck.errors import TeacherError
from limbeck.labeling.run import label
from limbeck.labeling.source import TeacherSource
from limbeck.progress import SilentReporter
from limbeck.recipe.labeling import Labeling
from limbeck.runtime.classifier import Classifier
from tests.unit.cluster.test_predict import parts


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


def test_work_that_ends_every_worker_is_given_up_and_the_rest_is_done(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limbeck.cluster.workers.ATTEMPTS", 2)
    crew = dispatch(cluster, Squares, ({2},), Resources(workers=1))

    results = dict(crew.results(range(4)))

    assert isinstance(results[2], Lost)
    assert results[2].attempts == 2
    assert {number: found for number, found in results.items() if number != 2} == {0: 0, 1: 1, 3: 9}


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


class LengthTeacher:
    """Answers with the length of a text, and notes each text that it is asked; ends its process at "kill", once, and
    fails on "fail", always."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def logits(self, texts: Sequence[str], pairs: Sequence[str] | None, **options: Any) -> Any:
        del pairs, options
        if "fail" in texts:
            raise ValueError("cannot read this")
        if "kill" in texts and not (self._folder / "killed").exists():
            (self._folder / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        with (self._folder / "asked").open("a", encoding="utf-8") as file:
            file.writelines(f"{text}\n" for text in texts)
        return np.array([[len(text), -len(text)] for text in texts], dtype=np.float32)


@dataclass(frozen=True)
class InFolder:
    """The teacher as it travels; its notes stay where the test is."""

    place: Path
    notes: Path

    def opened_in(self, folder: Path) -> LengthTeacher:
        assert (folder / "weights").read_text() == "of the teacher"
        return LengthTeacher(self.notes)


def labelled(tmp_path: Path, texts: list[str], runner: RayRunner | None, *, name: str) -> tuple[TeacherLabels, Path]:
    place, notes = tmp_path / "teacher", tmp_path / f"notes-{name}"
    for folder in (place, notes):
        folder.mkdir(exist_ok=True)
    (place / "weights").write_text("of the teacher")
    labels = label(
        Labeling(rows_per_shard=8),
        rows={"transfer": Rows.of(ids=[f"row-{number}" for number in range(len(texts))], texts=texts)},
        classes=2,
        multi_label=False,
        sources=[TeacherSource("t", "t", lambda: LengthTeacher(notes), portable=InFolder(place, notes))],
        combine="mean_logits",
        uncovered="stop",
        fingerprint="t",
        store=tmp_path / f"store-{name}",
        out=tmp_path / f"labels-{name}",
        key=Key(section={}, inputs={}),
        reporter=SilentReporter(),
        runner=runner,
    )
    return labels, notes / "asked"


def test_labels_are_those_of_one_machine_and_no_text_is_asked_twice(cluster: Any, tmp_path: Path) -> None:
    texts = ["word " * (number % 40) + str(number % 60) for number in range(120)]
    here, _ = labelled(tmp_path, texts, None, name="here")

    there, asked = labelled(tmp_path, texts, RayRunner(cluster, Resources(workers=2)), name="there")

    assert there.fingerprint == here.fingerprint
    assert sorted(asked.read_text().splitlines()) == sorted(set(texts))
    shards = [sorted(path.name for path in tmp_path.glob(f"store-{name}/t/*.arrow")) for name in ("here", "there")]
    assert shards[0] == shards[1]


def test_a_lost_worker_and_a_text_that_fails_cost_no_other_label(cluster: Any, tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(40)] + ["kill", "fail"]

    labels, _ = labelled(tmp_path, texts, RayRunner(cluster, Resources(workers=2)), name="there")

    assert (tmp_path / "notes-there" / "killed").exists()
    covered = labels.covers([f"row-{number}" for number in range(42)])
    assert np.flatnonzero(~np.asarray(covered)).tolist() == [41]
    assert labels.for_rows(["row-40", "row-3"])[:, 0].tolist() == [4.0, 6.0]


def test_predictions_are_those_of_this_process(model: Classifier, data: Path, tmp_path: Path, cluster: Any) -> None:
    del cluster
    here = predict_files(model, [str(data)], tmp_path / "here", reading=InputForm())
    there = predict_files(
        model, [str(data)], tmp_path / "there", reading=InputForm(), runner="ray", resources=Resources(workers=2)
    )

    assert parts(tmp_path / "here") == parts(tmp_path / "there")
    assert (here.rows, here.failed, here.pieces) == (there.rows, there.failed, there.pieces)
