"""The teacher that stays as a model: only if the recipe asks for it, and only if it is still the same teacher."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import open_model
from limbeck.artifacts.run_folder import RunFolder
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.artifacts.teacher_labels import TeacherLabels, save_teacher_labels
from limbeck.pipeline import kept_teacher
from limbeck.pipeline.kept_teacher import kept_teacher_of, names_to_keep
from limbeck.recipe.recipe import Recipe
from limbeck.runtime.classifier import load

KEPT = "models/teacher-int8"


@pytest.fixture
def teacher(make_teacher: Callable[..., TeacherFolder], tmp_path: Path) -> TeacherFolder:
    return make_teacher(tmp_path / "teacher", parameters=1000)


@pytest.fixture
def run(tmp_path: Path, reporter: Any) -> RunFolder:
    (tmp_path / "run").mkdir()
    return RunFolder(folder=tmp_path / "run", reporter=reporter, facts={})


def recipe_of(teacher: str) -> Recipe:
    sections = {"corpus": {"train": "train.csv"}, "teacher": {"checkpoint": "bert"}, "export": {"teacher": teacher}}
    return Recipe.model_validate(sections)


def labels_of(corpus: Any, folder: Path, logits: Any) -> TeacherLabels:
    ids = corpus.splits["dev"].ids
    with written_atomically(folder, kind="labels", key=Key(section={}, inputs={})) as scratch:
        save_teacher_labels(scratch, ids=ids, logits=np.asarray(logits, dtype=np.float32), facts={})
    return TeacherLabels(folder)


def answers_of(teacher: TeacherFolder, corpus: Any, folder: Path) -> np.ndarray[Any, Any]:
    """What the teacher's own file says."""
    from limbeck.export.teacher import export_teacher
    from limbeck.progress import SilentReporter

    model = export_teacher(
        teacher, language="en", pair=False, precision="fp32", out=folder, key=Key(section={}, inputs={}),
        reporter=SilentReporter(),
    )  # fmt: skip
    assert model is not None
    return load(model.folder).logits(corpus.splits["dev"].texts)


def test_it_is_a_model_with_the_teachers_labels_and_reused(
    teacher: TeacherFolder, run: RunFolder, reporter: Any, toy_corpus: Any, tmp_path: Path
) -> None:
    logits = answers_of(teacher, toy_corpus, tmp_path / "fp32")
    labels = labels_of(toy_corpus, tmp_path / "labels", logits)

    for _ in range(2):
        model = kept_teacher_of(recipe_of("int8"), toy_corpus, teacher, labels, run)

    assert model is not None
    assert open_model(run.folder / KEPT).facts().precision == "int8"
    found = load(model.folder).logits(toy_corpus.splits["dev"].texts).argmax(axis=1)
    assert np.mean(found == logits.argmax(axis=1)) >= 0.9
    assert [note[0] for note in reporter.notes if KEPT in note] == ["▸", "✓"]
    assert names_to_keep(recipe_of("int8")) == ["teacher-int8"]


def test_a_file_that_is_not_the_teacher_is_not_kept(
    teacher: TeacherFolder, run: RunFolder, reporter: Any, toy_corpus: Any, tmp_path: Path
) -> None:
    labels = labels_of(toy_corpus, tmp_path / "labels", -answers_of(teacher, toy_corpus, tmp_path / "fp32"))

    assert kept_teacher_of(recipe_of("int8"), toy_corpus, teacher, labels, run) is None

    assert not (run.folder / KEPT).exists()
    assert list((run.folder / "exports").iterdir()) == []
    assert reporter.notes[-1] == f"  {KEPT} is not kept"


def test_a_teacher_that_is_no_encoder_is_not_kept(
    teacher: TeacherFolder,
    run: RunFolder,
    reporter: Any,
    toy_corpus: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(TeacherFolder, "is_encoder", False)
    labels = labels_of(toy_corpus, tmp_path / "labels", np.zeros((len(toy_corpus.splits["dev"]), 2)))

    assert kept_teacher_of(recipe_of("int8"), toy_corpus, teacher, labels, run) is None

    assert "is not kept as a model: it is of the kind" in reporter.notes[-1]


def test_it_is_not_asked_for_by_default(
    teacher: TeacherFolder, run: RunFolder, toy_corpus: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(kept_teacher, "export_teacher")
    labels = labels_of(toy_corpus, tmp_path / "labels", np.zeros((len(toy_corpus.splits["dev"]), 2)))

    assert kept_teacher_of(recipe_of("none"), toy_corpus, teacher, labels, run) is None
    assert names_to_keep(recipe_of("none")) == []
