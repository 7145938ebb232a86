"""A cascade of scores: the teacher decides near the threshold, and a width says how near."""

import numpy as np
import pytest

from limbeck.judging.score_cascade import paired_at, score_cascade


def test_a_row_is_right_on_its_side_of_the_threshold() -> None:
    true, student, teacher = np.array([1.0, 4.0, 3.0]), np.array([2.0, 2.5, 3.0]), np.array([1.0, 3.5, 2.0])

    found = paired_at(true, student, teacher, threshold=3.0, span=5.0)

    assert found is not None
    assert found.confidence.tolist() == pytest.approx([0.2, 0.1, 0.0])
    assert found.student_right.tolist() == [True, False, True]
    assert found.teacher_right.tolist() == [True, True, False]
    assert paired_at(true[:0], student[:0], teacher[:0], threshold=3.0, span=5.0) is None


def test_the_teacher_is_asked_near_the_threshold_alone() -> None:
    """The student errs by up to 0.5, the teacher never: only rows within 0.5 can change."""
    dice = np.random.default_rng(0)
    true = dice.uniform(0, 5, 4000)
    student = np.clip(true + dice.uniform(-0.5, 0.5, 4000), 0, 5)
    paired = paired_at(true, student, true, threshold=3.0, span=5.0)
    assert paired is not None

    found = score_cascade(paired, threshold=3.0, span=5.0, student_ms=1.0, teacher_ms=10.0)

    assert found["score_threshold"] == 3.0
    assert 0.4 < found["cheapest"]["width"] <= 0.5
    assert found["cheapest"]["asked_share"] == pytest.approx(2 * found["cheapest"]["width"] / 5, abs=0.03)
    assert found["cheapest"]["accuracy"] == found["teacher_accuracy"] == 1.0
    assert found["cheapest"]["ms"] == pytest.approx(1 + 10 * found["cheapest"]["asked_share"])
    assert found["points"][0]["width"] == 0.0
    assert all("threshold" not in point for point in found["points"])


def test_a_width_that_is_chosen_on_dev_is_judged_on_other_rows() -> None:
    dev = paired_at(np.array([1.0, 4.0]), np.array([1.0, 2.9]), np.array([1.0, 4.0]), threshold=3.0, span=5.0)
    rows = paired_at(np.array([1.0, 4.0]), np.array([3.5, 4.0]), np.array([1.0, 4.0]), threshold=3.0, span=5.0)
    assert rows is not None

    found = score_cascade(rows, dev=dev, threshold=3.0, span=5.0)

    assert 0.1 < found["cheapest"]["width"] < 2
    assert found["cheapest_in_hindsight"]["accuracy"] == 1.0
