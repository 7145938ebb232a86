"""A training that ended while it was still getting better is found; one that had come to rest is not."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from limbeck.artifacts.teacher_folder import TeacherFacts, TeacherFolder, save_teacher_facts
from limbeck.doctor.training import epochs, guessing, last_training
from limbeck.training.epochs import is_rising

Row = tuple[str, str]
Make = Callable[..., Any]
FACTS = TeacherFacts(name="tiny", labels=["bad", "good"], dev_accuracy=0.9)


def history_of(*scores: float) -> list[dict[str, Any]]:
    return [{"epoch": number, "dev_accuracy": score} for number, score in enumerate(scores, start=1)]


@pytest.fixture
def make_teacher_of(tmp_path: Path) -> Callable[..., TeacherFolder]:
    """make_teacher_of(history, kind="encoder")"""

    def make(history: list[dict[str, Any]], **facts: Any) -> TeacherFolder:
        (tmp_path / "teacher").mkdir()
        save_teacher_facts(tmp_path / "teacher", replace(FACTS, **facts))
        (tmp_path / "teacher" / "history.json").write_text(json.dumps(history), encoding="utf-8")
        return TeacherFolder(tmp_path / "teacher")

    return make


@pytest.mark.parametrize(
    ("scores", "rows", "rising"),
    [
        ((0.70, 0.80), 1000, True),
        ((0.70, 0.80, 0.80), 1000, False),
        ((0.70, 0.80, 0.79), 1000, False),
        ((0.800, 0.806), 1000, True),
        ((0.800, 0.804), 1000, False),  # four rows, but no half a point
        ((0.80, 0.90), 20, False),  # two rows
        ((0.80, 0.95), 20, True),  # three
        ((0.80,), 1000, False),  # one epoch tells nothing
        ((), 1000, False),
    ],
)
def test_rising_is_better_than_before_by_more_than_chance(scores: tuple[float, ...], rows: int, rising: bool) -> None:
    assert is_rising(history_of(*scores), rows=rows) == rising


def test_with_several_labels_a_row_the_score_decides() -> None:
    history = [{"dev_accuracy": 0.1, "dev_score": 0.5}, {"dev_accuracy": 0.3, "dev_score": 0.5}]

    assert not is_rising(history, rows=100)


def test_rows_that_are_known_by_heart_need_no_more_epochs() -> None:
    rising = [{**epoch, "loss": loss} for epoch, loss in zip(history_of(0.7, 0.8, 0.9), (1.0, 0.3, 0.2), strict=True)]
    known = [*rising[:2], {**rising[2], "loss": 0.01}]

    assert is_rising(rising, rows=1000)
    assert not is_rising(known, rows=1000)


def test_the_entry_of_a_mean_of_weights_is_no_epoch() -> None:
    history = history_of(0.7, 0.8, 0.8)

    assert not is_rising([*history, {"dev_accuracy": 0.95, "averaged": 3, "kept": True}], rows=1000)


def test_only_the_last_stage_is_looked_at() -> None:
    history = [{"epoch": 1, "stage": 1}, {"epoch": 2, "stage": 2}, {"epoch": 3, "stage": 2}]

    assert [epoch["epoch"] for epoch in last_training(history)] == [2, 3]
    assert last_training([]) == []


def test_a_student_that_was_still_rising_is_found(
    make_corpus_of: Make, make_known: Make, make_student_of: Make, make_teacher_of: Make, hundred: list[Row]
) -> None:
    corpus = make_corpus_of(train=hundred[:50], dev=hundred[50:])
    students = [make_student_of(history_of(0.5, 0.9), seed=0), make_student_of(history_of(0.9, 0.9), seed=1)]
    teacher = make_teacher_of(history_of(0.7, 0.9, 0.9))

    (finding,) = epochs(make_known(corpus=corpus, teacher=teacher, students=students))

    assert finding.level == "warning"
    assert finding.what == "the student was, in 1 of 2 seeds, still improving when training ended"
    assert finding.evidence == "the last of 2 epochs is the best: 90.0% on dev, before it 50.0%"
    assert finding.advice == "Raise distillation.epochs."


def test_a_teacher_that_was_still_rising_is_found(
    make_corpus_of: Make, make_known: Make, make_teacher_of: Make, hundred: list[Row]
) -> None:
    corpus = make_corpus_of(train=hundred[:50], dev=hundred[50:])

    (finding,) = epochs(make_known(corpus=corpus, teacher=make_teacher_of(history_of(0.5, 0.7))))

    assert finding.what == "the teacher tiny was still improving when training ended"
    assert finding.advice == "Raise teacher.epochs."


def test_a_student_as_teacher_was_trained_elsewhere(
    make_corpus_of: Make, make_known: Make, make_teacher_of: Make, hundred: list[Row]
) -> None:
    corpus = make_corpus_of(train=hundred[:50], dev=hundred[50:])

    assert epochs(make_known(corpus=corpus, teacher=make_teacher_of(history_of(0.5, 0.7), kind="student"))) == []


def test_a_teacher_with_a_fitted_head_counts_epochs_without_it_and_tells_its_loss(
    make_corpus_of: Make, make_known: Make, make_teacher_of: Make, hundred: list[Row]
) -> None:
    corpus = make_corpus_of(train=hundred[:50], dev=hundred[50:])
    history = [
        {"epoch": number, "loss": 0.5 - 0.1 * number, **epoch} for number, epoch in enumerate(history_of(0.4, 0.5, 0.7))
    ]
    for number, epoch in enumerate(history):
        epoch["epoch"] = number

    (finding,) = epochs(make_known(corpus=corpus, teacher=make_teacher_of(history)))

    expected = "the last of 2 epochs is the best: 70.0% on dev, before it 50.0%; its loss fell from 0.4 to 0.3"
    assert finding.evidence == expected


def test_each_member_of_an_ensemble_is_looked_at(
    make_corpus_of: Make, make_known: Make, make_teacher_of: Make, hundred: list[Row], tmp_path: Path
) -> None:
    corpus = make_corpus_of(train=hundred[:50], dev=hundred[50:])
    ensemble = make_teacher_of([], kind="ensemble", members={"tiny-0": "a", "tiny-1": "b"})
    for name, history in {"tiny-0": history_of(0.5, 0.7), "tiny-1": history_of(0.7, 0.7)}.items():
        folder = tmp_path / "teachers" / name
        folder.mkdir(parents=True)
        save_teacher_facts(folder, FACTS)
        (folder / "history.json").write_text(json.dumps(history), encoding="utf-8")

    (finding,) = epochs(make_known(corpus=corpus, teacher=ensemble))

    assert finding.what == "the teacher tiny-0 was still improving when training ended"


def test_a_student_that_guesses_is_an_error_and_one_that_another_rate_helped_a_note(
    make_known: Make, make_student_of: Make
) -> None:
    tried = [
        {"learning_rate": 0.1, "dev_accuracy": 0.5, "problem": "it answers 'no' for 80 of 80 dev rows"},
        {"learning_rate": 0.1 / 3, "dev_accuracy": 0.8, "problem": ""},
    ]
    fine = make_student_of(history_of(0.9), seed=0)
    weak = make_student_of(history_of(0.5), seed=1, near_chance=tried[0]["problem"])
    helped = make_student_of(history_of(0.8), seed=2, attempts=tried)

    (error,) = guessing(make_known(students=[fine, weak]))
    (note,) = guessing(make_known(students=[helped]))

    assert (error.level, note.level) == ("error", "note")
    assert error.what == "the student was, in 1 of 2 seeds, hardly better on dev than guessing"
    assert "0.1 (50.0% on dev), 0.033 (80.0% on dev)" in note.evidence
    assert guessing(make_known(students=[fine])) == []
