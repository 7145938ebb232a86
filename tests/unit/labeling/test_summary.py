"""Entropy and class balance, by hand."""

import math
from pathlib import Path

import numpy as np
import pytest

from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_labels import TeacherLabels, save_teacher_labels
from limbeck.labeling import summary as module
from limbeck.labeling.summary import chosen, entropies, probabilities, summarise

SURE_THREE_TO_ONE = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
SURE_NINE_TO_ONE = -(0.9 * math.log(0.9) + 0.1 * math.log(0.1))


def test_entropy_of_one_label_by_hand() -> None:
    logits = np.array([[0.0, math.log(3)], [2.0, 2.0]], dtype=np.float32)

    assert entropies(logits, multi_label=False).tolist() == pytest.approx([SURE_THREE_TO_ONE, math.log(2)], rel=1e-6)


def test_entropy_of_several_labels_is_the_mean_over_the_classes() -> None:
    logits = np.array([[math.log(3), -math.log(9)]], dtype=np.float32)

    expected = (SURE_THREE_TO_ONE + SURE_NINE_TO_ONE) / 2

    assert entropies(logits, multi_label=True).tolist() == pytest.approx([expected], rel=1e-6)


@pytest.mark.parametrize("multi_label", [False, True])
def test_a_sure_teacher_has_no_entropy(multi_label: bool) -> None:
    logits = np.array([[400.0, -400.0]], dtype=np.float32)

    assert entropies(logits, multi_label=multi_label).tolist() == pytest.approx([0.0], abs=1e-12)


def test_probabilities_are_softmax_or_sigmoid() -> None:
    logits = np.array([[0.0, math.log(3)]], dtype=np.float32)

    assert probabilities(logits, multi_label=False)[0].tolist() == pytest.approx([0.25, 0.75], rel=1e-6)
    assert probabilities(logits, multi_label=True)[0].tolist() == pytest.approx([0.5, 0.75], rel=1e-6)


def test_a_row_has_one_class_or_those_above_one_half() -> None:
    logits = np.array([[1.0, 3.0, 2.0], [-1.0, -2.0, -3.0]], dtype=np.float32)

    assert chosen(logits, multi_label=False).tolist() == [[False, True, False], [True, False, False]]
    assert chosen(logits, multi_label=True).tolist() == [[True, True, True], [False, False, False]]


@pytest.mark.parametrize("rows_at_a_time", [1, 3, 1000])
def test_each_split_is_summed_up(
    labels: TeacherLabels, splits: dict[str, Rows], monkeypatch: pytest.MonkeyPatch, rows_at_a_time: int
) -> None:
    monkeypatch.setattr(module, "ROWS_AT_A_TIME", rows_at_a_time)

    found = summarise(labels, splits=splits, classes=["negative", "positive"], multi_label=False)

    train = found["train"]
    assert (train.rows, train.labelled, train.distinct_texts) == (4, 4, 3)
    assert train.entropy is not None
    assert train.entropy == pytest.approx((2 * SURE_THREE_TO_ONE + SURE_NINE_TO_ONE + math.log(2)) / 4, rel=1e-6)
    assert train.entropy_share == pytest.approx(train.entropy / math.log(2))
    assert train.teacher_balance == {"negative": 0.5, "positive": 0.5}
    assert train.corpus_balance == {"negative": 0.5, "positive": 0.5}
    transfer = found["transfer"]
    assert (transfer.rows, transfer.labelled) == (2, 1)
    assert transfer.entropy_share == pytest.approx(1.0)
    assert transfer.teacher_balance == {"negative": 1.0, "positive": 0.0}
    assert transfer.corpus_balance is None


def test_rows_of_several_labels_are_counted_class_by_class(tmp_path: Path) -> None:
    rows = Rows.of(ids=["a", "b"], texts=["x", "y"], labels=np.array([[1, 1], [0, 1]]))
    logits = np.array([[2.0, -2.0], [2.0, 2.0]], dtype=np.float32)
    save_teacher_labels(tmp_path, ids=rows.ids, logits=logits, facts={"splits": {"train": {"distinct_texts": 2}}})

    found = summarise(TeacherLabels(tmp_path), splits={"train": rows}, classes=["p", "q"], multi_label=True)["train"]

    assert found.teacher_balance == {"p": 1.0, "q": 0.5}
    assert found.corpus_balance == {"p": 0.5, "q": 1.0}
    assert found.entropy is not None
    assert found.entropy_share == pytest.approx(found.entropy / math.log(2))
