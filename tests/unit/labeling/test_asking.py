"""Asking a teacher that reads the next shard while it thinks about the present one."""

import threading
from collections.abc import Generator, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.labeling import label
from limbeck.labeling.source import Answer, Block, Pooling, TeacherSource
from limbeck.progress import Bar, SilentReporter
from limbeck.recipe.labeling import Labeling
from limbeck.training.batches import prefetched

TEXTS = ["x" * length for length in range(1, 11)]


class AheadTeacher:
    """Logits are the lengths of the texts; it is stopped in the middle if a test wants it."""

    def __init__(self, *, dies_after: int | None = None) -> None:
        self.dies_after = dies_after  # shards
        self.asked: list[str] = []
        self.read = 0  # shards

    def logits(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("it is asked in turn")

    def in_turn(
        self,
        blocks: Iterable[Block],
        *,
        pooling: Pooling | None = None,
        tokens_per_batch: int | None = None,
        bar: Bar | None = None,
    ) -> Generator[Answer, None, None]:
        del tokens_per_batch
        assert bar is not None
        with closing(prefetched(self._reading(blocks))) as readings:
            for number, texts in enumerate(readings):
                if number == self.dies_after:
                    raise KeyboardInterrupt
                self.asked += texts
                logits = np.array([[len(text), 0] for text in texts], dtype=np.float32)
                bar.advance(len(texts))
                yield logits, -logits.astype(np.float16) if pooling else None

    def _reading(self, blocks: Iterable[Block]) -> Generator[list[str], None, None]:
        for texts, _ in blocks:
            self.read += 1
            yield list(texts)


def labelled(tmp_path: Path, teacher: Any, *, features: Literal["none", "mean"] = "none") -> TeacherLabels:
    return label(
        Labeling(rows_per_shard=3, features=features),
        rows={"train": Rows.of(ids=TEXTS, texts=TEXTS)},
        classes=2,
        multi_label=False,
        sources=[TeacherSource(name="ahead", fingerprint="ahead", open=lambda: teacher)],
        combine="mean_logits",
        uncovered="stop",
        fingerprint="ahead",
        store=tmp_path / "store",
        out=tmp_path / "labels",
        key=Key(section={}, inputs={}),
        reporter=SilentReporter(),
    )


def test_answers_belong_to_the_rows_they_were_given_for(tmp_path: Path) -> None:
    labels = labelled(tmp_path, AheadTeacher())

    assert labels.for_rows(TEXTS)[:, 0].tolist() == [len(text) for text in TEXTS]


def test_features_come_with_the_logits(tmp_path: Path) -> None:
    labels = labelled(tmp_path, AheadTeacher(), features="mean")

    assert labels.features_for(TEXTS)[:, 0].tolist() == [-len(text) for text in TEXTS]


@pytest.mark.parametrize("shards", [0, 1, 2, 3])
def test_a_shard_is_kept_before_the_next_one_is_thought_about(tmp_path: Path, shards: int) -> None:
    first, second = AheadTeacher(dies_after=shards), AheadTeacher()
    with pytest.raises(KeyboardInterrupt):
        labelled(tmp_path, first)

    labels = labelled(tmp_path, second)

    assert len(first.asked) == 3 * shards
    assert sorted(first.asked + second.asked) == TEXTS
    assert labels.for_rows(TEXTS)[:, 0].tolist() == [len(text) for text in TEXTS]


def test_a_store_that_cannot_be_written_ends_the_reading(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("no folder")
    teacher = AheadTeacher()

    with pytest.raises(OSError, match="store"):
        labelled(tmp_path, teacher)

    assert teacher.read <= 2
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("prefetch")]


def test_features_are_not_asked_of_a_teacher_that_has_none(tmp_path: Path) -> None:
    class Plain:
        def logits(self, *_: Any, **__: Any) -> Any:
            raise AssertionError("features are wanted")

    with pytest.raises(TypeError, match="Plain has no features to give"):
        labelled(tmp_path, Plain(), features="mean")
