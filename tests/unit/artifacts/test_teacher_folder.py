"""Teachers that give the same answers have the same fingerprint, so that none is asked twice."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.teacher_folder import TeacherFacts, TeacherFolder, save_teacher_facts

FACTS = TeacherFacts(
    name="tiny",
    labels=["negative", "positive"],
    max_length=128,
    precision="fp32",
    parameters=1000,
    parameters_without_embeddings=100,
    dev_accuracy=0.9,
)


def teacher(
    folder: Path,
    facts: TeacherFacts = FACTS,
    *,
    weights: str = "weights",
    tokenizer: str = "tokenizer",
    history: str = "[]",
) -> TeacherFolder:
    with written_atomically(folder, kind="teacher", key=Key(section={"at": str(folder)}, inputs={})) as scratch:
        (scratch / "model.safetensors").write_text(weights, encoding="utf-8")
        (scratch / "tokenizer.json").write_text(tokenizer, encoding="utf-8")
        (scratch / "history.json").write_text(history, encoding="utf-8")
        save_teacher_facts(scratch, facts)
    return TeacherFolder(folder)


def test_facts_are_read_back(tmp_path: Path) -> None:
    assert teacher(tmp_path / "teacher").facts == FACTS


def test_what_does_not_change_an_answer_does_not_change_the_fingerprint(tmp_path: Path) -> None:
    first = teacher(tmp_path / "one")
    moved = teacher(tmp_path / "two", replace(FACTS, name="/another/place/tiny", dev_accuracy=0.8), history="[1]")

    assert first.fingerprint == moved.fingerprint


CHANGES: dict[str, dict[str, Any]] = {
    "weights": {"weights": "other"},
    "tokenizer": {"tokenizer": "other"},
    "max length": {"facts": replace(FACTS, max_length=64)},
    "precision": {"facts": replace(FACTS, precision="bf16")},
    "which part of a long text is read": {"facts": replace(FACTS, long_texts="head_and_tail")},
    "how much of its head": {"facts": replace(FACTS, long_texts="head_and_tail", head_share=0.5)},
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_what_decides_about_answers_never_finds_the_labels_of_before(tmp_path: Path, change: str) -> None:
    """The label store keeps them under the fingerprint."""
    before = teacher(tmp_path / "before")

    after = teacher(tmp_path / "after", **CHANGES[change])

    assert after.fingerprint != before.fingerprint


def test_no_two_changes_are_taken_for_each_other(tmp_path: Path) -> None:
    fingerprints = {teacher(tmp_path / name, **change).fingerprint for name, change in CHANGES.items()}

    assert len(fingerprints) == len(CHANGES)


def test_an_ensemble_is_known_by_its_members_their_weights_and_how_they_are_combined(tmp_path: Path) -> None:
    facts = replace(FACTS, kind="ensemble", members={"a": "one", "b": "two"}, weights=[0.5, 0.5], combine="mean_logits")
    others = [
        facts,
        replace(facts, members={"a": "one", "b": "another"}),
        replace(facts, weights=[0.4, 0.6]),
        replace(facts, combine="mean_probabilities"),
    ]

    found = [teacher(tmp_path / str(number), each).fingerprint for number, each in enumerate(others)]
    renamed = teacher(tmp_path / "renamed", replace(facts, members={"x": "one", "y": "two"}))

    assert len(set(found)) == len(others)
    assert renamed.fingerprint == found[0]


@pytest.mark.parametrize(
    ("config", "width"),
    [
        ({"hidden_size": 768, "dim": 3}, 768),
        ({"dim": 24, "hidden_dim": 96}, 24),
        ({"d_model": 32}, 32),
        ({"emb_dim": 40}, 40),
        ({"n_embd": 48}, 48),
    ],
)
def test_the_width_is_found_by_whatever_name_the_config_gives_it(
    tmp_path: Path, config: dict[str, int], width: int
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")

    assert TeacherFolder(tmp_path).hidden_size == width
