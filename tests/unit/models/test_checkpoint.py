"""Finding a checkpoint, and saying clearly when there is none."""

from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from limbeck.errors import CheckpointDamaged
from limbeck.models import checkpoint as checkpoints
from limbeck.models.checkpoint import (
    OFFLINE_PACKAGES,
    CheckpointMistaken,
    CheckpointNotFound,
    WeightsNotSafe,
    find_checkpoint,
)


def test_a_folder_is_taken_as_it_is(tiny_teacher_folder: Path) -> None:
    assert find_checkpoint(str(tiny_teacher_folder)) == tiny_teacher_folder


def test_a_name_that_is_not_found_is_an_error_that_lists_what_was_tried() -> None:
    with pytest.raises(CheckpointNotFound) as raised:
        find_checkpoint("all-MiniLM-L6-v3")

    message = str(raised.value)
    assert "not a folder here" in message
    assert "the hub:" in message
    assert "did you mean 'all-MiniLM-L6-v2'?" in message


def test_pickled_weights_are_refused_by_name(tiny_teacher_copy: Path) -> None:
    (tiny_teacher_copy / "model.safetensors").rename(tiny_teacher_copy / "pytorch_model.bin")

    with pytest.raises(WeightsNotSafe, match=r"pytorch_model\.bin"):
        find_checkpoint(str(tiny_teacher_copy))


def test_a_folder_that_is_not_a_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointDamaged, match=r"config\.json"):
        find_checkpoint(str(tmp_path))


def test_an_offline_package_with_other_weights_than_upstream_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = OFFLINE_PACKAGES["all-MiniLM-L6-v2"]
    (tmp_path / package.folder).mkdir()
    (tmp_path / package.folder / "model.safetensors").write_bytes(b"something else")
    spec = ModuleSpec(package.module, None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(checkpoints, "find_spec", lambda name: spec if name == package.module else None)

    with pytest.raises(CheckpointDamaged, match="sha256"):
        find_checkpoint("sentence-transformers/all-MiniLM-L6-v2")


def file_in(folder: Path, name: str, text: str = "") -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("files", "found", "meant"),
    [
        (
            {"config.json": '{"model_type": "limbeck_bilstm"}', "model.safetensors": ""},
            "a Limbeck student, not an encoder",
            "runs/NAME/teacher",
        ),
        (
            {"config.json": '{"model_type": "limbeck_bag"}', "model.safetensors": ""},
            "a Limbeck student, not an encoder",
            'kind = "student", path = "',
        ),
        ({"model.onnx": "", "model.json": "{}"}, "an exported model", 'kind = "student", path = "'),
        (
            {"run.json": "{}", "teacher/config.json": '{"model_type": "limbeck_bilstm"}'},
            "the folder of a Limbeck run",
            "this run has none",
        ),
        ({"run.json": "{}", "teacher/config.json": "{}"}, "the folder of a Limbeck run", 'given/teacher"'),
        ({"run.json": "{}", "teachers/bert/config.json": "{}"}, "the folder of a Limbeck run", 'given/teachers/bert"'),
        ({"run.json": "{}"}, "the folder of a Limbeck run", "this run has none"),
        ({"model.onnx": "", "model.json": "{}"}, "an exported model", "runs/NAME/teacher"),
        ({"bert_model.ckpt.index": "", "vocab.txt": ""}, "a TensorFlow checkpoint", "limbeck import-tf "),
        ({"answers.arrow": "", "teacher.json": '{"kind": "file"}'}, "read from a file", 'kind = "file"'),
        ({"teacher.json": '{"kind": "ensemble"}'}, "an ensemble of teachers", "save_pretrained"),
    ],
)
def test_a_folder_that_is_something_else_is_called_what_it_is(
    tmp_path: Path, files: dict[str, str], found: str, meant: str
) -> None:
    for name, text in files.items():
        file_in(tmp_path / "given", name, text)

    with pytest.raises(CheckpointMistaken) as raised:
        find_checkpoint(str(tmp_path / "given"))

    assert found in raised.value.found
    assert meant in str(raised.value)


def test_files_of_other_kinds_next_to_safe_weights_do_not_matter(tiny_teacher_copy: Path) -> None:
    """Folders of the hub often hold a model in several forms."""
    for name in ("model.onnx", "model.ckpt.index", "model.safetensors.index.json"):
        file_in(tiny_teacher_copy, name)

    assert find_checkpoint(str(tiny_teacher_copy)) == tiny_teacher_copy
