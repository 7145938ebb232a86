"""Finding a student that is to be a teacher, and saying clearly what is there instead."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.errors import ArtifactDamaged, ArtifactMissing
from limbeck.export import export_student
from limbeck.progress import SilentReporter
from limbeck.recipe.export import Export
from limbeck.teacher.student_source import find_student

StudentWith = Callable[..., Path]


@pytest.fixture
def run(tmp_path: Path, student_with: StudentWith) -> Path:
    """A run with three seeds, of which 1 and 2 are equally good, and a baseline."""
    run = tmp_path / "runs" / "big"
    for seed, accuracy in enumerate([0.7, 0.9, 0.9]):
        student_with(run / "students" / "bilstm" / str(seed), seed=seed, dev_accuracy=accuracy)
    student_with(run / "students" / "bilstm-alone" / "0", name="bilstm-alone", role="baseline")
    (run / "run.json").write_text("{}", encoding="utf-8")
    return run


def test_a_folder_is_taken_and_goes_by_the_name_of_its_run(run: Path) -> None:
    found = find_student(str(run / "students" / "bilstm" / "0"))

    assert (found.folder, found.name, found.seeds) == (run / "students" / "bilstm" / "0", "big/bilstm", 1)
    assert found.facts.seed == 0  # type: ignore[union-attr]  # a trained one
    assert {"config.json", "model.safetensors", "tokenizer.json", "student.json"} == set(found.files)


def test_of_a_folder_of_seeds_the_best_by_dev_is_taken_the_first_of_equals(run: Path) -> None:
    found = find_student(str(run / "students" / "bilstm"))

    assert (found.folder.name, found.seeds) == ("1", 3)


def test_a_seed_that_is_being_written_is_no_seed(run: Path) -> None:
    seeds = run / "students" / "bilstm"
    shutil.copytree(seeds / "1", seeds / "1.old")
    (seeds / "7.partial").mkdir()

    assert find_student(str(seeds)).seeds == 3


def test_where_a_row_has_several_labels_the_best_seed_is_that_of_the_best_score(
    tmp_path: Path, student_with: StudentWith
) -> None:
    student_with(tmp_path / "0", seed=0, dev_accuracy=0.9, dev_score=0.1)
    student_with(tmp_path / "1", seed=1, dev_accuracy=0.1, dev_score=0.9)

    assert find_student(str(tmp_path)).folder.name == "1"


def test_outside_of_a_run_it_goes_by_its_own_name(tmp_path: Path, student_with: StudentWith) -> None:
    assert find_student(str(student_with(tmp_path / "elsewhere"))).name == "bilstm"


def test_the_same_files_at_another_place_are_the_same_student(run: Path, tmp_path: Path) -> None:
    moved = Path(shutil.copytree(run / "students" / "bilstm" / "0", tmp_path / "moved"))

    found = [find_student(str(folder)).fingerprint for folder in (run / "students" / "bilstm" / "0", moved)]

    assert found[0] == found[1]
    assert find_student(str(run / "students" / "bilstm" / "1")).fingerprint != found[0]


def test_an_exported_model_is_found_by_its_card(run: Path, toy_rows: Any) -> None:
    from limbeck.artifacts.student_folder import StudentFolder

    texts = [text for text, _ in toy_rows[:5]]
    export_student(
        Export(),
        student=StudentFolder(run / "students" / "bilstm" / "0"),
        rows=Rows.of(ids=texts, texts=texts),
        precision="int8",
        out=run / "models" / "bilstm-int8",
        key=Key(section={}, inputs={}),
        reporter=SilentReporter(),
    )

    found = find_student(str(run / "models" / "bilstm-int8"))

    assert (found.name, found.facts.precision) == ("big/bilstm-int8", "int8")  # type: ignore[union-attr]  # exported
    assert set(found.files) == {"model.onnx", "model.json", "tokenizer.json", "profile.json"}


def test_a_run_is_shown_with_the_students_in_it(run: Path) -> None:
    with pytest.raises(ArtifactMissing) as raised:
        find_student(str(run))

    assert "it has several" in str(raised.value)
    assert str(run / "students" / "bilstm") + ", " + str(run / "students" / "bilstm-alone") in str(raised.value)


@pytest.mark.parametrize(
    ("files", "reason", "advice"),
    [
        ({"notes.txt": ""}, "there is no student in it", "runs/NAME/students/bilstm/0"),
        ({"config.json": '{"model_type": "bert"}'}, "it is an encoder", 'checkpoint = "'),
        ({"manifest.json": '{"kind": "corpus"}'}, "it is a corpus", "runs/NAME/students/bilstm/0"),
        ({"manifest.json": "{"}, "there is no student in it", "runs/NAME/students/bilstm/0"),
    ],
)
def test_a_folder_of_something_else_is_called_what_it_is(
    tmp_path: Path, files: dict[str, str], reason: str, advice: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    with pytest.raises(ArtifactMissing) as raised:
        find_student(str(tmp_path))

    assert raised.value.reason.startswith(reason)
    assert advice in str(raised.value)


def test_a_file_is_called_a_file(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_text("", encoding="utf-8")

    with pytest.raises(ArtifactMissing, match="it is a file, not a folder"):
        find_student(str(tmp_path / "model.onnx"))


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("model.safetensors", "short", "model.safetensors has 5 bytes"),
        ("student.json", "{", "student.json cannot be read"),
        ("student.json", '{"wings": 2}', "student.json cannot be read"),
    ],
)
def test_a_damaged_student_is_refused_with_what_is_wrong(
    tmp_path: Path, student_with: StudentWith, name: str, text: str, fault: str
) -> None:
    folder = student_with(tmp_path / "student")
    (folder / name).write_text(text, encoding="utf-8")

    with pytest.raises(ArtifactDamaged, match=fault):
        find_student(str(folder))
