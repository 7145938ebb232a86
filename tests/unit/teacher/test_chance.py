"""A teacher that guesses is refused, with its numbers and what to do."""

from dataclasses import replace
from typing import Any

import pytest

from limbeck.artifacts.teacher_folder import TeacherFacts
from limbeck.progress import SilentReporter
from limbeck.teacher.chance import TeacherNearChance, refuse_guessing
from limbeck.training.skill import NEAR_CHANCE

GUESSING = TeacherFacts(name="bert-base", labels=["no", "yes"], dev_accuracy=0.52, dev_skill=0.04, dev_rows=1200)


class Listening(SilentReporter):
    """Keeps the notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str, *, style: str = "") -> None:
        del style
        self.notes.append(text)


def test_a_guessing_teacher_stops_the_run_with_its_numbers_and_the_reasons() -> None:
    with pytest.raises(TeacherNearChance) as raised:
        refuse_guessing(GUESSING, near_chance="stop", reporter=SilentReporter())

    message = str(raised.value)
    assert message.startswith("the teacher bert-base does hardly better on dev than guessing")
    assert "52.0% of 1,200 dev rows are right; Cohen's kappa 0.04" in message
    assert "never fine-tuned" in message
    assert 'near_chance = "warn"' in message.splitlines()[-1]
    assert raised.value.skill == 0.04


def test_few_rows_that_cannot_tell_it_from_a_better_one_are_no_reason_to_stop() -> None:
    reporter, few = Listening(), replace(GUESSING, dev_accuracy=0.53, dev_skill=0.06, dev_rows=30)

    refuse_guessing(few, near_chance="stop", reporter=reporter)

    (note,) = reporter.notes
    assert "does hardly better than guessing (53.0% on dev, Cohen's kappa 0.06)" in note
    with pytest.raises(TeacherNearChance):
        refuse_guessing(replace(few, dev_rows=300), near_chance="stop", reporter=reporter)


def test_with_warn_it_is_reported_and_the_run_goes_on() -> None:
    reporter = Listening()

    refuse_guessing(GUESSING, near_chance="warn", reporter=reporter)

    (note,) = reporter.notes
    assert "bert-base does hardly better than guessing (52.0% on dev, Cohen's kappa 0.04)" in note


def test_far_worse_than_guessing_looks_like_swapped_classes() -> None:
    with pytest.raises(TeacherNearChance, match="its classes look swapped"):
        refuse_guessing(replace(GUESSING, dev_skill=-0.8, dev_accuracy=0.1), near_chance="stop", reporter=Listening())


@pytest.mark.parametrize(
    ("kind", "hint"), [("file", "columns"), ("student", "report of the run"), ("ensemble", "members")]
)
def test_the_reason_is_one_that_this_kind_of_teacher_can_have(kind: Any, hint: str) -> None:
    with pytest.raises(TeacherNearChance, match=hint):
        refuse_guessing(replace(GUESSING, kind=kind), near_chance="stop", reporter=Listening())


@pytest.mark.parametrize("skill", [NEAR_CHANCE, 0.9, None])
def test_a_teacher_that_knows_something_or_was_not_judged_passes_in_silence(skill: float | None) -> None:
    reporter = Listening()

    refuse_guessing(replace(GUESSING, dev_skill=skill), near_chance="stop", reporter=reporter)

    assert reporter.notes == []


def test_accuracy_alone_saves_nobody() -> None:
    """Always the most frequent class: 95 % right, and nothing learned."""
    with pytest.raises(TeacherNearChance):
        refuse_guessing(replace(GUESSING, dev_accuracy=0.95, dev_skill=0.0), near_chance="stop", reporter=Listening())


def test_of_pairs_that_were_read_as_one_text_the_other_way_is_reported() -> None:
    with pytest.raises(TeacherNearChance) as raised:
        refuse_guessing(GUESSING, near_chance="stop", reporter=SilentReporter(), has_read_together=True)

    assert 'set pairs = "apart"' in str(raised.value)


def test_classes_that_look_swapped_are_not_blamed_on_pairs() -> None:
    swapped = replace(GUESSING, dev_skill=-0.8, dev_accuracy=0.1)

    with pytest.raises(TeacherNearChance) as raised:
        refuse_guessing(swapped, near_chance="stop", reporter=SilentReporter(), has_read_together=True)

    assert "apart" not in str(raised.value)


def test_hardly_any_dev_row_of_another_class_is_no_reason_to_stop() -> None:
    reporter, uneven = Listening(), replace(GUESSING, dev_accuracy=0.99, dev_skill=0.0, dev_rows=400)

    refuse_guessing(replace(uneven, dev_others=4), near_chance="stop", reporter=reporter)

    (note,) = reporter.notes
    assert "cannot be said: only 4 of 400 dev rows are not of the most frequent class" in note
    with pytest.raises(TeacherNearChance, match='class_weights = "balanced"'):
        refuse_guessing(replace(uneven, dev_others=5), near_chance="stop", reporter=reporter)
