"""A run without a teacher: a student alone goes the whole road; nothing is loaded and nothing is asked."""

import json
from pathlib import Path

import pytest

import limbeck
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.doctor.run import examine
from limbeck.errors import RecipeInvalid
from limbeck.progress import SilentReporter
from limbeck.recipe.load import load_recipe

RECIPE = """
[corpus]
train = "{folder}/toy.csv"

[student]
kind = "bag"
embedding_size = 8
dense_size = 4
word_vectors = "random"

[distillation]
epochs = 2
learning_rate = 0.05

[evaluation]
latency_rows = 10
latency_rounds = 1
throughput_rows = 16
throughput_batches = []

[teacher]
kind = "none"
"""


@pytest.fixture
def recipe(toy_csv: Path) -> Path:
    path = toy_csv.parent / "alone.toml"
    path.write_text(RECIPE.format(folder=toy_csv.parent), encoding="utf-8")
    return path


def test_a_student_alone_goes_the_whole_road(recipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(*_: object, **__: object) -> None:
        raise AssertionError("a teacher was opened")

    monkeypatch.setattr("limbeck.pipeline.teachers.opened", opened)
    monkeypatch.setattr("limbeck.pipeline.teachers.label", opened)

    run = limbeck.run(recipe, out=recipe.parent / "run")

    labels, report = TeacherLabels(run.folder / "labels"), json.loads((run.folder / "report/report.json").read_text())
    assert labels.asking["asked"] == 0
    assert labels.facts["uncovered"] == {name: split["rows"] for name, split in labels.facts["splits"].items()}
    assert [model["role"] for model in report["models"]] == ["rival", "student", "export"]
    assert report["cascade"] is None
    assert report["best"] in ("bag", "bag-int8")
    assert limbeck.load(run.folder / "models" / "best").predict(["good"])[0] in report["corpus"]["labels"]
    card = (run.folder / "models/best/README.md").read_text(encoding="utf-8")
    assert "trained alone, without a teacher" in card
    assert "knowledge-distillation" not in card
    assert "There is no teacher." in (run.folder / "report/report.html").read_text(encoding="utf-8")


def test_the_doctor_says_that_there_is_no_teacher(recipe: Path) -> None:
    run = limbeck.run(recipe, out=recipe.parent / "run")

    found = examine(str(run.folder), reporter=SilentReporter())

    assert found.not_checked["teacher-chance"] == "the run has no teacher"
    assert not any(finding.check.startswith("teacher") for finding in found.findings)


@pytest.mark.parametrize(
    ("override", "problem"),
    [
        ('augmentation={methods=[{kind="masking"}]}', "changed copies have no labels"),
        ('distillation.losses=[{kind="logit_mse"}]', "logit_mse needs a teacher"),
        ("distillation.baseline=true", "the student is that already"),
        ('export.teacher="int8"', "export.teacher keeps the teacher"),
        ('student={kind="transformer"}', "is not one"),
    ],
)
def test_what_needs_a_teacher_is_refused(recipe: Path, override: str, problem: str) -> None:
    with pytest.raises(RecipeInvalid) as refused:
        load_recipe(recipe, overrides=[override])

    assert problem in str(refused.value)


def test_the_short_form_and_the_written_recipe_say_the_same(recipe: Path) -> None:
    recipe.write_text('teacher = "none"\n' + recipe.read_text(encoding="utf-8").partition("[teacher]")[0])

    found = load_recipe(recipe).recipe

    assert found.teacher.kind == "none"
    assert [loss.kind for loss in found.distillation.losses] == ["hard_labels"]
    assert not found.distillation.baseline
    assert type(found).model_validate(found.model_dump(mode="json")) == found
