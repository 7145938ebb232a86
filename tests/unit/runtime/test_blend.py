"""A blend runs like any model: its logits are the weighted sum of those of its members."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import CARD, Member, ModelFacts, ModelFolder, copy_model, save_facts
from limbeck.errors import ArtifactDamaged, EngineUnusable
from limbeck.runtime.classifier import Classifier, load
from limbeck.runtime.engine import EngineChoice

TEXTS = ["a gorgeous film", "", "this dreadful evening was long and quiet", "unknown words only"]


def blend_of(folder: Path, members: dict[str, tuple[Path, float]], *, temperature: float = 1.0) -> Path:
    """A blend of exported models, with these weights."""
    facts: list[ModelFacts] = []
    with written_atomically(folder, kind="model", key=Key(section={}, inputs={})) as scratch:
        for name, (place, _) in members.items():
            copy_model(ModelFolder(place), scratch / name, has_profile=False)
            facts.append(ModelFolder(place).facts())
        weights = tuple(Member(name, weight) for name, (_, weight) in members.items())
        save_facts(scratch, replace(facts[0], name="blend", kind="blend", temperature=temperature, members=weights))
    return folder


@pytest.fixture
def warm(model_folder: Path, tmp_path: Path) -> Path:
    """The model with a temperature of its own."""
    folder = tmp_path / "warm"
    shutil.copytree(model_folder, folder)
    card = json.loads((folder / CARD).read_text(encoding="utf-8"))
    (folder / CARD).write_text(json.dumps({**card, "temperature": 2.5}), encoding="utf-8")
    return folder


def test_logits_are_the_weighted_sum_of_the_calibrated_logits_of_the_members(
    model_folder: Path, framed_folder: Path, tmp_path: Path
) -> None:
    blend = load(blend_of(tmp_path / "blend", {"a": (model_folder, 0.25), "b": (framed_folder, 0.75)}))

    words, framed = load(model_folder), load(framed_folder)
    factors = np.float32(0.25 / words.facts.temperature), np.float32(0.75 / framed.facts.temperature)
    expected = words.logits(TEXTS) * factors[0] + framed.logits(TEXTS) * factors[1]
    np.testing.assert_array_equal(blend.logits(TEXTS), expected)
    assert blend.logits([]).shape == (0, len(words.labels))
    assert blend.engine == " and ".join(dict.fromkeys([words.engine, framed.engine]))


def test_probabilities_use_the_temperature_of_the_blend(model_folder: Path, warm: Path, tmp_path: Path) -> None:
    members = {"a": (model_folder, 0.5), "b": (warm, 0.5)}
    cold, hot = load(blend_of(tmp_path / "one", members)), load(blend_of(tmp_path / "two", members, temperature=4.0))

    np.testing.assert_array_equal(cold.logits(TEXTS), hot.logits(TEXTS))
    assert cold.predict(TEXTS) == hot.predict(TEXTS)
    assert (hot.predict_proba(TEXTS).max(axis=1) < cold.predict_proba(TEXTS).max(axis=1)).all()
    np.testing.assert_allclose(hot.predict_proba(TEXTS).sum(axis=1), 1, rtol=1e-6)


def test_pairs_and_sets_of_labels_are_blended_too(
    pair_model_folder: Path, multi_label_folder: Path, tmp_path: Path
) -> None:
    pairs = load(blend_of(tmp_path / "pairs", {"a": (pair_model_folder, 0.5), "b": (pair_model_folder, 0.5)}))
    sets = load(blend_of(tmp_path / "sets", {"a": (multi_label_folder, 0.5), "b": (multi_label_folder, 0.5)}))

    assert pairs.predict([("a film", "a story")]) == load(pair_model_folder).predict([("a film", "a story")])
    assert sets.predict(TEXTS) == load(multi_label_folder).predict(TEXTS)


def test_an_engine_that_is_asked_for_runs_every_member(
    model_folder: Path, framed_folder: Path, tmp_path: Path, engine: EngineChoice
) -> None:
    words = ModelFolder(blend_of(tmp_path / "words", {"a": (model_folder, 0.5), "b": (model_folder, 0.5)}))
    mixed = ModelFolder(blend_of(tmp_path / "mixed", {"a": (model_folder, 0.5), "b": (framed_folder, 0.5)}))

    assert Classifier(words, engine=engine).engine == Classifier(ModelFolder(model_folder), engine=engine).engine
    if engine == "native":
        with pytest.raises(EngineUnusable):
            Classifier(mixed, engine=engine)


@pytest.mark.parametrize("file", ["a/model.onnx", "b/tokenizer.json", "model.json"])
def test_a_damaged_file_of_a_member_is_found(model_folder: Path, tmp_path: Path, file: str) -> None:
    folder = blend_of(tmp_path / "blend", {"a": (model_folder, 0.5), "b": (model_folder, 0.5)})
    (folder / file).write_bytes((folder / file).read_bytes()[:-1])

    with pytest.raises(ArtifactDamaged) as caught:
        load(folder)

    assert caught.value.faults[0].startswith(f"{file} has ")


@pytest.mark.parametrize("place", ["../a", "/a", "c", "..", "a\0", "a" * 300])
def test_a_member_outside_of_the_folder_is_refused(model_folder: Path, tmp_path: Path, place: str) -> None:
    folder = blend_of(tmp_path / "blend", {"a": (model_folder, 1.0)})
    save_facts(folder, replace(ModelFolder(folder).facts(), members=(Member(place, 1.0),)))

    with pytest.raises(ArtifactDamaged, match="there is no member"):
        Classifier(ModelFolder(folder))


def test_a_member_with_other_classes_is_refused(model_folder: Path, tmp_path: Path) -> None:
    folder = blend_of(tmp_path / "blend", {"a": (model_folder, 1.0)})
    facts = ModelFolder(folder).facts()
    save_facts(folder, replace(facts, labels=facts.labels[::-1]))

    with pytest.raises(ArtifactDamaged, match="has other classes"):
        Classifier(ModelFolder(folder))
