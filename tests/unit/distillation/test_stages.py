"""Several trainings one after the other: what each goes by, what is kept of each, and going on after a stop."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.distillation import run as room
from limbeck.distillation.stages import trainings_of
from limbeck.distillation.student_with_objective import StudentWithObjective
from limbeck.recipe.distillation import Distillation
from limbeck.training import loop

FEATURES_FIRST = [
    {"epochs": 2, "losses": [{"kind": "hint"}, {"kind": "spkd", "weight": 10.0}]},
    {"epochs": 3, "learning_rate": 0.01, "losses": [{"kind": "logit_mse"}]},
]
Train = Callable[..., StudentFolder]


def section(**keys: Any) -> Distillation:
    return Distillation.model_validate(keys)


def test_without_stages_there_is_one_training_with_the_losses() -> None:
    asked = section(losses=[{"kind": "soft_targets"}], epochs=5)

    (training,) = trainings_of(asked, alone=False)

    assert training.settings is asked
    assert training.losses == asked.losses
    assert (training.folder, training.title) == ("", "")


@pytest.mark.parametrize("keys", [{"losses": [{"kind": "soft_targets"}]}, {"stages": FEATURES_FIRST}])
def test_the_baseline_has_one_training_on_the_labels(keys: dict[str, Any]) -> None:
    (training,) = trainings_of(section(epochs=7, learning_rate=0.5, **keys), alone=True)

    assert [loss.kind for loss in training.losses] == ["hard_labels"]
    assert (training.settings.epochs, training.settings.learning_rate) == (7, 0.5)
    assert training.judged_by_dev


def test_a_stage_has_its_own_keys_and_all_others_from_the_section() -> None:
    stages = [
        {"epochs": 9, "learning_rate": 0.1, "batch_size": 4, "warmup_fraction": 0.3, "losses": [{"kind": "spkd"}]},
        {"losses": [{"kind": "logit_mse"}]},
    ]

    first, second = trainings_of(
        section(epochs=2, learning_rate=0.5, batch_size=32, clip_norm=3.0, stages=stages), alone=False
    )

    assert first.settings.epochs == 9
    assert (first.settings.learning_rate, first.settings.batch_size, first.settings.warmup_fraction) == (0.1, 4, 0.3)
    assert second.settings.epochs == 3  # a stage's own default: the section's epochs are the baseline's
    assert (second.settings.learning_rate, second.settings.batch_size, second.settings.warmup_fraction) == (
        *(0.5, 32),
        0.05,
    )
    assert first.settings.clip_norm == second.settings.clip_norm == 3.0
    assert [loss.kind for loss in second.losses] == ["logit_mse"]
    assert (first.folder, second.folder) == ("stage-1", "stage-2")
    assert second.title == ", stage 2 of 2"


@pytest.mark.parametrize(
    ("kinds", "judged"),
    [
        (["spkd"], False),
        (["hidden_mse", "attention_mse"], False),
        (["hidden_mse", "hard_labels"], True),
        (["logit_mse"], True),
        (["dkd"], True),
    ],
)
def test_dev_judges_a_stage_that_teaches_classes(kinds: list[str], judged: bool) -> None:
    stages = [{"losses": [{"kind": kind} for kind in kinds]}]

    (training,) = trainings_of(section(stages=stages), alone=False)

    assert training.judged_by_dev == judged


@pytest.fixture
def labels(toy_corpus: Corpus, make_labels: Callable[..., TeacherLabels]) -> TeacherLabels:
    return make_labels(toy_corpus.splits["train"], width=5)


def test_epochs_are_numbered_over_all_stages_and_have_their_stage(run_training: Train, labels: TeacherLabels) -> None:
    student = run_training(role="student", labels=labels, stages=FEATURES_FIRST)

    assert [epoch["epoch"] for epoch in student.history] == [1, 2, 3, 4, 5]
    assert [epoch["stage"] for epoch in student.history] == [1, 1, 2, 2, 2]
    assert [sorted(epoch["losses"]) for epoch in student.history[1:3]] == [["hint", "spkd"], ["logit_mse"]]
    assert student.facts.best_epoch > 2
    best = student.history[student.facts.best_epoch - 1]
    assert best["dev_accuracy"] == student.facts.dev_accuracy


def test_epochs_of_a_single_training_have_no_stage(run_training: Train, labels: TeacherLabels) -> None:
    student = run_training(role="student", labels=labels, epochs=2)

    assert [epoch.keys() & {"stage"} for epoch in student.history] == [set(), set()]


def test_each_stage_has_curves_of_its_own(run_training: Train, labels: TeacherLabels) -> None:
    student = run_training(role="student", labels=labels, stages=FEATURES_FIRST)

    first, second = json.loads((student.folder / "losses.json").read_text(encoding="utf-8"))
    assert [point["step"] for point in first] == [2, 5]  # three steps an epoch
    assert [point["step"] for point in second] == [2, 5, 8]
    assert first[0].keys() == {"step", "hint", "spkd"}
    assert second[0].keys() == {"step", "logit_mse"}


def test_a_stage_begins_where_the_one_before_it_ended(
    run_training: Train, labels: TeacherLabels, seen: list[Any]
) -> None:
    student = run_training(role="student", labels=labels, stages=FEATURES_FIRST)

    first, second = seen
    assert not torch.equal(second.start["embeddings.weight"], first.start["embeddings.weight"])
    assert torch.equal(
        second.start["classifier.weight"], first.start["classifier.weight"]
    )  # nothing has trained it yet
    trained = load_file(student.folder / "model.safetensors")
    assert not torch.equal(trained["classifier.weight"], second.start["classifier.weight"])


@pytest.mark.parametrize("average", [None, 0.5])
def test_a_stage_on_features_alone_is_left_with_its_last_epoch_and_any_other_with_its_best(
    run_training: Train, labels: TeacherLabels, seen: list[Any], monkeypatch: pytest.MonkeyPatch, average: float | None
) -> None:
    scores = iter([0.9, 0.1, 0.2, 0.8, 0.3])  # the first stage is best at its beginning, the second in its middle
    weights: list[dict[str, torch.Tensor]] = []

    def judge(model: Any, _dev: Any, **_how: Any) -> dict[str, float]:
        weights.append({name: weight.detach().clone() for name, weight in model.state_dict().items()})
        score = next(scores)
        return {"dev_accuracy": score, "dev_score": score, "dev_loss": 1.0}

    monkeypatch.setattr(room, "judge", judge)
    student = run_training(role="student", labels=labels, stages=FEATURES_FIRST, patience=1, average=average)

    assert torch.equal(seen[1].start["embeddings.weight"], weights[1]["embeddings.weight"])
    trained = load_file(student.folder / "model.safetensors")
    assert torch.equal(trained["classifier.weight"], weights[3]["classifier.weight"])
    assert student.facts.best_epoch == 4
    assert student.facts.dev_accuracy == 0.8


class Killed(Exception):
    """Stands in for kill -9: nothing is tidied up."""


@pytest.mark.parametrize(("steps_before_death", "average"), [(4, None), (6, 0.5), (7, None), (13, 0.5)])
def test_a_killed_student_goes_on_in_its_stage_and_ends_the_same(
    run_training: Train,
    labels: TeacherLabels,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    steps_before_death: int,
    average: float | None,
) -> None:
    """Three steps an epoch: in the first stage, at its end, at the begin of the second, and in its last epoch."""
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)  # a checkpoint after every step
    stages = [
        {"epochs": 2, "losses": [{"kind": "hint"}, {"kind": "factor_transfer"}]},
        {"epochs": 3, "losses": [{"kind": "logit_mse", "weight": {"kind": "linear", "end": 1.0}}, {"kind": "vid"}]},
    ]
    options: dict[str, Any] = {"role": "student", "labels": labels, "stages": stages, "average": average}
    straight = run_training(**options, out=tmp_path / "straight")
    steps, forward = 0, StudentWithObjective.forward

    def dying(self: StudentWithObjective, *arguments: Any) -> Any:
        nonlocal steps
        steps += 1
        if steps == steps_before_death + 1:
            raise Killed
        return forward(self, *arguments)

    monkeypatch.setattr(StudentWithObjective, "forward", dying)
    with pytest.raises(Killed):
        run_training(**options, out=tmp_path / "killed")
    torch.manual_seed(99)  # what the new process has done so far must not matter
    resumed = run_training(**options, out=tmp_path / "killed")

    assert steps == 15 + 1  # no step was taken twice
    assert resumed.fingerprint == straight.fingerprint


def test_a_term_may_be_weak_in_a_single_stage(run_training: Train, labels: TeacherLabels, notes: Any) -> None:
    stages = [
        {"epochs": 1, "losses": [{"kind": "logit_mse"}, {"kind": "hint", "weight": 1e-9}]},
        {"epochs": 1, "losses": [{"kind": "logit_mse"}]},
    ]

    run_training(role="student", labels=labels, stages=stages)

    (note,) = [text for text in notes.texts if "raise the weight" in text]
    assert "hint is 0.00% of the loss" in note
