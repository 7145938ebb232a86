"""A model folder is opened only when it is whole, a model, and not newer than we are."""

import json
from pathlib import Path

import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import MANIFEST, FormatTooNew, Key
from limbeck.artifacts.model_folder import GRAPH, TOKENIZER, ModelFacts, ModelFolder, open_model, save_facts
from limbeck.errors import ArtifactDamaged, ArtifactMissing

FACTS = ModelFacts(
    name="bilstm",
    kind="bilstm",
    precision="int8",
    labels=["negative", "positive"],
    language="en",
    pair=False,
    max_length=256,
    parameters=1000,
    parameters_without_embeddings=100,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with written_atomically(tmp_path / "model", kind="model", key=Key(section={}, inputs={})) as scratch:
        (scratch / GRAPH).write_bytes(b"\x00" * 1_000_000)
        (scratch / TOKENIZER).write_text("{}", encoding="utf-8")
        save_facts(scratch, FACTS)
    return tmp_path / "model"


def test_a_whole_model_is_opened_with_its_facts(folder: Path) -> None:
    model = open_model(folder)

    assert model.facts() == FACTS
    assert model.graph.is_file()
    assert model.tokenizer.is_file()


def test_the_size_is_that_of_all_files_in_millions_of_bytes(folder: Path) -> None:
    rest = sum(path.stat().st_size for path in folder.iterdir() if path.name != GRAPH)

    assert open_model(folder).size_mb() == pytest.approx(1.0 + rest / 1e6)


def test_a_folder_that_is_no_model_gets_advice(tmp_path: Path) -> None:
    with pytest.raises(ArtifactMissing, match="Give the folder of an exported model"):
        open_model(tmp_path / "nothing")


@pytest.mark.parametrize("name", [GRAPH, TOKENIZER, "model.json"])
def test_a_truncated_file_is_refused(folder: Path, name: str) -> None:
    (folder / name).write_bytes((folder / name).read_bytes()[:-1])

    with pytest.raises(ArtifactDamaged) as caught:
        open_model(folder)

    assert caught.value.faults[0].startswith(f"{name} has ")


def test_a_model_of_a_newer_limbeck_is_refused(folder: Path) -> None:
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    (folder / MANIFEST).write_text(json.dumps({**manifest, "format": 99}), encoding="utf-8")

    with pytest.raises(FormatTooNew, match="in format 99"):
        open_model(folder)


def test_a_model_of_before_there_were_temperatures_has_that_of_one(folder: Path) -> None:
    card = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    del card["temperature"]
    (folder / "model.json").write_text(json.dumps(card), encoding="utf-8")

    assert ModelFolder(folder).facts().temperature == 1.0
