"""A model goes to a hub and comes back: what is sent, what is loaded, and what is said when it cannot be."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import huggingface_hub
import numpy as np
import pytest
from typer.testing import CliRunner

from limbeck import load, register_auto_classes
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.cli import app
from limbeck.errors import ArtifactMissing, PathUnusable
from limbeck.export import export_student
from limbeck.progress import SilentReporter
from limbeck.publishing.card import card_with
from limbeck.publishing.run import PushRefused, push
from limbeck.recipe.export import Export
from limbeck.runtime.hub_model import HubModelUnusable, hub_address
from tests.unit.publishing.fake_hub import FakeHub

TEXTS = ["a gorgeous film", "", "unknown words only"]
NAME = "ada/reviews"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    with FakeHub() as fake:
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", fake.url)
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache" / "hub"))
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
        template = fake.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setenv("HF_TOKEN", fake.token)
        yield fake


@pytest.fixture(scope="session")
def run_folder(
    tmp_path_factory: pytest.TempPathFactory, make_student: Any, toy_rows: tuple[tuple[str, str], ...]
) -> Path:
    """As a run leaves it: a student, its export, and the model that ships. Shared: read it, don't write to it."""
    run, texts = tmp_path_factory.mktemp("run"), [text for text, _ in toy_rows]
    student = make_student(run / "students" / "bilstm" / "0")
    rows = Rows.of(ids=texts, texts=texts)
    export = run / "exports" / "bilstm" / "0"
    export_student(
        Export(),
        student=student,
        rows=rows,
        precision="fp32",
        out=export,
        key=Key(section={}, inputs={}),
        reporter=SilentReporter(),
    )
    shutil.copytree(export, run / "models" / "best")
    (run / "run.json").write_text("{}", encoding="utf-8")
    (run / "models" / "best" / "README.md").write_text(
        '---\nlanguage: "en"\n---\n\n# bilstm\n\nNumbers.\n', encoding="utf-8"
    )
    return run


def test_a_pushed_model_loads_from_its_address_and_from_transformers(run_folder: Path, hub: FakeHub) -> None:
    from transformers import AutoModelForSequenceClassification

    done = push(run_folder, NAME, examples=TEXTS[:1], private=True)
    model, local = load(f"hf://{NAME}"), load(run_folder / "models" / "best")
    register_auto_classes()
    student: Any = AutoModelForSequenceClassification.from_pretrained(NAME)

    assert done.url == f"{hub.url}/{NAME}"
    assert set(done.files) == set(hub.files[NAME])
    assert {"README.md", "model.onnx", "model.safetensors", "config.json", "tokenizer.json"} <= set(done.files)
    assert hub.private[NAME]
    np.testing.assert_array_equal(model.logits(TEXTS), local.logits(TEXTS))
    assert student.config.id2label == dict(enumerate(local.labels))


def test_what_was_fetched_is_fetched_once_and_another_commit_anew(run_folder: Path, hub: FakeHub) -> None:
    push(run_folder, NAME)
    first = load(f"hf://{NAME}").folder
    before = len(hub.asked)
    again = load(f"hf://{NAME}").folder
    questions = hub.asked[before:]
    pinned = load(f"hf://{NAME}@{hub.commit(NAME)}").folder

    hub.files[NAME]["README.md"] += b"\nEdited.\n"
    other = load(f"hf://{NAME}").folder

    assert first == again == pinned
    assert questions == [f"HEAD /{NAME}/resolve/main/manifest.json"]
    assert other != first
    assert not any(path.is_symlink() for path in first.iterdir())
    assert {path.name for path in first.iterdir()} == {
        "manifest.json",
        "model.json",
        "model.onnx",
        "tokenizer.json",
    } | ({"profile.json"} & set(hub.files[NAME]))


def test_the_card_has_examples_and_how_to_load_it(run_folder: Path, tmp_path: Path) -> None:
    push(run_folder, NAME, examples=['a "gorgeous" film'], dry_run=True, out=tmp_path / "files")

    card = (tmp_path / "files" / "README.md").read_text(encoding="utf-8")
    front, body = card.split("---\n")[1:3]
    widget = next(line for line in front.splitlines() if line.startswith("widget: "))
    assert json.loads(widget.removeprefix("widget: ")) == [{"text": 'a "gorgeous" film'}]
    assert 'language: "en"' in front
    assert 'limbeck.load("hf://ada/reviews")' in body
    assert "Numbers." in body


def test_a_model_outside_of_its_run_has_a_card_of_its_own_and_no_weights(run_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(run_folder / "models" / "best", folder)
    (folder / "README.md").unlink()

    done = push(folder, NAME, dry_run=True, out=tmp_path / "files")

    assert (done.url, done.has_weights, "model.safetensors" in done.files) == (None, False, False)
    card = (tmp_path / "files" / "README.md").read_text(encoding="utf-8")
    assert "library_name: limbeck" in card
    assert "widget" not in card  # no row of anybody's data gets there by itself
    assert load(tmp_path / "files").predict(TEXTS) == load(folder).predict(TEXTS)


def test_examples_of_pairs_have_both_texts(run_folder: Path) -> None:
    facts = load(run_folder / "models" / "best").facts

    card = card_with("", facts, repository=NAME, examples=[("one", "two")], has_weights=False)

    assert 'widget: [{"text": "one", "text_pair": "two"}]' in card


def test_the_command_says_what_it_would_send_and_sends_it(run_folder: Path, hub: FakeHub) -> None:
    dry = CliRunner().invoke(app, ["push", str(run_folder), NAME, "--dry-run"])
    asked = list(hub.asked)
    done = CliRunner().invoke(app, ["push", str(run_folder), NAME, "--example", "a film"])

    assert (dry.exit_code, asked) == (0, [])
    assert "would send" in dry.stdout
    assert "model.onnx" in dry.stdout
    assert done.exit_code == 0, done.stderr
    assert f'limbeck.load("hf://{NAME}")' in done.stdout
    assert b'"a film"' in hub.files[NAME]["README.md"]


def test_what_cannot_be_sent_or_fetched_is_said(
    run_folder: Path, hub: FakeHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hub.files["ada/other"] = {"config.json": b"{}"}

    with pytest.raises(HubModelUnusable, match=r"it has no manifest\.json"):
        load("hf://ada/other")
    with pytest.raises(HubModelUnusable, match="nobody/nothing"):
        load("hf://nobody/nothing")
    with pytest.raises(HubModelUnusable, match="no address of a model"):
        load("hf://reviews")
    with pytest.raises(PathUnusable, match="no name of a repository"):
        push(run_folder, "reviews")
    with pytest.raises(ArtifactMissing, match="it has best"):
        push(run_folder, NAME, model="other")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    with pytest.raises(PathUnusable, match="already exists"):
        push(run_folder, NAME, out=tmp_path / "taken")
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    with pytest.raises(PushRefused, match="hf auth login"):
        push(run_folder, NAME)


def test_addresses_are_read_as_the_hub_writes_them() -> None:
    for text, parts in {
        "hf://ada/reviews": ("ada/reviews", None, ""),
        "hf:/ada/reviews": ("ada/reviews", None, ""),  # as pathlib.Path leaves it
        "hf://ada/reviews@v1.0": ("ada/reviews", "v1.0", ""),
        "hf://ada/reviews@main/models/int8/": ("ada/reviews", "main", "models/int8"),
    }.items():
        found = hub_address(text)
        assert (found.name, found.revision, found.folder) == parts
    for text in ("hf://a/b/../c", "hf://a", "hf:///a/b", "hf://a/b c"):
        with pytest.raises(HubModelUnusable):
            hub_address(text)
