"""An artifact is there whole or not at all, and it is known why one has to be made again."""

import json
from pathlib import Path

import pytest

from limbeck.artifacts import atomic_folder
from limbeck.artifacts.atomic_folder import copied, why_redo, written_atomically
from limbeck.artifacts.manifest import MANIFEST, WORK, Key, faults_of, read_manifest

KEY = Key(section={"epochs": 3, "inner": {"size": 8}}, inputs={"corpus": "c1", "teacher": "t1"})
OTHER = Key(section={"epochs": 4, "inner": {"size": 8}}, inputs={"corpus": "c1", "teacher": "t1"})


class Killed(BaseException):
    """Simulates the end of the process: nothing of ours catches it."""


def make(folder: Path, key: Key = KEY, text: str = "weights") -> Path:
    with written_atomically(folder, kind="student", key=key) as scratch:
        (scratch / "deep").mkdir(exist_ok=True)
        (scratch / "deep" / "weights.bin").write_text(text, encoding="utf-8")
    return folder


def make_and_die_at(step: str, folder: Path, monkeypatch: pytest.MonkeyPatch, key: Key = KEY) -> None:
    """Make the artifact in a process that ends when it comes to this function of the module."""

    def die(*_facts: object, **_more: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(atomic_folder, step, die)
        with pytest.raises(Killed):
            make(folder, key)


def die_half_way(folder: Path) -> None:
    """Make half of the artifact in a process that ends before the other half."""
    with written_atomically(folder, kind="student", key=KEY) as scratch:
        (scratch / WORK / "checkpoint").write_text("step 7", encoding="utf-8")
        (scratch / "half.bin").write_text("half", encoding="utf-8")
        raise Killed


def why(folder: Path, key: Key = KEY) -> str | None:
    return why_redo(folder, kind="student", key=key)


def test_a_finished_artifact_holds_its_files_and_a_manifest_and_nothing_else(tmp_path: Path) -> None:
    folder = make(tmp_path / "student")

    manifest = read_manifest(folder, kind="student")
    assert list(manifest.files) == ["deep/weights.bin"]
    assert faults_of(folder, manifest) == []
    assert sorted(path.name for path in folder.iterdir()) == ["deep", MANIFEST]
    assert [path.name for path in tmp_path.iterdir()] == ["student"]


def test_a_failure_leaves_nothing_at_the_target(tmp_path: Path) -> None:
    with pytest.raises(Killed):
        die_half_way(tmp_path / "student")

    assert not (tmp_path / "student").exists()


def test_a_failure_leaves_the_artifact_that_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make(tmp_path / "student")

    make_and_die_at("write_manifest", folder, monkeypatch, OTHER)

    assert why(folder) is None


def test_the_same_key_gets_the_scratch_folder_again_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "student"
    with pytest.raises(Killed):
        die_half_way(folder)

    reason = why(folder)
    with written_atomically(folder, kind="student", key=KEY) as scratch:
        kept = (scratch / WORK / "checkpoint").read_text(encoding="utf-8")

    assert kept == "step 7"
    assert reason == "continuing a stopped run"
    assert not (folder / WORK).exists()


def test_another_key_gets_an_empty_scratch_folder(tmp_path: Path) -> None:
    folder = tmp_path / "student"
    with pytest.raises(Killed):
        die_half_way(folder)

    reason = why(folder, OTHER)
    make(folder, OTHER)

    assert reason == "not made yet"
    assert list(read_manifest(folder, kind="student").files) == ["deep/weights.bin"]


def test_a_run_killed_while_it_takes_stock_keeps_its_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "student"

    make_and_die_at("write_manifest", folder, monkeypatch)

    assert why(folder) == "continuing a stopped run"


def test_a_half_written_manifest_of_a_killed_run_is_no_part_of_the_artifact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "student"
    make_and_die_at("write_manifest", folder, monkeypatch)
    (tmp_path / "student.partial" / f"{MANIFEST}.partial").write_text('{"kind": "stu', encoding="utf-8")

    make(folder)

    assert list(read_manifest(folder, kind="student").files) == ["deep/weights.bin"]
    assert why(folder) is None


def test_a_run_killed_between_the_last_write_and_the_rename_is_adopted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "student"
    make_and_die_at("_put_in_place", folder, monkeypatch)
    assert not folder.exists()

    assert why(folder) is None
    assert (folder / "deep" / "weights.bin").read_text(encoding="utf-8") == "weights"
    assert not (folder / WORK).exists()


def test_a_run_killed_between_the_two_renames_is_adopted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make(tmp_path / "student", OTHER, "older")
    make_and_die_at("_put_in_place", folder, monkeypatch)
    folder.rename(tmp_path / "student.old")

    assert why(folder) is None
    assert (folder / "deep" / "weights.bin").read_text(encoding="utf-8") == "weights"
    assert [path.name for path in tmp_path.iterdir()] == ["student"]


def test_a_finished_scratch_folder_with_another_key_is_not_adopted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "student"
    make_and_die_at("_put_in_place", folder, monkeypatch)

    assert why(folder, OTHER) == "not made yet"


def test_a_damaged_scratch_folder_is_not_adopted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "student"
    make_and_die_at("_put_in_place", folder, monkeypatch)
    (tmp_path / "student.partial" / "deep" / "weights.bin").write_text("changed", encoding="utf-8")

    assert why(folder) == "continuing a stopped run"
    assert not folder.exists()


def test_a_new_artifact_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    folder = make(tmp_path / "student")

    make(folder, OTHER, "newer")

    assert (folder / "deep" / "weights.bin").read_text(encoding="utf-8") == "newer"
    assert why(folder, OTHER) is None
    assert [path.name for path in tmp_path.iterdir()] == ["student"]


def test_what_is_still_true_need_not_be_made_again(tmp_path: Path) -> None:
    folder = make(tmp_path / "student")

    assert why(folder) is None
    assert why(folder, Key(section={"inner": {"size": 8}, "epochs": 3}, inputs=KEY.inputs)) is None


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        (OTHER, "recipe changed: epochs: 3 → 4"),
        (Key(section={"epochs": 3, "inner": {"size": 9}}, inputs=KEY.inputs), "recipe changed: inner.size: 8 → 9"),
        (Key(section={"inner": {"size": 8}}, inputs=KEY.inputs), "recipe changed: epochs: 3 → nothing"),
        (Key(section={**KEY.section, "new": ["x"]}, inputs=KEY.inputs), 'recipe changed: new: nothing → ["x"]'),
        (Key(section=KEY.section, inputs={"corpus": "c2", "teacher": "t1"}), "corpus changed"),
        (Key(section=KEY.section, inputs={"corpus": "c2", "teacher": "t2"}), "corpus, teacher changed"),
        (Key(section=KEY.section, inputs={"corpus": "c1"}), "teacher changed"),
        (Key(section=KEY.section, inputs={**KEY.inputs, "transfer": "x"}), "transfer changed"),
    ],
)
def test_the_reason_to_make_it_again_is_said_in_words(tmp_path: Path, key: Key, reason: str) -> None:
    folder = make(tmp_path / "student")

    assert why(folder, key) == reason


