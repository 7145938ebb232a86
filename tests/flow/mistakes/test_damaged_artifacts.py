"""Artifacts damaged on the disk: found by their manifest, said so, made again, and the run ends well."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

Command = Callable[..., Any]
ONE_FILE_OF_EACH = {
    "corpus": "train.arrow",
    "transfer": "transfer.arrow",
    "teacher": "model.safetensors",
    "labels": "labels.arrow",
    "vocabulary": "tokenizer.json",
    "students/bilstm/0": "model.safetensors",
    "models/bilstm": "model.json",
    "exports/bilstm-int8/0": "model.onnx",
    "rival": "weights.npy",
    "report": "report.json",
}


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize(
    ("damage", "reason"),
    [(flip_a_bit, "has changed since it was written"), (truncate, "instead of"), (Path.unlink, "is missing")],
)
def test_damaged_files_of_every_kind_are_found_and_made_again(
    toy: Any, limbeck: Command, damage: Callable[[Path], None], reason: str
) -> None:
    for artifact, file in ONE_FILE_OF_EACH.items():
        damage(toy.run / artifact / file)

    answer = limbeck("run", toy.recipe, "--out", toy.run)

    assert answer.code == 0
    assert list(answer.steps("▸")) == list(ONE_FILE_OF_EACH)
    for artifact, said in answer.steps("▸").items():
        assert said.startswith(f"damaged: {ONE_FILE_OF_EACH[artifact]} ")
        assert reason in said
    assert limbeck("run", toy.recipe, "--out", toy.run).steps("▸") == {}


def change_the_fingerprint(path: Path) -> None:
    manifest = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**manifest, "fingerprint": manifest["fingerprint"][::-1]}), encoding="utf-8")


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (change_the_fingerprint, "its manifest.json cannot be read"),
        (truncate, "its manifest.json cannot be read"),
        (Path.unlink, "it has no manifest.json"),
    ],
)
def test_damaged_manifests_are_found_and_made_again(
    toy: Any, limbeck: Command, damage: Callable[[Path], None], reason: str
) -> None:
    for artifact in ONE_FILE_OF_EACH:
        damage(toy.run / artifact / "manifest.json")

    answer = limbeck("run", toy.recipe, "--out", toy.run)

    assert answer.code == 0
    assert answer.steps("▸") == dict.fromkeys(ONE_FILE_OF_EACH, f"damaged: {reason}")


@pytest.mark.parametrize("content", ["", "null", "[]", '{"stages": 3}', "\udcff"])
def test_a_damaged_story_of_the_run_is_begun_again(toy: Any, limbeck: Command, content: str) -> None:
    (toy.run / "run.json").write_bytes(content.encode("utf-8", "surrogateescape"))

    answer = limbeck("run", toy.recipe, "--out", toy.run)

    assert answer.code == 0
    assert answer.steps("▸") == {}
    assert '"corpus"' in (toy.run / "run.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("damage", [flip_a_bit, truncate])
def test_what_a_damaged_shard_of_the_label_store_held_is_asked_again(
    toy: Any, limbeck: Command, damage: Callable[[Path], None]
) -> None:
    shards = sorted((toy.folder / "runs" / ".label-store").rglob("*.arrow"))
    held = pa.ipc.open_file(shards[0].read_bytes()).read_all().num_rows
    labels = (toy.run / "labels" / "labels.arrow").read_bytes()
    shutil.rmtree(toy.run / "labels")
    damage(shards[0])

    answer = limbeck("run", toy.recipe, "--out", toy.run)

    assert answer.code == 0
    assert f"{shards[0].name} is damaged; the teacher is asked again for its texts" in answer.err
    assert f": {held} texts asked, " in answer.err
    assert (toy.run / "labels" / "labels.arrow").read_bytes() == labels
    assert list(answer.steps("▸")) == ["labels"]


def test_a_damaged_checkpoint_of_a_stopped_training_is_not_gone_on_from(
    toy: Any, limbeck: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = (toy.run / "students" / "bilstm" / "0" / "model.safetensors").read_bytes()
    shutil.rmtree(toy.run / "students" / "bilstm")
    with monkeypatch.context() as stopped:
        stopped.setattr("limbeck.distillation.run.save_student_facts", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            limbeck("run", toy.recipe, "--out", toy.run)

    truncate(toy.run / "students" / "bilstm" / "0.partial" / ".work" / "checkpoint.safetensors")
    answer = limbeck("run", toy.recipe, "--out", toy.run)

    assert answer.code == 0
    assert answer.steps("▸") == {"students/bilstm/0": "continuing a stopped run"}
    assert (toy.run / "students" / "bilstm" / "0" / "model.safetensors").read_bytes() == weights
