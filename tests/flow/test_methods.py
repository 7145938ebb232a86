"""Every method of the package, and every kind of student, down the whole road on toy rows."""

from collections.abc import Callable
from pathlib import Path

import pytest

import limbeck
from limbeck.artifacts.run_folder import Run
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.pipeline import run
from limbeck.progress import SilentReporter
from limbeck.recipe.builtin import builtin_methods
from limbeck.recipe.stages import Stage

WriteRecipe = Callable[[Path], Path]
TEXTS = ["the gorgeous story was long", "the dreadful story was long"]
QUICK = ["distillation.baseline=false", "export.int8_agreement=0.0"]
TEACHER_LIKE = ["student.layers=1", "student.max_length=32"]  # the tiny teacher has two layers
STAGES = [
    "distillation.stages.0.epochs=1",
    "distillation.stages.1.epochs=6",
    "distillation.stages.1.learning_rate=3e-3",
]
SIZES = {
    "tang": ["augmentation.copies=2", "student.hidden_size=8", "student.dense_size=8", "student.embedding_size=8"],
    "tang-exact": [
        *("augmentation.copies=2", "student.hidden_size=8", "student.dense_size=8", "student.embedding_size=8"),
        *("distillation.epochs=12", "distillation.batch_size=16"),
    ],
    "kim": ["student.filters=8", "student.embedding_size=12", "distillation.epochs=12", "distillation.batch_size=16"],
    "fitnets": STAGES,
    "tinybert": ["student.layers=2", "student.width=16", "student.heads=2", "student.inner_size=32", *STAGES],
    "distilbert": [*TEACHER_LIKE, "distillation.epochs=6", "distillation.learning_rate=2e-3"],
    "pkd": ["student.layers=2"],
    "minilm": [*TEACHER_LIKE, *STAGES],
    "minilm-v2": [*TEACHER_LIKE, *STAGES, "distillation.stages.0.losses.0.relation_heads=4"],
}
# Its language model has tests of its own: here other copies take the place of those that it makes.
SIZES["tinybert-augmented"] = [
    *SIZES["tinybert"],
    "augmentation.copies=2",
    "augmentation.methods=[{kind='masking'}]",
]
OTHER_KINDS = {"kim": "textcnn"}
TRANSFORMERS = ("tinybert", "tinybert-augmented", "distilbert", "pkd", "minilm", "minilm-v2")
KINDS = {
    "textcnn": "textcnn",
    "bag": "bag",
    "ngrams": "ngrams",
    "gru": "bilstm",
    "low rank": "bilstm",
    "own pieces": "transformer",
}
STUDENTS = {
    "textcnn": ["student={kind='textcnn', filters=8, embedding_size=12}"],
    "bag": ["student={kind='bag', dense_size=8, embedding_size=12}"],
    "ngrams": ["student={kind='ngrams'}"],
    "gru": ["student.cell=gru", "student.pooling=attention", "student.layers=2"],
    "low rank": ["student.vector_rank=4", "student.max_size_mb=0.05"],
    "own pieces": [
        "student={kind='transformer', family='bert', layers=1, max_length=32, vocabulary={kind='pieces'}}",
        "distillation.learning_rate=1e-3",
    ],
}


@pytest.fixture(scope="module")
def toy_recipe(write_recipe: WriteRecipe, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_recipe(tmp_path_factory.mktemp("methods") / "data")


def go(toy_recipe: Path, overrides: list[str], *, method: str | None = None) -> Run:
    """A run in the one folder of this file, so that the teacher is trained once and asked once."""
    recipe = toy_recipe.parent / "method.toml"
    bases = ["toy.toml", *([method] if method else [])]
    recipe.write_text(f"extends = {bases}\n".replace("'", '"'), encoding="utf-8")
    out = toy_recipe.parent.parent / "runs" / "methods"
    return run(recipe, overrides=[*QUICK, *overrides], out=out, until=Stage.EXPORT, reporter=SilentReporter())


def skill_and_answers(finished: Run, kind: str) -> tuple[float, object]:
    """The student's accuracy on dev, and what its shipped int8 file says of the two texts."""
    student = StudentFolder(finished.folder / "students" / kind / "0")
    return student.facts.dev_accuracy or 0.0, limbeck.load(finished.folder / "models" / f"{kind}-int8").predict(TEXTS)


@pytest.mark.parametrize("method", [method.name for method in builtin_methods()])
def test_every_method_teaches_the_toy_task(toy_recipe: Path, method: str) -> None:
    finished = go(toy_recipe, SIZES.get(method, []), method=method)

    accuracy, said = skill_and_answers(
        finished, OTHER_KINDS.get(method, "transformer" if method in TRANSFORMERS else "bilstm")
    )
    assert accuracy > 0.7
    assert said == ["positive", "negative"]


@pytest.mark.parametrize("student", list(STUDENTS))
def test_every_kind_of_student_learns_the_toy_task(toy_recipe: Path, student: str) -> None:
    finished = go(toy_recipe, STUDENTS[student])

    accuracy, said = skill_and_answers(finished, KINDS[student])
    assert accuracy > 0.7
    assert said == ["positive", "negative"]