def test_a_long_change_is_cut_short(tmp_path: Path) -> None:
    folder = make(tmp_path / "student")

    reason = why(folder, Key(section={**KEY.section, "epochs": "x" * 500}, inputs=KEY.inputs))

    assert reason is not None
    assert len(reason) < 100


def test_what_was_never_made_is_not_made_yet(tmp_path: Path) -> None:
    assert why(tmp_path / "student") == "not made yet"


def test_a_truncated_file_is_found(tmp_path: Path) -> None:
    folder = make(tmp_path / "student")
    (folder / "deep" / "weights.bin").write_text("wei", encoding="utf-8")

    assert why(folder) == "damaged: deep/weights.bin has 3 bytes instead of 7"


def test_a_changed_file_of_the_same_size_is_found(tmp_path: Path) -> None:
    folder = make(tmp_path / "student")
    (folder / "deep" / "weights.bin").write_text("wEights", encoding="utf-8")

    assert why(folder) == "damaged: deep/weights.bin has changed since it was written"


def test_a_missing_file_is_found(tmp_path: Path) -> None:
    folder = make(tmp_path / "student")
    (folder / "deep" / "weights.bin").unlink()

    assert why(folder) == "damaged: deep/weights.bin is missing"


def test_a_folder_without_a_manifest_is_made_again(tmp_path: Path) -> None:
    folder = make(tmp_path / "student")
    (folder / MANIFEST).unlink()

    assert why(folder) == "damaged: it has no manifest.json"


@pytest.mark.parametrize(("number", "reason"), [(99, "reads formats up to 3"), (0, "in format 0")])
def test_another_format_is_made_again(tmp_path: Path, number: int, reason: str) -> None:
    folder = make(tmp_path / "student")
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    (folder / MANIFEST).write_text(json.dumps({**manifest, "format": number}), encoding="utf-8")

    assert reason in str(why(folder))


def test_an_artifact_with_the_same_key_is_copied_with_its_fingerprint(tmp_path: Path) -> None:
    other, same = make(tmp_path / "a", key=OTHER), make(tmp_path / "b")
    with pytest.raises(Killed):
        die_half_way(tmp_path / "mine")

    source = copied(tmp_path / "mine", kind="student", key=KEY, among=[tmp_path / "none", other, same])

    assert source == same
    assert why(tmp_path / "mine") is None
    mine, theirs = (read_manifest(folder, kind="student") for folder in (tmp_path / "mine", same))
    assert (mine.fingerprint, list(mine.files)) == (theirs.fingerprint, ["deep/weights.bin"])


def test_a_damaged_artifact_or_one_with_another_key_is_not_copied(tmp_path: Path) -> None:
    other, damaged = make(tmp_path / "a", key=OTHER), make(tmp_path / "b")
    (damaged / "deep" / "weights.bin").write_text("weighty", encoding="utf-8")

    assert copied(tmp_path / "mine", kind="student", key=KEY, among=[other, damaged]) is None
    assert copied(tmp_path / "mine", kind="teacher", key=OTHER, among=[other]) is None
    assert not (tmp_path / "mine").exists()
