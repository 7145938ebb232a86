"""The teacher's int8 file is there while it is needed, and gone afterwards."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from limbeck.artifacts.run_folder import RunFolder
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.pipeline.evaluation import FOLDER, int8_teacher
from limbeck.progress import SilentReporter
from limbeck.recipe.evaluation import Evaluation


@pytest.fixture
def teacher(make_teacher: Callable[..., TeacherFolder], tmp_path: Path) -> TeacherFolder:
    return make_teacher(tmp_path / "teacher", parameters=1000)


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder(folder=tmp_path / "run", reporter=SilentReporter(), facts={})


def test_the_file_is_removed_once_it_is_no_longer_needed(
    teacher: TeacherFolder, run: RunFolder, toy_corpus: Any
) -> None:
    with int8_teacher(Evaluation(), teacher, toy_corpus, run) as model:
        assert model is not None
        assert model.folder == run.folder / FOLDER
        assert model.facts().precision == "int8"

    assert list((run.folder / FOLDER).parent.iterdir()) == []


def test_it_is_removed_when_the_evaluation_fails(teacher: TeacherFolder, run: RunFolder, toy_corpus: Any) -> None:
    def failing() -> None:
        with int8_teacher(Evaluation(), teacher, toy_corpus, run):
            raise ValueError("no clock")

    with pytest.raises(ValueError, match="no clock"):
        failing()
    assert list((run.folder / FOLDER).parent.iterdir()) == []


def test_there_is_none_where_it_is_not_asked_for(teacher: TeacherFolder, run: RunFolder, toy_corpus: Any) -> None:
    with int8_teacher(Evaluation(teacher_int8=False), teacher, toy_corpus, run) as model:
        assert model is None

    assert not run.folder.exists()


def test_there_is_none_of_a_teacher_that_is_no_encoder(
    teacher: TeacherFolder, run: RunFolder, toy_corpus: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TeacherFolder, "is_encoder", False)

    with int8_teacher(Evaluation(), teacher, toy_corpus, run) as model:
        assert model is None
