"""Logits are found by the row's id, never by its position."""

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from limbeck.artifacts import teacher_labels
from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.teacher_labels import (
    IdIndex,
    LabelsWriter,
    TeacherLabels,
    save_label_facts,
    save_teacher_labels,
)
from limbeck.errors import LabelsDoNotCover

IDS = [f"train:{number}" for number in range(100)]
LOGITS = np.array([[number, -number, number / 2] for number in range(100)], dtype=np.float32)


@pytest.fixture
def labels(tmp_path: Path) -> TeacherLabels:
    """Logits that say which row they belong to."""
    with written_atomically(tmp_path / "labels", kind="labels", key=Key(section={}, inputs={})) as scratch:
        save_teacher_labels(scratch, ids=IDS, logits=LOGITS, facts={"teacher": "tiny", "rows": 100})
    return TeacherLabels(tmp_path / "labels")


def test_logits_follow_the_row_id_not_the_position(labels: TeacherLabels) -> None:
    shuffled = random.Random(3).sample(IDS, k=len(IDS))

    logits = labels.for_rows(shuffled)

    assert logits.dtype == np.float32
    assert [f"train:{row[0]:.0f}" for row in logits] == shuffled
    np.testing.assert_array_equal(logits[:, 1], -logits[:, 0])


def test_some_rows_may_be_asked_for_and_some_twice(labels: TeacherLabels) -> None:
    assert labels.for_rows(["train:7", "train:3", "train:7"])[:, 0].tolist() == [7.0, 3.0, 7.0]


def test_no_rows_have_no_logits(labels: TeacherLabels) -> None:
    assert labels.for_rows([]).shape == (0, 3)


def test_rows_that_were_never_labelled_are_an_error_that_names_them(labels: TeacherLabels) -> None:
    with pytest.raises(LabelsDoNotCover) as caught:
        labels.for_rows(["train:1", "dev:0", "dev:1"])

    assert caught.value.missing == ("dev:0", "dev:1")
    assert str(caught.value).startswith("2 of 3 rows have no teacher logits")


def test_the_facts_are_kept(labels: TeacherLabels) -> None:
    assert labels.facts == {"teacher": "tiny", "rows": 100}


def test_the_fingerprint_is_that_of_the_contents(labels: TeacherLabels, tmp_path: Path) -> None:
    with written_atomically(tmp_path / "again", kind="labels", key=Key(section={"other": 1}, inputs={})) as scratch:
        save_teacher_labels(scratch, ids=IDS, logits=LOGITS, facts={"teacher": "tiny", "rows": 100})
    with written_atomically(tmp_path / "changed", kind="labels", key=Key(section={}, inputs={})) as scratch:
        save_teacher_labels(scratch, ids=IDS, logits=LOGITS + 1, facts={"teacher": "tiny", "rows": 100})

    assert TeacherLabels(tmp_path / "again").fingerprint == labels.fingerprint
    assert TeacherLabels(tmp_path / "changed").fingerprint != labels.fingerprint


def test_logits_in_fortran_order_and_double_precision_are_stored_alike(tmp_path: Path) -> None:
    logits = np.asfortranarray(LOGITS.astype(np.float64))

    save_teacher_labels(tmp_path, ids=IDS, logits=logits, facts={})  # type: ignore[arg-type]  # the point of the test

    np.testing.assert_array_equal(TeacherLabels(tmp_path).for_rows(IDS), LOGITS)


def test_rows_without_a_label_are_distinguished_from_those_with_one(labels: TeacherLabels) -> None:
    assert labels.covers(["dev:0", "train:99", "train:0", "nobody"]).tolist() == [False, True, True, False]


@pytest.mark.parametrize("wanted", [IDS[20:60], IDS[60:20:-1], ["train:3", "train:98"]])
def test_ids_may_come_as_an_arrow_column(labels: TeacherLabels, wanted: list[str]) -> None:
    column = pa.chunked_array([pa.array(wanted[:1]), pa.array(wanted[1:])])

    np.testing.assert_array_equal(labels.for_rows(column), labels.for_rows(wanted))
    np.testing.assert_array_equal(labels.for_rows(column.combine_chunks()), labels.for_rows(wanted))
    assert [f"train:{row[0]:.0f}" for row in labels.for_rows(column)] == wanted


def test_a_run_of_ids_with_one_out_of_place_is_no_run(labels: TeacherLabels) -> None:
    wanted = [*IDS[10:20], IDS[21], IDS[20]]

    assert [f"train:{row[0]:.0f}" for row in labels.for_rows(wanted)] == wanted


