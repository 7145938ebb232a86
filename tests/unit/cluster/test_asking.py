"""Folders that travel, and texts on which a teacher fails."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limbeck.cluster.asking import MOST_FAILED, CarriedFolder, block_answer
from limbeck.errors import TeacherError


class Fussy:
    """Fails on every call that has a text with "bad" in it."""

    def logits(self, texts: Sequence[str], pairs: Sequence[str] | None, **options: Any) -> Any:
        del pairs, options
        if any("bad" in text for text in texts):
            raise RuntimeError("out of memory")
        return np.array([[len(text)] for text in texts], dtype=np.float32)


def answered(texts: list[str]) -> Any:
    return block_answer(7, (texts, None), Fussy(), pooling=None, tokens_per_batch=None)


def test_texts_that_fail_are_found_and_all_others_are_answered() -> None:
    found = answered(["a", "bbb", "bad", "cc", "very bad", "dddd"])

    assert found.number == 7
    assert found.answer[0][:, 0].tolist()[:2] == [1.0, 3.0]
    assert np.isnan(found.answer[0][:, 0]).tolist() == [False, False, True, False, True, False]
    assert (found.failed, found.reason) == (2, "RuntimeError: out of memory")


def test_a_teacher_that_fails_on_everything_is_an_error() -> None:
    with pytest.raises(TeacherError, match="all texts of a block"):
        answered(["bad"] * 3)
    with pytest.raises(TeacherError, match=f"more than {MOST_FAILED} texts"):
        answered(["bad"] * 100 + ["good"])


def test_a_folder_is_used_where_it_is_seen_and_copied_where_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    (tmp_path / "teacher" / "inner").mkdir(parents=True)
    (tmp_path / "teacher" / "inner" / "weights").write_bytes(b"123")
    carried = CarriedFolder.of(tmp_path / "teacher")

    assert carried.here() == tmp_path / "teacher"
    (tmp_path / "teacher").rename(tmp_path / "elsewhere")
    copy = carried.here()
    assert (copy / "inner" / "weights").read_bytes() == b"123"
    assert carried.here() == copy
    assert list((tmp_path / "temporary").iterdir()) == [copy]
