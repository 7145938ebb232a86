"""What a threshold costs and gains."""

from dataclasses import replace

import numpy as np
import pytest

from limbeck.artifacts.model_folder import Abstention, ModelFacts
from limbeck.judging.threshold_worth import ScoreTally, foreign_worth, parted, threshold_worth

FACTS = ModelFacts("m", "bilstm", "fp32", ["a", "b"], "en", False, 8, 1, 1, abstain=Abstention("probability", 0.8))
RULE = Abstention("probability", 0.5)


def test_coverage_and_error_with_intervals() -> None:
    scores, right = np.array([0.9, 0.8, 0.6, 0.4]), np.array([True, True, False, False])

    found = threshold_worth(RULE, scores, right)

    assert (found["answered"], found["coverage"], found["error"]) == (3, 0.75, pytest.approx(1 / 3))
    assert found["error_of_withheld"] == 1.0
    assert found["coverage_ci95"][0] < 0.75 < found["coverage_ci95"][1]
    assert found["error_ci95"] == pytest.approx([0.00840, 0.90570], abs=1e-4)  # Clopper and Pearson for 1 of 3


def test_nothing_may_be_answered_or_all() -> None:
    scores, right = np.array([0.9, 0.8]), np.array([True, False])

    none, all_rows = (threshold_worth(replace(RULE, threshold=at), scores, right) for at in (1.0, 0.0))

    assert (none["coverage"], none["error"], none["error_ci95"]) == (0.0, None, None)
    assert (all_rows["coverage"], all_rows["error"], all_rows["error_of_withheld"]) == (1.0, 0.5, None)


def test_foreign_rows_below_the_threshold_are_found() -> None:
    found = foreign_worth(RULE, np.array([0.9, 0.6]), np.array([0.1, 0.2, 0.3, 0.7]))

    assert found["withheld"] == 0.75
    assert "withheld" not in foreign_worth(None, np.array([0.9]), np.array([0.1]))


def test_rows_are_parted_by_their_label() -> None:
    labels = [("a",), ("oos",), ("b",), ("a", "oos")]

    assert parted(labels, out_of_scope="oos") == ([0, 2, 3], [1])
    assert parted(labels, out_of_scope=None) == ([0, 1, 2, 3], [])


def test_scores_are_gathered_chunk_by_chunk() -> None:
    tally = ScoreTally(FACTS)
    tally.add(np.array([[0.0, 4.0], [0.0, 0.1]]))
    tally.add(np.array([[3.0, 0.0]]))
    tally.add_foreign(np.array([[0.0, 0.2]]))

    found = tally.result(np.array([True, False, True]))

    assert found is not None
    assert found["aurc"] == pytest.approx((0 + 0 + 1 / 3) / 3)
    assert (found["threshold"]["answered"], found["threshold"]["error"]) == (2, 0.0)
    assert (found["foreign"]["rows"], found["foreign"]["withheld"]) == (1, 1.0)
    assert ScoreTally(replace(FACTS, multi_label=True)).result(np.array([True])) is None
