"""Scores in standard units and back."""

import numpy as np
import pytest

from limbeck.artifacts.score_scale import ScoreScale, is_scale


def test_scores_come_back_as_they_were_and_answers_out_of_range_become_its_ends() -> None:
    scale = ScoreScale.of([1.0, 3.0, 5.0])

    assert scale.scores(scale.standard(np.array([1.0, 2.5, 5.0]))) == pytest.approx([1.0, 2.5, 5.0])
    assert scale.scores(np.array([-9.0, 9.0])).tolist() == [1.0, 5.0]
    assert scale.scores(np.array([9.0]), clip=False)[0] > 5.0


def test_the_range_may_be_wider_than_what_was_seen() -> None:
    scale = ScoreScale.of([1.0, 3.0], limits=(0.0, 10.0))

    assert (scale.low, scale.high) == (0.0, 10.0)
    assert scale.mean == 2.0


def test_what_is_no_scale_is_recognised() -> None:
    good = ScoreScale.of([1.0, 2.0]).as_json()

    assert is_scale(good)
    bad = [{**good, "sd": 0.0}, {**good, "mean": float("nan")}, {**good, "low": 9.0}, {**good, "clip": 1}, [], {}]
    assert [one for one in bad if is_scale(one)] == []