def test_labels_written_window_by_window_are_found_like_others(tmp_path: Path) -> None:
    features = LOGITS[:, :2].astype(np.float16)
    with LabelsWriter(tmp_path, classes=3, width=2) as writer:
        for start in range(0, 100, 30):
            window = slice(start, start + 30)
            writer.write(pa.chunked_array([pa.array(IDS[window])]), LOGITS[window], features[window])
    labels = TeacherLabels(tmp_path)
    shuffled = random.Random(5).sample(IDS, k=50)

    assert [f"train:{row[0]:.0f}" for row in labels.for_rows(shuffled)] == shuffled
    np.testing.assert_array_equal(labels.features_for(shuffled)[:, 0], labels.for_rows(shuffled)[:, 0])
    assert labels.features_for(shuffled).dtype == np.float16
    assert labels.has_features


def test_features_of_rows_that_were_never_labelled_are_an_error(tmp_path: Path) -> None:
    features = np.zeros((100, 4), dtype=np.float16)
    save_teacher_labels(tmp_path, ids=IDS, logits=LOGITS, facts={}, features=features)

    with pytest.raises(LabelsDoNotCover, match="1 of 2 rows"):
        TeacherLabels(tmp_path).features_for(["train:0", "dev:0"])


def test_how_long_the_teacher_took_is_not_part_of_the_fingerprint(labels: TeacherLabels, tmp_path: Path) -> None:
    """A run that was killed and went on ends as one that was not, though it asked less at its end."""
    with written_atomically(tmp_path / "slower", kind="labels", key=Key(section={}, inputs={})) as scratch:
        save_teacher_labels(scratch, ids=IDS, logits=LOGITS, facts={})
        save_label_facts(scratch, facts={"teacher": "tiny", "rows": 100}, asking={"seconds": 99.0})

    slower = TeacherLabels(tmp_path / "slower")

    assert slower.asking == {"seconds": 99.0}
    assert slower.fingerprint == labels.fingerprint


def written_in_windows(folder: Path, *, rows: int = 100, window: int = 30) -> TeacherLabels:
    """Labels as a run writes them: in several chunks."""
    with LabelsWriter(folder, classes=3, width=2) as writer:
        for start in range(0, rows, window):
            part = slice(start, start + window)
            writer.write(IDS[part], LOGITS[part], LOGITS[part, :2].astype(np.float16))
    return TeacherLabels(folder)


class Builds:
    """Counts the indices that are built, and the scans of the whole file for one id."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.indices = self.scans = 0
        build, scan = IdIndex.__init__, pc.index

        def counted_build(index: IdIndex, table: pa.Table) -> None:
            self.indices += 1
            build(index, table)

        def counted_scan(ids: pa.ChunkedArray, value: pa.Scalar) -> pa.Scalar:
            self.scans += 1
            return scan(ids, value)

        monkeypatch.setattr(IdIndex, "__init__", counted_build)
        monkeypatch.setattr(pc, "index", counted_scan)


def test_ids_asked_for_in_blocks_are_looked_up_in_one_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    labels, builds = written_in_windows(tmp_path), Builds(monkeypatch)
    wanted = pa.chunked_array([pa.array(IDS[::2])])

    for start in range(0, len(wanted), 5):
        block = wanted.slice(start, 5)
        assert [f"train:{row[0]:.0f}" for row in labels.features_for(block)] == block.to_pylist()

    assert builds.indices == 1
    assert builds.scans <= 1


def test_blocks_of_the_file_in_its_order_need_no_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    labels, builds = written_in_windows(tmp_path), Builds(monkeypatch)

    for start in range(10, 100, 7):
        block = IDS[start : start + 7]
        assert labels.covers(block).all()
        assert [f"train:{row[0]:.0f}" for row in labels.for_rows(block)] == block

    assert (builds.indices, builds.scans) == (0, 1)


def test_blocks_in_any_order_are_not_scanned_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    labels, builds = written_in_windows(tmp_path), Builds(monkeypatch)

    for start in random.Random(1).sample(range(90), k=60):
        assert labels.for_rows(IDS[start : start + 9])[:, 0].tolist() == [*range(start, min(start + 9, 100))]

    assert builds.indices == 1
    assert builds.scans < 10


@pytest.mark.parametrize("hashes", [lambda _id: 7, lambda row_id: len(row_id), lambda row_id: -hash(row_id)])
def test_ids_of_equal_hashes_are_distinguished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashes: Callable[[str], int]
) -> None:
    monkeypatch.setattr(teacher_labels, "hash", hashes, raising=False)
    labels = written_in_windows(tmp_path)
    wanted = [*random.Random(2).sample(IDS, k=40), "nobody", "train:5", "train:5", "dev:77"]

    found = labels.covers(wanted)

    assert found.tolist() == [row_id in IDS for row_id in wanted]
    known = [row_id for row_id in wanted if row_id in IDS]
    assert [f"train:{row[0]:.0f}" for row in labels.for_rows(known)] == known


def test_an_index_of_no_rows_finds_nothing(tmp_path: Path) -> None:
    labels = written_in_windows(tmp_path, rows=0)

    assert labels.covers(["train:0", "train:7"]).tolist() == [False, False]
