"""Scores of rows, and the rows that are given no label."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from limbeck.artifacts.model_folder import Abstention, ModelFolder
from limbeck.runtime import abstaining
from limbeck.runtime.abstaining import SCORES, Scored, decided, joined_scores, scores_of, threshold_above
from limbeck.runtime.classifier import Classifier

LOGITS = np.log(np.array([[1, 3, 4], [2, 1, 1]], dtype=np.float32))  # softmax: (1, 3, 4) / 8 and (2, 1, 1) / 4


def test_scores_by_hand() -> None:
    np.testing.assert_allclose(scores_of(LOGITS, score="probability", temperature=1.0), [4 / 8, 2 / 4], rtol=1e-6)
    np.testing.assert_allclose(scores_of(LOGITS, score="margin", temperature=1.0), [1 / 8, 1 / 4], rtol=1e-6)
    np.testing.assert_allclose(scores_of(LOGITS, score="energy", temperature=1.0), [math.log(8), math.log(4)])
    halved = scores_of(2 * LOGITS, score="probability", temperature=2.0)
    np.testing.assert_allclose(halved, [4 / 8, 2 / 4], rtol=1e-6)


def test_a_single_class_is_sure_and_no_rows_have_no_scores() -> None:
    for score in SCORES:
        assert scores_of(np.zeros((0, 3)), score=score, temperature=1.0).shape == (0,)
    assert scores_of(np.ones((2, 1)), score="margin", temperature=1.0).tolist() == [1.0, 1.0]


def test_the_extension_decides_as_numpy_does(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("limbeck.runtime._native")
    dice, wrong = np.random.default_rng(0), []
    for classes in (1, 2, 65):
        logits = (4 * dice.normal(size=(500, classes))).astype(np.float32)
        for score in SCORES:
            scores = np.sort(scores_of(logits, score=score, temperature=1.7))
            for place in (0, 150, 500):
                rule = Abstention(score, threshold_above(scores, place))
                native = decided(logits, rule, temperature=1.7)
                with monkeypatch.context() as patched:
                    patched.setattr(abstaining, "_native_decisions", lambda: None)
                    plain = decided(logits, rule, temperature=1.7)
                withheld = sum(one < 0 for one in plain)
                if native != plain or (classes > 1 and withheld != place):
                    wrong.append((classes, score, place, withheld))

    assert wrong == []


def test_the_extension_refuses_what_is_no_table_of_logits() -> None:
    native = pytest.importorskip("limbeck.runtime._native").decisions

    for arguments in (
        (np.zeros((2, 0), np.float32), 0),
        (np.zeros(2, np.float32), 0),
        (np.zeros((1, 2), np.float32), 3),
    ):
        with pytest.raises(ValueError, match=r"classes|shape|score"):
            native(*arguments, 1.0, 0.5)
    with pytest.raises(TypeError):
        native(np.zeros((1, 2), np.float32), 0, 1.0)


def test_a_threshold_lies_between_two_scores() -> None:
    scores = np.array([0.2, 0.4, 0.9])

    assert [int((scores < threshold_above(scores, place)).sum()) for place in range(4)] == [0, 1, 2, 3]
    assert threshold_above(scores, 2) == pytest.approx(0.65)


def test_a_row_below_the_threshold_gets_the_answer_instead_of_a_label() -> None:
    found = Scored(np.array([0.9, 0.3]), np.array([False, True]), "none of these")

    assert found.labels(["a", "b"]) == ["a", "none of these"]
    assert found.but_for(np.array([False, True])).labels(["a", "b"]) == ["a", "b"]
    both = joined_scores([found, Scored(np.array([0.1]), np.array([True]), "none of these")])
    assert both is not None
    assert both.withheld.tolist() == [False, True, True]
    assert joined_scores([None]) is None


def test_a_model_that_abstains_gives_none_and_can_be_told_not_to(model_folder: Path) -> None:
    texts = ["gorgeous film", "dreadful", "the zebra"]
    model = ModelFolder(model_folder)
    always = Classifier(model)
    scores = scores_of(always.logits(texts), score="probability", temperature=always.facts.temperature)
    wary = Classifier(model)
    wary.facts = replace(always.facts, abstain=Abstention("probability", threshold_above(np.sort(scores), 1), None))

    found, sure = wary.predict(texts), wary.scored(texts)

    assert sure is not None
    assert always.scored(texts) is None
    assert [label is None for label in found] == sure.withheld.tolist() == (scores == scores.min()).tolist()
    assert [label for label in found if label is not None] == [
        label for label, is_withheld in zip(always.predict(texts), sure.withheld, strict=True) if not is_withheld
    ]
    assert wary.predict([]) == []
