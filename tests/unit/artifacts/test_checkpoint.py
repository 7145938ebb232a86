import shutil
from pathlib import Path

from limbeck.artifacts.manifest import checkpoint_fingerprint


def test_a_folder_is_known_by_its_content(tiny_teacher_copy: Path, tmp_path: Path) -> None:
    before = checkpoint_fingerprint(str(tiny_teacher_copy))
    copied = shutil.copytree(tiny_teacher_copy, tmp_path / "elsewhere")

    assert checkpoint_fingerprint(str(copied)) == before
    (tiny_teacher_copy / "config.json").write_text("{}")
    assert checkpoint_fingerprint(str(tiny_teacher_copy)) != before


def test_files_that_are_not_read_do_not_count(tiny_teacher_copy: Path) -> None:
    before = checkpoint_fingerprint(str(tiny_teacher_copy))
    (tiny_teacher_copy / "notes.md").write_text("trained on a Sunday")

    assert checkpoint_fingerprint(str(tiny_teacher_copy)) == before


def test_a_hub_name_stands_for_itself() -> None:
    assert checkpoint_fingerprint("some/hub-name") == "some/hub-name"
