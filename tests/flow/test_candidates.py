"""Several kinds of students in one run: each trained on the same labels, and their blend."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import limbeck
from limbeck.artifacts.manifest import read_manifest
from limbeck.pipeline import run
from limbeck.progress import SilentReporter
from limbeck.recipe.stages import Stage
from limbeck.teacher.student_asking import open_student
from limbeck.teacher.student_source import find_student

QUICK = ["teacher.epochs=8", "distillation.epochs=3", "teacher.near_chance='warn'"]
BAG = "candidates=[{kind='bag', dense_size=4, embedding_size=6}]"
TEXTS = ["a gorgeous film", "this dreadful evening was long", ""]


class Notes(SilentReporter):
    """Remembers what was made."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def stage(self, name: str, text: str, *, is_reused: bool = False) -> None:
        del text
        if not is_reused:
            self.made.append(name)


@pytest.fixture(scope="module")
def recipe(write_recipe: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_recipe(tmp_path_factory.mktemp("candidates") / "data")


def go(recipe: Path, out: Path, *overrides: str, until: Stage | None = None) -> list[str]:
    """Run the recipe; returns what was made and not reused."""
    notes = Notes()
    run(recipe, overrides=[*QUICK, *overrides], out=out, until=until, reporter=notes)
    return notes.made


@pytest.fixture(scope="module")
def plain(recipe: Path) -> Path:
    """A run without candidates."""
    go(recipe, recipe.parent / "plain", until=Stage.EXPORT)
    return recipe.parent / "plain"


@pytest.fixture(scope="module")
def several(recipe: Path, plain: Path) -> Path:
    """The same run, continued with a bag."""
    out = recipe.parent / "several"
    shutil.copytree(plain, out)
    made = go(recipe, out, BAG)
    assert [name for name in made if not name.startswith("models")] == [
        "vocabularies/bag",
        "students/bag/0",
        "exports/bag/0",
        "exports/bag-int8/0",
        "exports/blend-int8/0",
        "rival",
        "report",
    ]
    return out


def report_of(folder: Path) -> dict[str, dict[str, Any]]:
    data = json.loads((folder / "report" / "report.json").read_text(encoding="utf-8"))
    return {entry["name"]: entry for entry in data["models"][1:]}


def test_every_student_and_the_blend_are_in_the_report(several: Path) -> None:
    found = report_of(several)

    assert [*found] == ["tfidf", "bilstm-alone", "bilstm", "bag", "bilstm-int8", "bag-int8", "blend-int8"]
    assert {name for name, entry in found.items() if entry.get("gain_over_baseline")} == {"bilstm", "bilstm-int8"}
    blend, members = found["blend-int8"], [found["bilstm-int8"], found["bag-int8"]]
    assert blend["kind"] == "blend"
    for key in ("parameters", "parameters_without_embeddings", "multiply_adds"):
        assert blend[key] == sum(member[key] for member in members)
    profiles = [several / "models" / member["name"] / "profile.json" for member in members]
    without_profiles = (
        sum(member["size_mb"] for member in members) - sum(path.stat().st_size for path in profiles) / 1e6
    )
    assert blend["size_mb"] > without_profiles * 0.99
    assert (blend["seeds"], blend["shipped_seed"]) == ([0], 0)


def test_the_blend_is_one_folder_that_answers_with_the_weighted_sum_of_its_members(several: Path) -> None:
    blend, members = (
        limbeck.load(several / "models" / "blend-int8"),
        {name: limbeck.load(several / "models" / name) for name in ("bilstm-int8", "bag-int8")},
    )
    parts = [
        members[member.folder].logits(TEXTS) * np.float32(member.weight / members[member.folder].facts.temperature)
        for member in blend.facts.members
    ]

    np.testing.assert_array_equal(blend.logits(TEXTS), parts[0] + parts[1])
    assert sum(member.weight for member in blend.facts.members) == pytest.approx(1.0, abs=0.01)
    assert all(0.05 <= member.weight <= 0.95 for member in blend.facts.members)
    assert blend.labels == members["bag-int8"].labels
    files = read_manifest(several / "models" / "blend-int8", kind="model").files
    assert sorted(files) == sorted(
        [
            "model.json",
            "profile.json",  # the blend has one of its own, its members need none
            *(f"{name}/{file}" for name in members for file in ("model.json", "model.onnx", "tokenizer.json")),
        ]
    )
    card = (several / "models" / "blend-int8" / "README.md").read_text(encoding="utf-8")
    assert "bilstm-int8" in card


def test_a_blend_can_be_the_teacher_of_another_run(several: Path) -> None:
    found = find_student(str(several / "models" / "blend-int8"))

    student = open_student(found.folder, labels=found.facts.labels[::-1])

    assert found.name == "several/blend-int8"
    own = limbeck.load(several / "models" / "blend-int8").logits(TEXTS)
    np.testing.assert_array_equal(student.logits(TEXTS, None), own[:, ::-1])


def test_a_changed_candidate_is_trained_again_and_nothing_else(recipe: Path, several: Path) -> None:
    out = recipe.parent / "changed"
    shutil.copytree(several, out)

    made = go(recipe, out, BAG.replace("embedding_size=6", "embedding_size=6, dropout=0.0"))

    assert [name for name in made if not name.startswith("models")] == [
        "students/bag/0",
        "exports/bag/0",
        "exports/bag-int8/0",
        "exports/blend-int8/0",
        "report",
    ]


def test_without_a_blend_there_is_none(recipe: Path, several: Path) -> None:
    out = recipe.parent / "apart"
    shutil.copytree(several, out)
    assert read_manifest(out / "models" / "best", kind="model") == read_manifest(
        out / "models" / "blend-int8", kind="model"
    )

    go(recipe, out, BAG, "export.blend=false", until=Stage.EXPORT)

    assert sorted(path.name for path in (out / "models").iterdir()) == [
        *("bag", "bag-int8", "bilstm", "bilstm-alone", "bilstm-int8")  # the best was the blend
    ]


def test_candidates_trained_at_once_are_those_trained_one_after_the_other(
    recipe: Path, plain: Path, several: Path
) -> None:
    out = recipe.parent / "at-once"
    shutil.copytree(plain, out)
    shutil.rmtree(out / "students")

    made = go(recipe, out, BAG, "distillation.at_once=3", until=Stage.DISTILLATION)

    students = ["students/bilstm-alone/0", "students/bilstm/0", "students/bag/0"]
    assert [name for name in made if name.startswith("students")] == students
    assert [read_manifest(out / name, kind="student") for name in students] == [
        read_manifest(several / name, kind="student") for name in students
    ]


# ---- n-grams as a candidate: they also learn from the labels alone, which may be part of the blend ----

NGRAMS = "candidates=[{kind='ngrams'}]"


@pytest.fixture(scope="module")
def with_ngrams(recipe: Path, plain: Path) -> Path:
    out = recipe.parent / "with-ngrams"
    shutil.copytree(plain, out)
    go(recipe, out, NGRAMS)
    return out


def test_ngrams_alone_are_a_baseline_and_a_possible_member_of_the_blend(with_ngrams: Path) -> None:
    found = report_of(with_ngrams)

    assert [name for name, entry in found.items() if entry["role"] == "baseline"] == [
        "bilstm-alone",
        "ngrams-alone-int8",
    ]
    assert found["ngrams-alone-int8"]["precision"] == "int8"
    assert found["ngrams-int8"]["gain_over_baseline"]
    inputs = read_manifest(with_ngrams / "exports" / "blend-int8" / "0", kind="model").key.inputs
    assert {"bilstm-int8", "ngrams-int8", "ngrams-alone-int8"} <= set(inputs)
    assert "bilstm-alone" not in inputs
    card = (with_ngrams / "models" / "ngrams-alone-int8" / "README.md").read_text(encoding="utf-8")
    assert "ngrams-alone" in card


def test_without_a_blend_ngrams_alone_stay_in_fp32_like_every_baseline(recipe: Path, with_ngrams: Path) -> None:
    out = recipe.parent / "ngrams-apart"
    shutil.copytree(with_ngrams, out)

    go(recipe, out, NGRAMS, "export.blend=false", until=Stage.EXPORT)

    names = {path.name for path in (out / "models").iterdir()}
    assert "ngrams-alone" in names
    assert not {"ngrams-alone-int8", "blend-int8"} & names
