"""Students of other runs that cannot be the teacher: said before anything is asked, with what to name instead."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


def test_a_path_that_is_nowhere_is_reported_with_the_places_searched(toy: Any, limbeck: Command) -> None:
    answer = limbeck("run", toy.recipe, "--out", toy.run, "--set", "teacher=bert-base-uncased")

    assert answer.refused_with("no folder of a student 'bert-base-uncased'", '[teacher] checkpoint = "…"', "Looked in")


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("runs/toy/corpus", ("is not a student: it is a corpus", "runs/NAME/students/bilstm/0")),
        ("runs/toy", ("is not a student: it has several", "runs/toy/students/bilstm,")),
        ("runs/toy/teacher", ("is not a student: it is an encoder", 'checkpoint = "')),
        ("data", ("is not a student: there is no student in it", "runs/NAME/models/bilstm-int8")),
        ("data/toy.csv", ("is not a student: it is a file, not a folder",)),
    ],
)
def test_a_path_that_is_no_student_is_called_what_it_is(
    toy: Any, limbeck: Command, place: str, words: tuple[str, ...]
) -> None:
    answer = limbeck("run", toy.recipe, "--out", toy.run, "--set", f"teacher={toy.folder / place}")

    assert answer.refused_with(str(toy.folder / place), *words)
    assert list(answer.steps("✓")) == ["corpus", "transfer"]


def test_a_student_of_other_classes_is_shown_beside_the_corpus(
    toy: Any, limbeck: Command, make_student: Any, tmp_path: Path
) -> None:
    make_student(tmp_path / "student")  # negative, neutral, positive

    answer = limbeck("run", toy.recipe, "--out", toy.run, "--set", f"teacher={tmp_path / 'student'}")

    assert answer.refused_with("trained for another task", "it knows 3 classes, the corpus has 2", "1  neutral")


@pytest.mark.parametrize("exported", [False, True])
def test_a_student_of_pairs_cannot_judge_single_texts(
    toy: Any, limbeck: Command, make_student: Any, pair_model: Path, tmp_path: Path, exported: bool
) -> None:
    make_student(tmp_path / "student", pair=True)
    path = pair_model if exported else tmp_path / "student"

    answer = limbeck("run", toy.recipe, "--out", toy.run, "--set", f"teacher={path}")

    assert answer.refused_with("it reads two texts per row; the corpus has one text", "Name a student")


def test_a_damaged_student_is_refused_and_the_whole_one_is_taken_after(toy: Any, limbeck: Command) -> None:
    student = toy.run / "students" / "bilstm" / "0"
    weights = student / "model.safetensors"
    content = weights.read_bytes()
    given = (
        "run",
        toy.recipe,
        "--out",
        toy.folder / "runs" / "next",
        "--until",
        "teacher",
        "--set",
        f"teacher={student}",
    )

    weights.write_bytes(content[:-1])
    assert limbeck(*given).refused_with(str(student), "is damaged", "model.safetensors has")
    weights.write_bytes(content)
    answer = limbeck(*given)

    assert answer.code == 0
    assert list(answer.steps("▸")) == ["teacher"]


def test_a_student_needs_its_path_and_keys_of_an_encoder_do_not_disturb_it(toy: Any, limbeck: Command) -> None:
    answer = limbeck("run", toy.recipe, "--out", toy.run, "--set", "teacher.kind=student")

    assert answer.refused_with("1 problem", "teacher.path: missing")


def test_the_student_of_an_older_version_is_not_loaded_half(toy: Any, limbeck: Command) -> None:
    """Weights under other names would start at random, unseen."""
    from limbeck.artifacts.manifest import Key, write_manifest

    old = Path(shutil.copytree(toy.run / "students" / "bilstm" / "0", toy.folder / "old"))
    _rename_weights(old / "model.safetensors")
    write_manifest(old, kind="student", key=Key(section={}, inputs={}))

    answer = limbeck("run", toy.recipe, "--out", toy.folder / "runs" / "next", "--set", f"teacher={old}")

    assert answer.refused_with("cannot load the teacher", "weights that are missing", "Train the student again")


def _rename_weights(path: Path) -> None:
    from safetensors.torch import load_file, save_file

    save_file({f"old.{name}": tensor for name, tensor in load_file(path).items()}, path)
