"""How often the teacher's int8 file says what the teacher said, and on how many rows that is found out."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_labels import TeacherLabels, save_teacher_labels
from limbeck.progress import SilentReporter
from limbeck.timing.clock import Timing
from limbeck.timing.costing import MOST_CHARACTERS, MOST_ROWS, int8_agreement, int8_cost, int8_subject

MakeModel = Callable[..., ModelFolder]


class Notes(SilentReporter):
    """Remembers what was said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str, *, style: str = "") -> None:
        del style
        self.lines.append(text)


def rows_of(texts: Sequence[str]) -> Rows:
    return Rows.of(ids=[str(number) for number in range(len(texts))], texts=texts, labels=[0] * len(texts))


def labels_of(folder: Path, said: Sequence[Sequence[float]]) -> TeacherLabels:
    """What the teacher said of rows 0, 1, 2 …"""
    with written_atomically(folder, kind="labels", key=Key(section={}, inputs={})) as scratch:
        ids = [str(number) for number in range(len(said))]
        save_teacher_labels(scratch, ids=ids, logits=np.array(said, dtype=np.float32).reshape(-1, 2), facts={})
    return TeacherLabels(folder)


def test_the_share_of_rows_with_the_teachers_label(tmp_path: Path, make_model: MakeModel) -> None:
    """The file takes "gorgeous" for the second class; of the last row the teacher said nothing."""
    rows = rows_of(["gorgeous", "dreadful", "gorgeous film", "dreadful film", "gorgeous story", "dreadful story"])
    labels = labels_of(tmp_path / "labels", [[0, 1], [1, 0], [0, 1], [1, 0], [5, 0]])

    found = int8_agreement(make_model("int8"), labels=labels, rows=rows, reporter=SilentReporter())

    assert found == {"agreement": 0.8, "agreement_rows": 5}


def test_sets_of_labels_must_be_the_same(tmp_path: Path, make_model: MakeModel) -> None:
    rows = rows_of(["gorgeous", "dreadful"])
    labels = labels_of(tmp_path / "labels", [[-1, 1], [2, -2]])

    found = int8_agreement(make_model("int8", multi_label=True), labels=labels, rows=rows, reporter=SilentReporter())

    assert found == {"agreement": 1.0, "agreement_rows": 2}


def test_a_file_that_says_other_things_is_left_out_with_a_note(tmp_path: Path, make_model: MakeModel) -> None:
    notes = Notes()
    labels = labels_of(tmp_path / "labels", [[1, 0], [1, 0]])

    found = int8_agreement(make_model("int8"), labels=labels, rows=rows_of(["gorgeous", "dreadful"]), reporter=notes)

    assert found is None
    assert "50.0% of 2 rows" in notes.lines[0]


def test_where_the_teacher_said_nothing_there_is_nothing_to_agree_with(tmp_path: Path, make_model: MakeModel) -> None:
    labels = labels_of(tmp_path / "labels", [])

    found = int8_agreement(make_model("int8"), labels=labels, rows=rows_of(["gorgeous"]), reporter=SilentReporter())

    assert found == {"agreement": None, "agreement_rows": 0}


@pytest.mark.parametrize(("characters", "asked"), [(8, MOST_ROWS), (MOST_CHARACTERS // 10, 10), (MOST_CHARACTERS, 1)])
def test_of_long_texts_fewer_are_asked(tmp_path: Path, make_model: MakeModel, characters: int, asked: int) -> None:
    texts = ["gorgeous".ljust(characters)] * 300
    labels = labels_of(tmp_path / "labels", [[0, 1]] * 300)

    found = int8_agreement(make_model("int8"), labels=labels, rows=rows_of(texts), reporter=SilentReporter())

    assert found == {"agreement": 1.0, "agreement_rows": asked}


def test_it_is_timed_as_it_would_ship_and_its_cost_is_its_own(make_model: MakeModel) -> None:
    model = make_model("int8")

    subject = int8_subject(model)
    cost = int8_cost(model, {"agreement": 0.9, "agreement_rows": 7}, Timing(samples_ms=[20.0], rates=[100.0]))

    assert (subject.name, subject.kind, subject.folder) == ("teacher-int8", "model", model.folder)
    assert (cost["size_mb"], cost["engine"]) == (model.size_mb(), "onnxruntime")
    assert (cost["latency_ms"]["p50"], cost["rows_per_second"], cost["agreement"]) == (20.0, 100.0, 0.9)
