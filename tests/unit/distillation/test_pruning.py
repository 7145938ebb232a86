"""Magnitude pruning: how much when, what falls, that it stays so, and that the files have it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper
from pydantic import ValidationError
from safetensors.torch import load_file
from torch import nn

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.distillation.pruning import Pruner, share_of_zeros, sparsity_at
from limbeck.distillation.student_with_objective import StudentWithObjective
from limbeck.export.run import export_student
from limbeck.progress import SilentReporter
from limbeck.recipe.export import Export
from limbeck.recipe.pruning import Pruning
from limbeck.recipe.recipe import Recipe
from limbeck.training import loop
from limbeck.training.epochs import Progress

Train = Callable[..., StudentFolder]
MakeLabels = Callable[..., TeacherLabels]


def gradual(sparsity: float, **rest: Any) -> Pruning:
    return Pruning.model_validate({"sparsity": sparsity, **rest})


# ---- how much, and when ----


def test_gradually_it_is_fast_at_first_and_slow_at_the_end() -> None:
    """Half-way from 0.2 to 0.6 it is 0.8 · (1 - (1/2)³) = 0.7."""
    section = gradual(0.8, start=0.2, end=0.6)

    found = [sparsity_at(section, done) for done in (0.0, 0.2, 0.4, 0.6, 1.0)]

    assert found == pytest.approx([0.0, 0.0, 0.7, 0.8, 0.8])


def test_once_it_is_all_at_the_start() -> None:
    section = gradual(0.8, schedule="once", start=0.5)

    assert [sparsity_at(section, done) for done in (0.49, 0.5, 1.0)] == [0.0, 0.8, 0.8]


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ({"sparsity": 1.0}, "less than 1"),
        ({"sparsity": 0.5, "start": 0.6}, "start must be less than end"),
        ({"sparsity": 0.5, "schedule": "once"}, "needs a start above 0"),
        ({"sparsity": 0.5, "end": 0.95}, "less than or equal to 0.9"),
    ],
)
def test_what_would_not_prune_is_refused(section: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        Pruning.model_validate(section)


def test_a_graph_of_words_is_not_pruned() -> None:
    tables = {
        "student": {"kind": "textgcn"},
        "distillation": {"pruning": {"sparsity": 0.5}},
        "teacher": {"kind": "none"},
    }

    with pytest.raises(ValidationError, match=r"remove distillation\.pruning"):
        Recipe.model_validate({"corpus": {"train": "rows.csv"}, **tables})


# ---- what falls ----


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.matrix = nn.Parameter(torch.tensor([[4.0, -1.0, 0.5], [-3.0, 2.0, 0.1]]))
        self.column = nn.Parameter(torch.full((4, 1), 0.01))
        self.bias = nn.Parameter(torch.tensor([0.001, 5.0]))


def test_the_smallest_weights_of_a_matrix_fall_and_biases_and_columns_stay() -> None:
    student = Small()
    pruner = Pruner(gradual(0.5, schedule="once", start=0.5), student, steps=10)

    pruner.before_step(student, 0.4)
    before = student.matrix.detach().clone()
    pruner.before_step(student, 0.5)

    assert before.count_nonzero() == 6
    assert student.matrix.tolist() == [[4.0, 0.0, 0.0], [-3.0, 2.0, 0.0]]
    assert student.column.count_nonzero() == 4
    assert student.bias.count_nonzero() == 2
    assert share_of_zeros(student) == 0.5


def test_a_weight_that_has_fallen_stays_zero_whatever_the_optimiser_does() -> None:
    student = Small()
    pruner = Pruner(gradual(0.5, schedule="once", start=0.1), student, steps=10)
    pruner.before_step(student, 0.5)

    with torch.no_grad():
        student.matrix.fill_(9.0)
    pruner.after_step(student)

    assert student.matrix.tolist() == [[9.0, 0.0, 0.0], [9.0, 9.0, 0.0]]


def test_more_fall_later_and_those_before_are_among_them() -> None:
    student = Small()
    pruner = Pruner(gradual(0.6, start=0.0, end=0.8), student, steps=100)
    counts = []
    zeros = torch.zeros(2, 3, dtype=torch.bool)
    for done in (0.0, 0.2, 0.4, 0.8):
        pruner.before_step(student, done)
        now = student.matrix == 0
        assert not (zeros & ~now).any()
        zeros = now
        counts.append(int(now.sum()))

    assert counts == [0, 2, 3, 4]  # 0.6 · (1 - 0.75³) = 0.35, 0.525 and 0.6 of six


# ---- which epoch is kept ----


def test_no_epoch_before_the_sparsity_is_reached_is_kept() -> None:
    def entry(accuracy: float, sparsity: float) -> dict[str, Any]:
        return {"dev_accuracy": accuracy, "dev_loss": 1.0, "dev_noise": 0.01, "sparsity": sparsity, "loss": 1.0}

    progress = Progress(history=[entry(0.9, 0.4)], best_epoch=0)

    assert progress.is_kept(entry(0.6, 0.8), keep="best")
    pruned = Progress(history=[entry(0.9, 0.4), entry(0.6, 0.8), entry(0.58, 0.8)], best_epoch=1)
    assert not pruned.is_kept(entry(0.5, 0.8), keep="best")
    assert pruned.is_kept(entry(0.59, 0.8), keep="latest")  # within the noise of what is as sparse
    assert not Progress(history=[entry(0.9, 0.4), {**entry(0.1, 0.8), "loss": 9.0}], best_epoch=1).has_collapsed


# ---- whole trainings ----


@pytest.fixture
def labels(toy_corpus: Corpus, make_labels: MakeLabels) -> TeacherLabels:
    return make_labels(toy_corpus.splits["train"])


def zeros_in(student: StudentFolder) -> float:
    matrices = [one for one in load_file(student.folder / "model.safetensors").values() if one.ndim > 1]
    return sum(int((one == 0).sum()) for one in matrices) / sum(one.numel() for one in matrices)


@pytest.mark.parametrize("role", ["student", "baseline"])
@pytest.mark.parametrize("student", [{}, {"kind": "textcnn"}, {"kind": "bag"}])
def test_the_student_that_is_kept_is_as_sparse_as_asked_for(
    run_training: Train, labels: TeacherLabels, role: str, student: dict[str, Any]
) -> None:
    options: dict[str, Any] = {"role": role, "labels": labels if role == "student" else None, "epochs": 4}

    pruned = run_training(**options, student=student, pruning={"sparsity": 0.75, "end": 0.6}, batch_size=10)

    assert pruned.facts.sparsity == pytest.approx(0.75, abs=0.02)
    assert zeros_in(pruned) == pytest.approx(0.75, abs=0.02) or student == {
        "kind": "bag"
    }  # of which weights are a column
    assert pruned.history[-1]["sparsity"] == 0.75
    assert pruned.history[pruned.facts.best_epoch - 1]["sparsity"] == 0.75


def test_a_rank_is_folded_into_the_next_matrix_and_the_file_says_how_many_zeros_are_left(
    run_training: Train, labels: TeacherLabels
) -> None:
    options: dict[str, Any] = {"role": "student", "labels": labels, "epochs": 2, "pruning": {"sparsity": 0.75}}

    pruned = run_training(**options, student={"vector_rank": 3}, batch_size=10)

    assert pruned.facts.sparsity == pytest.approx(zeros_in(pruned))
    assert (pruned.facts.sparsity or 0) < 0.75


def test_of_several_stages_the_last_is_pruned(run_training: Train, labels: TeacherLabels) -> None:
    stage = {"epochs": 2, "losses": [{"kind": "logit_mse"}]}

    student = run_training(
        role="student", labels=labels, stages=[stage, stage], pruning={"sparsity": 0.5}, batch_size=10
    )

    assert [epoch.get("sparsity") for epoch in student.history] == [None, None, 0.5, 0.5]


def test_a_student_that_is_not_pruned_does_not_say_so(run_training: Train) -> None:
    student = run_training()

    assert student.facts.sparsity is None
    assert "sparsity" not in (student.folder / "student.json").read_text(encoding="utf-8")


class Killed(Exception):
    """Stands in for kill -9: nothing is tidied up."""


@pytest.mark.parametrize(("steps_before_death", "average"), [(2, None), (3, None), (7, 0.5)])
def test_a_killed_training_prunes_the_same_weights(
    run_training: Train,
    labels: TeacherLabels,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    steps_before_death: int,
    average: float | None,
) -> None:
    """Three steps an epoch: while it prunes, at the end of an epoch, and afterwards."""
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)  # a checkpoint after every step
    options: dict[str, Any] = {"role": "student", "labels": labels, "epochs": 3, "average": average}
    options["pruning"] = {"sparsity": 0.6}
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
    resumed = run_training(**options, out=tmp_path / "killed")

    assert resumed.fingerprint == straight.fingerprint


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_the_exported_file_agrees_and_has_the_zeros_and_is_smaller_only_when_it_is_packed(
    run_training: Train, labels: TeacherLabels, toy_corpus: Corpus, tmp_path: Path, precision: Any
) -> None:
    options: dict[str, Any] = {"role": "student", "labels": labels, "epochs": 3, "batch_size": 10}
    options["student"] = {"hidden_size": 40, "dense_size": 60}  # large enough to be most of the folder

    def exported(name: str, **more: Any) -> ModelFolder:
        student = run_training(**options, **more)
        return export_student(
            Export(),
            student=student,
            rows=toy_corpus.splits["dev"],
            precision=precision,
            out=tmp_path / name,
            key=Key(section={}, inputs={}),
            reporter=SilentReporter(),
        )

    dense, pruned = exported("dense"), exported("pruned", pruning={"sparsity": 0.9})

    graph = onnx.load(str(pruned.graph)).graph
    matrices = [
        one for tensor in graph.initializer if (one := numpy_helper.to_array(tensor)).ndim > 1 and one.size > 99
    ]
    zeros = sum(int((one == 0).sum()) for one in matrices) / sum(one.size for one in matrices)
    assert zeros > 0.75  # biases of the gates are a matrix here
    assert np.isclose(pruned.size_mb(), dense.size_mb(), rtol=0.02)
    assert pruned.packed_mb() < 0.7 * dense.packed_mb()
