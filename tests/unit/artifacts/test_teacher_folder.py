"""Teachers that give the same answers have the same fingerprint, so that none is asked twice."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from limbeck.artifacts.manifest import Key
from limbeck.artifacts.teacher_folder import TeacherFacts, TeacherFolder, save_teacher_facts
from limbeck.artifacts.whole import written_whole

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
    folder: Path, facts: TeacherFacts = FACTS, *, weights: str = "weights", history: str = "[]"
) -> TeacherFolder:
    with written_whole(folder, kind="teacher", key=Key(section={"at": str(folder)}, inputs={})) as scratch:
        (scratch / "model.safetensors").write_text(weights, encoding="utf-8")
        (scratch / "history.json").write_text(history, encoding="utf-8")
        save_teacher_facts(scratch, facts)
    return TeacherFolder(folder)


def test_facts_are_read_back(tmp_path: Path) -> None:
    assert teacher(tmp_path / "teacher").facts == FACTS


def test_what_does_not_change_an_answer_does_not_change_the_fingerprint(tmp_path: Path) -> None:
    first = teacher(tmp_path / "one")
    moved = teacher(tmp_path / "two", replace(FACTS, name="/another/place/tiny", dev_accuracy=0.8), history="[1]")

    assert first.fingerprint == moved.fingerprint


def test_weights_length_and_precision_change_the_fingerprint(tmp_path: Path) -> None:
    teachers = [
        teacher(tmp_path / "one"),
        teacher(tmp_path / "two", weights="other"),
        teacher(tmp_path / "three", replace(FACTS, max_length=64)),
        teacher(tmp_path / "four", replace(FACTS, precision="bf16")),
    ]

    assert len({folder.fingerprint for folder in teachers}) == 4


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
