"""Training curves of the report."""

import json
from pathlib import Path
from typing import Any

import pytest

from limbeck.artifacts.candidate import Candidate
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.student_folder import StudentFacts, StudentFolder, save_student_facts
from limbeck.pipeline.evaluation import thinned, training_curves

EPOCH: dict[str, Any] = {"epoch": 1, "loss": 0.5, "dev_accuracy": 0.8, "dev_loss": 0.4, "losses": {"logit_mse": 0.5}}


def student(folder: Path, *, history: list[dict[str, Any]], points: Any = ()) -> StudentFolder:
    """A student that was trained so."""
    sizes: dict[str, Any] = {"max_length": 16, "parameters": 14, "parameters_without_embeddings": 0}
    facts = StudentFacts(
        name="bilstm", kind="bilstm", role="student", seed=0, labels=["no", "yes"], language="en", pair=False,
        best_epoch=1, dev_accuracy=0.8, **sizes,
    )  # fmt: skip
    folder.mkdir()
    save_student_facts(folder, facts, history=history)
    (folder / "losses.json").write_text(json.dumps(points))
    return StudentFolder(folder)


def candidate(name: str, of_seeds: dict[int, StudentFolder]) -> Candidate:
    """A line of the report about these students."""
    return Candidate(name, "student", exports={}, shipped=ModelFolder(Path(name)), students=of_seeds)


def test_a_curve_has_epochs_with_their_losses_and_the_points_of_every_training(tmp_path: Path) -> None:
    points = [[{"step": 15, "logit_mse": 0.7}], [{"step": 7, "hard_labels": 0.3}]]
    trained = student(tmp_path / "new", history=[EPOCH], points=points)

    (found,) = training_curves([candidate("bilstm", {3: trained})])

    assert (found["name"], found["role"], found["seed"]) == ("bilstm", "student", 3)
    assert found["epochs"] == [{"epoch": 1, "loss": 0.5, "dev_accuracy": 0.8, "losses": {"logit_mse": 0.5}}]
    assert found["points"] == points


def test_a_student_has_one_curve_however_many_files_were_made_of_it(tmp_path: Path) -> None:
    trained = {0: student(tmp_path / "one", history=[EPOCH])}

    assert len(training_curves([candidate("bilstm", trained), candidate("bilstm-int8", trained)])) == 1


@pytest.mark.parametrize("count", [0, 1, 120, 121, 512])
def test_points_are_thinned_evenly_with_both_ends_kept(count: int) -> None:
    points: list[dict[str, float]] = [{"step": step} for step in range(count)]

    found = thinned(points)

    assert len(found) == min(count, 120)
    assert found[:1] == points[:1]
    assert found[-1:] == points[-1:]
    steps = [point["step"] for point in found]
    assert steps == sorted(set(steps))
