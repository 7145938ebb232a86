"""A student that hardly does better than guessing is trained again with another learning rate."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from limbeck.artifacts.student_folder import StudentFolder
from limbeck.distillation.attempts import Attempt, train_until_learned
from limbeck.progress import SilentReporter
from limbeck.training import skill
from limbeck.training.epochs import Progress
from limbeck.training.loop import TrainingDiverged

Train = Callable[..., StudentFolder]
DIVERGED = "diverged"


class Trainings:
    """Stands in for trainings: the dev score and the problem of each, in order."""

    def __init__(self, *results: tuple[float, str] | str) -> None:
        self.results = list(results)
        self.asked: list[tuple[float, str]] = []

    def __call__(self, factor: float, folder: str) -> Attempt:
        self.asked.append((round(factor, 3), folder))
        result = self.results.pop(0)
        if isinstance(result, str):
            raise TrainingDiverged(what="the student", epoch=1, learning_rate=factor)
        score, problem = result
        epoch = {"dev_accuracy": score, "dev_score": score, "dev_loss": 1.0}
        return Attempt(f"model at {factor:.3f}", [Progress(history=[epoch], best_epoch=0)], factor, problem)


@pytest.mark.parametrize(
    ("results", "factors", "kept", "problem"),
    [
        ([(0.8, "")], [1.0], 1.0, ""),
        ([(0.9, "one class"), (0.7, "")], [1.0, 0.333], 0.333, ""),  # what learned wins, whatever its accuracy
        ([(0.5, "one class"), (0.6, "one class"), (0.8, "")], [1.0, 0.333, 3.0], 3.0, ""),
        ([(0.5, "one class"), (0.6, "one class"), (0.5, "one class")], [1.0, 0.333, 3.0], 0.333, "one class"),
        ([(0.5, "one class")] * 3, [1.0, 0.333, 3.0], 1.0, "one class"),  # the same: the recipe's own
        ([DIVERGED, (0.7, "")], [1.0, 0.333], 0.333, ""),
        ([DIVERGED, DIVERGED, (0.7, "")], [1.0, 0.333, 0.111], 0.111, ""),  # then not a higher one
    ],
)
def test_at_most_two_more_trainings_and_the_best_is_kept(
    results: list[Any], factors: list[float], kept: float, problem: str
) -> None:
    trainings = Trainings(*results)

    found, attempts = train_until_learned(trainings, name="bilstm, seed 0", reporter=SilentReporter())

    assert [factor for factor, _ in trainings.asked] == factors
    assert [folder for _, folder in trainings.asked] == ["", "attempt-2", "attempt-3"][: len(factors)]
    assert round(found.learning_rate, 3) == kept
    assert found.problem == problem
    assert found in attempts


def test_a_student_that_diverges_with_every_rate_is_an_error() -> None:
    with pytest.raises(TrainingDiverged, match="the student") as raised:
        train_until_learned(Trainings(DIVERGED, DIVERGED, DIVERGED), name="bilstm", reporter=SilentReporter())

    assert "peak learning rate: 1\n" in f"{raised.value.found}\n"  # the recipe's


def test_a_rate_that_is_too_low_is_raised_and_the_facts_say_so(
    run_training: Train, notes: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(skill, "MIN_ROWS", 50)  # the toy corpus has 50 dev rows

    student = run_training(epochs=6, batch_size=16, learning_rate=0.004, out=tmp_path / "student")

    tried = student.facts.attempts
    assert [round(one["learning_rate"], 5) for one in tried] == [0.004, 0.00133, 0.012]
    assert [bool(one["problem"]) for one in tried] == [True, True, False]
    assert student.facts.near_chance == ""
    assert student.facts.dev_accuracy == tried[2]["dev_accuracy"] > 0.8
    assert [note for note in notes.texts if "trained again with a lower" in note]
    assert [note for note in notes.texts if "learning_rate = 0.012 helped" in note]


def test_a_student_that_never_learns_is_kept_with_a_loud_warning(
    run_training: Train, notes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skill, "MIN_ROWS", 50)

    student = run_training(learning_rate=1e-9)

    assert len(student.facts.attempts) == 3
    assert student.facts.near_chance.startswith("it answers")
    assert json.loads((student.folder / "student.json").read_text())["near_chance"]
    assert [note for note in notes.texts if note.startswith("  warning:") and "with any learning rate" in note]


def test_few_dev_rows_are_no_reason_to_train_again(run_training: Train) -> None:
    student = run_training(learning_rate=1e-9)

    assert (student.facts.near_chance, student.facts.attempts) == ("", [])


def test_a_run_that_is_killed_in_its_second_attempt_ends_with_the_same_student(
    run_training: Train, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from limbeck.distillation import run as room

    monkeypatch.setattr(skill, "MIN_ROWS", 50)
    settings: dict[str, Any] = {"epochs": 6, "batch_size": 16, "learning_rate": 0.004}
    straight = run_training(**settings, out=tmp_path / "straight")
    trained, real = [], room.TrainingSetup.train

    def killed_in_the_third(*given: Any, **named: Any) -> Any:
        trained.append(named["work_folder"].name)
        if len(trained) == 3:
            raise KeyboardInterrupt
        return real(*given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(room.TrainingSetup, "train", killed_in_the_third)
        with pytest.raises(KeyboardInterrupt):
            run_training(**settings, out=tmp_path / "killed")
    again = run_training(**settings, out=tmp_path / "killed")

    assert trained[1:] == ["attempt-2", "attempt-3"]
    assert again.facts == straight.facts
    ours, theirs = (load_file(student.folder / "model.safetensors") for student in (again, straight))
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
