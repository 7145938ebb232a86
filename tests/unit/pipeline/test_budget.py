"""`--minutes`: the largest plan that fits into a time."""

from dataclasses import replace
from itertools import pairwise

import pytest

from limbeck.pipeline.budget import Amounts, Rates, plan

RATES = Rates(fine_tuning=80.0, labelling=400.0, student=2_000.0)
ASKED = Amounts(
    train=10_000,
    others=3_000,
    transfer=0,
    teacher_epochs=3,
    teacher_rows=10_000,
    copies=4,
    student_epochs=8,
    students=1,
    baselines=1,
)


def test_the_seconds_of_a_plan_by_hand() -> None:
    small = replace(ASKED, train=100, others=20, teacher_rows=100, teacher_epochs=2, copies=1, student_epochs=5)

    # 15 + 12·2 + 0.002·120; 200 rows at 80/s; (100 + 200 + 20·3) at 400/s; 5 · (200 + 100) at 2,000/s
    assert small.seconds(RATES) == pytest.approx(39.24 + 2.5 + 0.9 + 0.75)


@pytest.mark.parametrize("minutes", [2, 5, 10, 20, 60])
def test_a_plan_fits_and_uses_most_of_the_time(minutes: float) -> None:
    chosen = plan(ASKED, RATES, seconds=60 * minutes)

    assert chosen.seconds(RATES) <= 60 * minutes
    if chosen.teacher_epochs < 10:  # more than that is never planned
        assert chosen.seconds(RATES) >= 0.6 * 60 * minutes


def test_more_minutes_never_mean_less_of_anything() -> None:
    plans = [plan(ASKED, RATES, seconds=60 * minutes) for minutes in (1, 2, 4, 8, 16, 32)]

    for less, more in pairwise(plans):
        assert less.teacher_rows * less.teacher_epochs <= more.teacher_rows * more.teacher_epochs
        assert less.copies <= more.copies
        assert less.student_epochs <= more.student_epochs


def test_in_very_little_time_the_corpus_is_cut() -> None:
    chosen = plan(replace(ASKED, train=50_000, teacher_rows=50_000), RATES, seconds=150)

    assert chosen.train < 50_000
    assert chosen.teacher_rows <= chosen.train


def test_if_nothing_fits_the_smallest_plan_is_taken() -> None:
    chosen = plan(ASKED, RATES, seconds=1)

    assert chosen.train == 200  # fewer would teach nothing
    assert chosen.copies == 0


def test_what_fits_is_not_cut() -> None:
    seconds = ASKED.seconds(RATES)

    assert plan(ASKED, RATES, seconds=seconds) == ASKED
    assert plan(ASKED, RATES, seconds=1.1 * seconds) == ASKED


def test_the_teacher_loses_epochs_before_it_loses_rows() -> None:
    less = plan(ASKED, RATES, seconds=0.7 * ASKED.seconds(RATES))

    assert less.teacher_epochs < 3
    assert less.teacher_rows == 10_000
