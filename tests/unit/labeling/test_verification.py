"""Labels are compared with what the teacher says now."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.labeling.source import TeacherSource
from limbeck.labeling.verification import Verification, verify

OracleOf = Callable[..., TeacherSource]


@pytest.fixture
def verified(labels: TeacherLabels, splits: dict[str, Rows], tmp_path: Path) -> Callable[..., Verification]:
    """verified(source): the labels, asked again."""

    def check(source: TeacherSource, *, sample: int = 10, precision: str = "fp32") -> Verification:
        return verify(
            labels,
            splits=splits,
            classes=2,
            multi_label=False,
            sources=[source],
            combine="mean_logits",
            precision=precision,
            store=tmp_path / "store",
            sample=sample,
        )

    return check


def test_a_teacher_of_the_same_mind_is_found_so(verified: Callable[..., Verification], oracle: OracleOf) -> None:
    found = verified(oracle())

    assert found.is_sound
    assert (found.rows, found.largest_difference, found.agreement) == (5, 0.0, 1.0)
    assert (found.shards, found.damaged) == (2, [])


def test_another_answer_is_noticed(verified: Callable[..., Verification], oracle: OracleOf) -> None:
    found = verified(oracle(plus=0.5))

    assert not found.is_sound
    assert found.largest_difference == pytest.approx(0.5)
    assert found.mean_difference == pytest.approx(0.25)
    assert found.agreement == 1.0


def test_other_labels_are_counted(verified: Callable[..., Verification], oracle: OracleOf) -> None:
    found = verified(oracle(plus=5.0))

    assert found.agreement == pytest.approx(3 / 5)  # two rows were positive


def test_half_precision_is_allowed_more(verified: Callable[..., Verification], oracle: OracleOf) -> None:
    assert verified(oracle(plus=0.2), precision="bf16").is_sound
    assert not verified(oracle(plus=0.2), precision="fp32").is_sound


def test_a_teacher_that_has_fallen_silent_is_noticed(verified: Callable[..., Verification], oracle: OracleOf) -> None:
    found = verified(oracle(plus=np.nan))

    assert not found.is_sound
    assert found.silent == 5
    assert found.agreement == 0.0


def test_a_damaged_shard_is_named_and_left_where_it_is(
    verified: Callable[..., Verification], oracle: OracleOf, tmp_path: Path
) -> None:
    shard = sorted((tmp_path / "store" / "oracle").iterdir())[1]
    shard.write_bytes(shard.read_bytes()[:-1])

    found = verified(oracle())

    assert not found.is_sound
    assert found.damaged == [str(shard)]
    assert shard.is_file()


def test_a_sample_is_the_same_each_time_and_no_larger_than_asked(
    verified: Callable[..., Verification], oracle: OracleOf
) -> None:
    asked: list[list[str]] = []
    teacher: Any = oracle().open()
    answer = teacher.logits

    def listening(texts: list[str], pairs: None, **_: Any) -> Any:
        asked.append(texts)
        return answer(texts, pairs)

    teacher.logits = listening
    for _ in range(2):
        verified(TeacherSource(name="oracle", fingerprint="oracle", open=lambda: teacher), sample=2)

    assert asked[0] == asked[1]
    assert 1 <= len(asked[0]) <= 2  # one of the rows has no label to compare with
