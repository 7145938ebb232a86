"""`--minutes`: the largest plan that fits into a time."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.transfer_text import TransferText, save_transfer_text
from limbeck.pipeline.budget import (
    PLANNED_KEYS,
    Amounts,
    NothingToPlan,
    Rates,
    amounts_of,
    in_words,
    measured_rates,
    overrides_of,
    plan,
    rows_like_those_read,
)
from limbeck.recipe.recipe import Recipe

RATES = Rates(fine_tuning=80.0, labelling=400.0, student=2_000.0, fitting=1_000.0)
ASKED = Amounts(
    train=10_000,
    labelled=10_000,
    dev=1_000,
    test=2_000,
    transfer=0,
    teacher_epochs=3,
    teacher_rows=10_000,
    copies=4,
    student_epochs=8,
    students=1,
    baselines=1,
)


def test_the_seconds_of_a_plan_by_hand() -> None:
    small = replace(
        ASKED, train=100, labelled=100, dev=20, test=80, teacher_rows=100, teacher_epochs=2, copies=1, student_epochs=5
    )

    # 15 + 12·2; 2·100 + ½·200 rows at 1,000/s; 200 at 80/s; 100 + 200 + 20·3 + 80 at 400/s; 5 · (200 + 100) at 2,000/s
    assert small.seconds(RATES) == pytest.approx(39 + 0.3 + 2.5 + 1.1 + 0.75)
    assert replace(small, most_fitted=40).seconds(RATES) == pytest.approx(39 + 0.18 + 2.5 + 1.1 + 0.75)


def test_many_short_rows_are_not_cut_where_they_are_quickly_fitted() -> None:
    """50,000 queries of three words: half of them were left out of two thirds of the time that there was."""
    queries = replace(ASKED, train=44_000, labelled=44_000, dev=6_000, test=0, teacher_rows=44_000, students=1.3)
    rates = Rates(fine_tuning=160.0, labelling=660.0, student=4_000.0, fitting=8_000.0)

    chosen = plan(queries, rates, seconds=180)

    assert chosen.train == 44_000
    assert plan(queries, replace(rates, fitting=800.0), seconds=180).train < 44_000


@pytest.mark.parametrize("minutes", [2, 5, 10, 20, 60])
def test_a_plan_fits_and_uses_most_of_the_time(minutes: float) -> None:
    chosen = plan(ASKED, RATES, seconds=60 * minutes)

    assert chosen.seconds(RATES) <= 60 * minutes
    if chosen.teacher_epochs < 10:  # more than that is never planned
        assert chosen.seconds(RATES) >= 0.6 * 60 * minutes


def test_the_teacher_loses_rows_before_the_corpus_does() -> None:
    """Documents on a slow machine: the teacher reads one row a second, and n-grams learn from all labels meanwhile."""
    documents = replace(ASKED, train=1_080, labelled=1_080, dev=120, test=0, copies=0, teacher_rows=532)
    documents = replace(documents, teacher_epochs=1, student_epochs=5, baseline_epochs=20)
    rates = Rates(fine_tuning=1.5, labelling=8.0, student=80.0, fitting=60.0)

    in_time, too_long = plan(documents, rates, seconds=600), plan(documents, rates, seconds=180)

    assert (in_time.train, too_long.train) == (1_080, 1_080)
    assert in_time.teacher_rows < 532
    assert too_long.teacher_rows == 200
    assert plan(documents, replace(rates, fitting=2.0), seconds=180).train < 1_080  # there it saves much


@pytest.mark.parametrize(("own", "planned"), [(5, 1), (40, 4), (1, 1), (0, 0)])
def test_the_student_alone_has_few_epochs_in_the_smallest_plan_too(own: int, planned: int) -> None:
    """Rounded to none, five epochs of documents were not cut at all, and took longer than everything that was."""
    smallest = replace(ASKED, baseline_epochs=own).scaled(1 / 128)

    assert smallest.baseline_epochs == planned


def test_more_minutes_never_mean_less_of_anything() -> None:
    plans = [plan(ASKED, RATES, seconds=60 * minutes) for minutes in (1, 2, 4, 8, 16, 32)]

    for less, more in pairwise(plans):
        assert less.teacher_rows * less.teacher_epochs <= more.teacher_rows * more.teacher_epochs
        assert less.copies <= more.copies
        assert less.student_epochs <= more.student_epochs


def test_rows_that_there_is_no_time_to_answer_keep_their_labels() -> None:
    """The teacher takes longer to answer all documents than there is time; n-grams still learn from all labels."""
    documents = replace(ASKED, train=25_000, labelled=25_000, dev=500, test=0, copies=0)
    documents = replace(documents, teacher_rows=1_200, teacher_epochs=1)

    chosen = plan(documents, Rates(fine_tuning=13.0, labelling=37.0, student=300.0, fitting=1_250.0), seconds=600)

    assert chosen.train == 25_000
    assert 2_000 < chosen.labelled < 25_000
    assert chosen.teacher_rows >= 600  # with a handful it would teach nothing


def test_a_teacher_that_takes_little_of_the_time_is_not_cut() -> None:
    """Three epochs of 18 seconds are not what makes a run of ten minutes too long."""
    asked = replace(ASKED, train=2_250, labelled=2_250, dev=250, teacher_rows=2_250, copies=16, students=4, baselines=2)

    chosen = plan(asked, Rates(fine_tuning=125.0, labelling=429.0, student=892.0, fitting=1_250.0), seconds=600)

    assert chosen.teacher_epochs == 3
    assert chosen.teacher_rows == 2_250
    assert chosen.copies < 16


def test_fine_tunings_beside_the_first_are_cut_before_epochs() -> None:
    asked = replace(ASKED, fine_tunings=3)

    plans = [plan(asked, RATES, seconds=share * asked.seconds(RATES), may_grow=False) for share in (1, 0.9, 0.5, 0.2)]

    assert [(one.fine_tunings, one.teacher_epochs) for one in plans[:3]] == [(3, 3), (2, 3), (1, 3)]
    assert plans[3].fine_tunings == 1
    assert plans[3].teacher_epochs < 3
    assert all(
        one.seconds(RATES) <= share * asked.seconds(RATES) for one, share in zip(plans, (1, 0.9, 0.5, 0.2), strict=True)
    )


def test_fine_tunings_of_few_rows_are_not_what_makes_a_run_too_long() -> None:
    asked = replace(
        ASKED, train=300, labelled=300, dev=30, teacher_rows=300, copies=20, transfer=60_000, fine_tunings=3
    )

    chosen = plan(asked, Rates(fine_tuning=260.0, labelling=1_100.0, student=6_000.0, fitting=1_250.0), seconds=100)

    assert (chosen.fine_tunings, chosen.teacher_epochs) == (3, 3)
    assert chosen.transfer < 60_000


def test_copies_are_cut_before_rows() -> None:
    some = plan(ASKED, RATES, seconds=0.6 * ASKED.seconds(RATES))
    none = plan(ASKED, RATES, seconds=0.15 * ASKED.seconds(RATES))

    assert (some.labelled, some.train) == (10_000, 10_000)
    assert 0 < some.copies < ASKED.copies
    assert none.copies == 0
    assert none.labelled < none.train == 10_000


def test_in_very_little_time_the_corpus_is_cut() -> None:
    chosen = plan(replace(ASKED, train=50_000, labelled=50_000, teacher_rows=50_000), RATES, seconds=150)

    assert chosen.train < 50_000
    assert chosen.teacher_rows <= chosen.train


def test_if_nothing_fits_the_smallest_plan_is_taken_with_the_rows_that_hardly_make_it_longer() -> None:
    chosen = plan(ASKED, RATES, seconds=1)

    smallest = replace(chosen, train=200, labelled=200)  # fewer would teach nothing
    assert chosen.train == 2_500
    assert chosen.seconds(RATES) <= 1.3 * smallest.seconds(RATES) < replace(chosen, train=5_000).seconds(RATES)
    assert (chosen.teacher_rows, chosen.copies) == (200, 0)


def test_what_fits_is_not_cut() -> None:
    seconds = ASKED.seconds(RATES)

    assert plan(ASKED, RATES, seconds=seconds) == ASKED
    assert plan(ASKED, RATES, seconds=1.1 * seconds) == ASKED


def test_the_teacher_loses_epochs_before_it_loses_rows() -> None:
    less = plan(ASKED, RATES, seconds=0.7 * ASKED.seconds(RATES))

    assert less.teacher_epochs < 3
    assert less.teacher_rows == 10_000


@pytest.mark.parametrize("asked", [ASKED, replace(ASKED, teacher_epochs=20, student_epochs=10, transfer=5_000)])
@pytest.mark.parametrize("share", [10.0, 0.95, 0.9, 0.5, 0.1])
def test_a_recipe_s_own_time_only_cuts(asked: Amounts, share: float) -> None:
    """Twenty epochs of the teacher are more than is ever planned: a larger scale could be cheaper, and is not taken."""
    seconds = share * asked.seconds(RATES)

    chosen = plan(asked, RATES, seconds=seconds, may_grow=False)

    assert chosen.seconds(RATES) <= seconds
    assert (chosen == asked) == (share > 1)
    for name in ("train", "transfer", "teacher_epochs", "teacher_rows", "copies", "student_epochs"):
        assert getattr(chosen, name) <= getattr(asked, name), name
    assert plan(ASKED, RATES, seconds=10 * ASKED.seconds(RATES)) != ASKED  # --minutes may also plan more


def recipe(**sections: Any) -> Recipe:
    return Recipe.model_validate({"corpus": {"train": "a.csv"}, **sections})


@pytest.mark.parametrize(
    ("sections", "why"),
    [
        ({"student": {"kind": "ngrams"}}, 'kind = "ngrams"'),
        ({"student": {"kind": "transformer"}}, 'kind = "transformer"'),
        ({"teacher": {"seeds": [0, 1]}}, "not one that is trained here"),
        ({"teacher": {"train": "none"}}, "not one that is trained here"),
    ],
)
def test_what_cannot_be_planned_is_named(sections: dict[str, Any], why: str, toy_corpus: Corpus) -> None:
    def plan_it() -> None:
        amounts_of(recipe(**sections), toy_corpus, transfer=0)
        measured_rates(recipe(**sections), toy_corpus, {})

    with pytest.raises(NothingToPlan) as error:
        plan_it()

    assert why in str(error.value)


def test_rates_are_timed_on_rows_and_text_as_they_will_be_read(toy_corpus: Corpus, tmp_path: Path) -> None:
    """A row and its four copies are five texts like it, beside as many sentences of transfer text."""
    count = 5 * len(toy_corpus.splits["train"])
    sentences = [f"sentence number {number}" for number in range(count)]
    with written_atomically(tmp_path / "transfer", kind="transfer", key=Key(section={}, inputs={})) as scratch:
        rows = Rows.of(ids=[f"t{number}" for number in range(count)], texts=sentences)
        save_transfer_text(scratch, rows=rows, quality={})
    asked = recipe(augmentation={"copies": 4, "methods": [{"kind": "masking"}]})

    alone = rows_like_those_read(asked, toy_corpus, {})
    read = rows_like_those_read(asked, toy_corpus, {"transfer": TransferText(tmp_path / "transfer")})

    assert set(alone.texts) <= set(toy_corpus.splits["train"].texts)
    from_text = sum(text in sentences for text in read.texts)
    from_rows = len(read) - from_text
    assert from_text == 96
    assert from_rows == min(96, len(toy_corpus.splits["train"]))


@pytest.mark.parametrize(
    ("section", "gathered", "chosen", "expected"),
    [
        ({"rows": 20_000}, 20_000, 5_000, {"transfer.rows=5000"}),
        ({}, 20_000, 5_000, {"transfer.rows=5000"}),  # nothing is chosen: a pool would be kept whole
        ({"least_confidence": 0.6}, 20_000, 5_000, {"transfer.pool=5000"}),
        # The teacher chooses 10,000 of 40,000: there are never more rows than the recipe has.
        ({"rows": 10_000, "choice": "balanced"}, 40_000, 30_000, {"transfer.rows=10000", "transfer.pool=30000"}),
        ({"rows": 10_000, "choice": "balanced"}, 40_000, 4_000, {"transfer.rows=4000", "transfer.pool=4000"}),
    ],
)
def test_text_is_never_planned_larger(
    section: dict[str, Any], gathered: int, chosen: int, expected: set[str], toy_corpus: Corpus
) -> None:
    asked = recipe(transfer={"files": ["a.txt"], **section})

    keys = overrides_of(replace(ASKED, transfer=chosen), asked, toy_corpus, transfer=gathered)

    assert {key for key in keys if key.startswith("transfer.")} == expected
    assert {key.partition("=")[0] for key in keys} <= PLANNED_KEYS


def test_a_plan_says_what_the_recipe_had_where_it_cut() -> None:
    words = in_words(replace(ASKED, copies=2, teacher_epochs=1), RATES, asked=ASKED, minutes=10)

    assert "1 epochs (recipe: 3) of 10,000 rows at" in words
    assert "2 copies of each row (recipe: 4), labelled" in words
    assert "students: 8 epochs at" in words
    assert "other texts" not in words


def test_less_than_one_copy_of_each_row_is_some_copies(toy_corpus: Corpus) -> None:
    rows = len(toy_corpus.splits["train"])
    asked = recipe(augmentation={"copies": 4, "methods": [{"kind": "masking"}]})
    few = replace(ASKED, train=rows, labelled=rows // 2, copies=0)

    keys = overrides_of(few, asked, toy_corpus, transfer=0)

    assert {"augmentation.copies=1", "augmentation.rows=100", f"labeling.train_rows={rows // 2}"} <= set(keys)
    assert {key.partition("=")[0] for key in keys} <= PLANNED_KEYS
    words = in_words(few, RATES, asked=replace(ASKED, train=rows), minutes=3)
    assert f"{rows // 2:,} training rows (recipe: 10,000) and 100 copies (recipe: 4 of each row), labelled at" in words
