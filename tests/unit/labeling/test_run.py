"""Asking the teacher: once per text, by id, resumable."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.errors import LabelsDoNotCover
from limbeck.labeling import label
from limbeck.progress import Bar, SilentReporter
from limbeck.recipe.labeling import Labeling


class LengthTeacher:
    """A teacher whose logits are the lengths of the texts, so that a mix-up is visible."""

    def __init__(self, *, dies_after: int | None = None) -> None:
        self.asked: list[str] = []
        self.calls = 0
        self.dies_after = dies_after

    def logits(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None,
        *,
        tokens_per_batch: int | None = None,
        bar: Bar | None = None,
    ) -> npt.NDArray[np.float32]:
        del tokens_per_batch, bar
        if self.dies_after is not None and self.calls >= self.dies_after:
            raise KeyboardInterrupt
        self.calls += 1
        self.asked += texts
        others = pairs or [""] * len(texts)
        return np.array([[len(text), len(pair)] for text, pair in zip(texts, others, strict=True)], dtype=np.float32)


def labelled(
    tmp_path: Path, rows: Rows, teacher: LengthTeacher, *, run: str = "one", fingerprint: str = "teacher"
) -> TeacherLabels:
    return label(
        Labeling(rows_per_shard=3),
        rows=rows,
        classes=2,
        fingerprint=fingerprint,
        open_teacher=_opener(teacher),
        store=tmp_path / "store",
        out=tmp_path / run / "labels",
        key=Key(section={}, inputs={"rows": str(rows.ids)}),
        reporter=SilentReporter(),
    )


def _opener(teacher: LengthTeacher) -> Callable[[], LengthTeacher]:
    def open_teacher() -> LengthTeacher:
        teacher.opened = True  # type: ignore[attr-defined]
        return teacher

    return open_teacher


def rows_of(*texts: str, pairs: list[str] | None = None, prefix: str = "row") -> Rows:
    return Rows.of(ids=[f"{prefix}-{number}" for number in range(len(texts))], texts=list(texts), pairs=pairs)


def test_logits_follow_the_row_id_not_the_position(tmp_path: Path) -> None:
    """KD_Lib pairs logits and batches by position, and mis-pairs them under a shuffled loader."""
    labels = labelled(tmp_path, rows_of("a", "bbb", "cc", "dddd", "eeeee"), LengthTeacher())

    found = labels.for_rows(["row-4", "row-0", "row-2"])

    assert found[:, 0].tolist() == [5.0, 1.0, 2.0]


def test_a_second_run_with_the_same_teacher_asks_nothing_and_does_not_even_open_it(tmp_path: Path) -> None:
    first, second = LengthTeacher(), LengthTeacher()
    labelled(tmp_path, rows_of("a", "bb", "ccc"), first)

    again = labelled(tmp_path, rows_of("ccc", "a", prefix="other"), second, run="two")

    assert sorted(first.asked) == ["a", "bb", "ccc"]
    assert second.asked == []
    assert not hasattr(second, "opened")
    assert again.for_rows(["other-0", "other-1"])[:, 0].tolist() == [3.0, 1.0]


def test_equal_and_empty_texts_are_asked_once_and_all_their_rows_are_labelled(tmp_path: Path) -> None:
    teacher = LengthTeacher()

    labels = labelled(tmp_path, rows_of("same", "", "same", "same", ""), teacher)

    assert sorted(teacher.asked) == ["", "same"]
    assert labels.for_rows([f"row-{number}" for number in range(5)])[:, 0].tolist() == [4.0, 0.0, 4.0, 4.0, 0.0]


def test_pairs_are_told_apart_by_both_texts(tmp_path: Path) -> None:
    teacher = LengthTeacher()

    labels = labelled(tmp_path, rows_of("a", "a", "ab", pairs=["bc", "b", "c"]), teacher)

    assert len(teacher.asked) == 3
    assert labels.for_rows(["row-0", "row-1", "row-2"]).tolist() == [[1.0, 2.0], [1.0, 1.0], [2.0, 1.0]]


def test_another_fingerprint_is_another_teacher(tmp_path: Path) -> None:
    labelled(tmp_path, rows_of("a", "bb"), LengthTeacher())
    changed = LengthTeacher()

    labelled(tmp_path, rows_of("a", "bb"), changed, run="two", fingerprint="fine-tuned longer")

    assert sorted(changed.asked) == ["a", "bb"]


def test_a_stopped_labelling_goes_on_behind_the_last_finished_shard(tmp_path: Path) -> None:
    rows = rows_of(*("x" * length for length in range(1, 11)))
    with pytest.raises(KeyboardInterrupt):
        labelled(tmp_path, rows, LengthTeacher(dies_after=2))
    assert not (tmp_path / "one" / "labels").exists()

    second = LengthTeacher()
    labels = labelled(tmp_path, rows, second)

    assert len(second.asked) == 4  # two shards of three were kept
    assert labels.for_rows(rows.ids)[:, 0].tolist() == [float(length) for length in range(1, 11)]


def test_long_pairs_come_first_by_the_length_of_both_texts(tmp_path: Path) -> None:
    teacher = LengthTeacher()

    labelled(tmp_path, rows_of("aaa", "b", "cc", pairs=["x", "xxxxx", "xxx"]), teacher)

    assert teacher.asked == ["b", "cc", "aaa"]


def test_a_store_that_is_emptied_meanwhile_is_an_error_and_no_mix_up(tmp_path: Path) -> None:
    class Emptied(LengthTeacher):
        def logits(self, *args: Any, **options: Any) -> npt.NDArray[np.float32]:
            shutil.rmtree(tmp_path / "store" / "teacher")
            return super().logits(*args, **options)

    labelled(tmp_path, rows_of("a", "bb"), LengthTeacher())

    with pytest.raises(LabelsDoNotCover) as raised:
        labelled(tmp_path, rows_of("a", "bb", "ccc"), Emptied(), run="two")

    assert raised.value.missing == ("row-0", "row-1")
