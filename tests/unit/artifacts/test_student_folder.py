"""What export and report need to know of a student is kept beside it."""

import json
from pathlib import Path

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.student_folder import StudentFacts, StudentFolder, save_student_facts

FACTS = StudentFacts(
    name="bilstm-alone",
    kind="bilstm",
    role="baseline",
    seed=2,
    labels=["好", "schlecht"],
    language="zh",
    pair=True,
    max_length=64,
    parameters=1000,
    parameters_without_embeddings=100,
    best_epoch=3,
    dev_accuracy=0.875,
)


def test_facts_and_history_are_read_back(tmp_path: Path) -> None:
    history = [{"epoch": 1, "loss": 0.5, "dev_accuracy": 0.75}, {"epoch": 2, "loss": 0.25, "dev_accuracy": 0.875}]
    with written_atomically(tmp_path / "0", kind="student", key=Key(section={}, inputs={})) as scratch:
        save_student_facts(scratch, FACTS, history=history)

    student = StudentFolder(tmp_path / "0")

    assert student.facts == FACTS
    assert student.history == history
    assert len(student.fingerprint) == 32


def test_the_points_of_its_curves_are_read_back(tmp_path: Path) -> None:
    points = [[{"step": 15, "logit_mse": 0.5}], [{"step": 3, "hard_labels": 0.25}]]
    (tmp_path / "losses.json").write_text(json.dumps(points), encoding="utf-8")

    assert StudentFolder(tmp_path).points == points
