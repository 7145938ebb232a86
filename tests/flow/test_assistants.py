"""A student of one run as the teacher of the next: its very logits are learned, and it is timed like any teacher."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import limbeck
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.run_folder import Run
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.pipeline import run
from limbeck.pipeline.labels import check_labels
from limbeck.progress import SilentReporter
from limbeck.recipe.stages import Stage
from limbeck.teacher.student_asking import FeaturesMissing, open_student

WriteRecipe = Callable[[Path], Path]
Go = Callable[..., Run]
SMALLER = ["student.hidden_size=4", "student.dense_size=4", "student.embedding_size=8"]


class Notes(SilentReporter):
    """Remembers what a run said."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.stages: dict[str, bool] = {}  # name → whether it was reused

    def note(self, text: str, *, style: str = "") -> None:
        del style
        self.lines.append(text)

    def stage(self, name: str, text: str, *, is_reused: bool = False) -> None:
        del text
        self.stages[name] = is_reused


@pytest.fixture(scope="module")
def toy_recipe(write_recipe: WriteRecipe, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_recipe(tmp_path_factory.mktemp("assistants") / "data")


@pytest.fixture(scope="module")
def runs(toy_recipe: Path) -> Path:
    return toy_recipe.parent.parent / "runs"


@pytest.fixture(scope="module")
def first(toy_recipe: Path, runs: Path) -> Run:
    """An ordinary run, of two seeds; its students are the assistants."""
    return run(toy_recipe, overrides=["distillation.seeds=[0, 1]"], out=runs / "first", reporter=SilentReporter())


@pytest.fixture(scope="module")
def second(toy_recipe: Path, runs: Path, first: Run) -> Run:
    """A run whose teacher is the better of the first one's students."""
    overrides = [f"teacher={first.folder / 'students' / 'bilstm'}", *SMALLER]
    return run(toy_recipe, overrides=overrides, out=runs / "second", reporter=SilentReporter())


@pytest.fixture
def go(toy_recipe: Path, first: Run, tmp_path: Path) -> Go:
    """go(path, *overrides): a run as far as its labels, with the student of the first run at this path as teacher."""

    def go(path: str, *overrides: str, out: str = "run") -> Run:
        teacher = f"teacher={first.folder / path}"
        return run(
            toy_recipe,
            overrides=[teacher, *overrides],
            out=tmp_path / out,
            until=Stage.LABELING,
            reporter=SilentReporter(),
        )

    return go


def best_of(first: Run) -> StudentFolder:
    students = [StudentFolder(first.folder / "students" / "bilstm" / str(seed)) for seed in (0, 1)]
    return max(students, key=lambda student: (student.facts.chosen_by, -student.facts.seed))


def entry(run: Run, role: str) -> dict[str, Any]:
    return next(model for model in run.report["models"] if model["role"] == role)


def texts_of(run: Run) -> dict[str, tuple[list[str], list[str]]]:
    """Ids and texts of every split."""
    splits = Corpus(run.folder / "corpus").splits
    return {name: (list(rows.ids), list(rows.texts)) for name, rows in splits.items()}


def test_the_labels_are_the_logits_of_the_best_student_of_the_first_run(first: Run, second: Run) -> None:
    assistant = open_student(best_of(first).folder, labels=Corpus(second.folder / "corpus").labels)
    labels = TeacherLabels(second.folder / "labels")

    for ids, texts in texts_of(second).values():
        np.testing.assert_allclose(labels.for_rows(ids), assistant.logits(texts, None), atol=1e-5)


def test_the_report_says_who_taught_and_how_much_faster_the_student_is(first: Run, second: Run) -> None:
    teacher, student, before = entry(second, "teacher"), entry(second, "student"), entry(first, "student")

    assert (teacher["name"], teacher["kind"], teacher["precision"]) == ("first/bilstm", "student", "fp32")
    assert teacher["accuracy"] in before["accuracy_per_seed"]
    assert teacher["parameters"] == before["parameters"] > student["parameters"]
    assert teacher["size_mb"] > 0
    assert student["speedup_over_teacher"] == teacher["latency_ms"]["p50"] / student["latency_ms"]["p50"]
    assert "first/bilstm" in (second.folder / "report" / "report.html").read_text(encoding="utf-8")
    assert limbeck.load(second.models["bilstm-int8"]).predict(["a gorgeous film"])[0] in ("positive", "negative")


def test_an_assistant_lends_no_word_vectors(second: Run) -> None:
    facts = json.loads((second.folder / "vocabulary" / "vocabulary.json").read_text(encoding="utf-8"))

    assert facts["word_vectors"] == "random"


def test_a_run_needs_nothing_else_when_its_assistant_is_gone(go: Go, first: Run, tmp_path: Path) -> None:
    assistant = Path(shutil.copytree(first.folder / "students" / "bilstm" / "0", tmp_path / "assistant"))
    taught = go(str(assistant))

    shutil.rmtree(assistant)
    sound = check_labels(taught.folder, is_verified=True, sample=50, export=None, console=Console(quiet=True))
    notes = Notes()
    run(
        taught.folder,
        overrides=[f"teacher={taught.folder / 'teacher'}"],
        until=Stage.LABELING,
        reporter=notes,
    )

    assert sound
    assert len(notes.stages) >= 4
    assert all(notes.stages.values())


@pytest.mark.parametrize("model", ["bilstm", "bilstm-int8"])
def test_an_exported_model_teaches_what_it_says(go: Go, first: Run, model: str) -> None:
    taught = go(f"models/{model}")

    shipped = limbeck.load(first.models[model])
    ids, texts = texts_of(taught)["train"]
    apart = np.abs(TeacherLabels(taught.folder / "labels").for_rows(ids) - shipped.logits(texts))
    facts = TeacherFolder(taught.folder / "teacher").facts
    assert apart.max() < (0.25 if model.endswith("int8") else 1e-4)
    assert (facts.name, facts.precision) == (f"first/{model}", "int8" if model.endswith("int8") else "fp32")
    assert check_labels(taught.folder, is_verified=True, sample=50, export=None, console=Console(quiet=True))


def test_each_assistant_has_labels_of_its_own_in_the_store(go: Go, tmp_path: Path) -> None:
    taught = [go(f"students/bilstm/{seed}", out=f"runs/{seed}") for seed in (0, 1)]
    again = go("students/bilstm/0", out="runs/again")

    prints = [TeacherFolder(one.folder / "teacher").fingerprint for one in taught]
    stores = {path.name for path in (tmp_path / "runs" / ".label-store").iterdir()}
    assert len(set(prints)) == 2
    assert stores == set(prints)
    assert TeacherLabels(again.folder / "labels").asking["asked"] == 0


def test_features_of_an_assistant_are_kept_for_losses_on_them(go: Go, first: Run) -> None:
    taught = go("students/bilstm/0", "labeling.features=cls")

    assistant = open_student(first.folder / "students" / "bilstm" / "0", labels=["negative", "positive"])
    ids, texts = texts_of(taught)["dev"]
    _, expected = assistant.logits_and_features(texts, None, pooling="cls")
    kept = TeacherLabels(taught.folder / "labels").features_for(ids)
    np.testing.assert_allclose(kept, expected, atol=2e-3)


def test_an_exported_model_has_no_features_to_keep(go: Go) -> None:
    with pytest.raises(FeaturesMissing):
        go("models/bilstm", "labeling.features=cls")


def test_an_assistant_beside_its_own_teacher_in_an_ensemble(toy_recipe: Path, first: Run, tmp_path: Path) -> None:
    members = (
        f"['{first.folder / 'students' / 'bilstm' / '0'}', {{checkpoint='{first.folder / 'teacher'}', train='none'}}]"
    )
    overrides = [f"teacher={{kind='ensemble', members={members}}}"]

    taught = run(toy_recipe, overrides=overrides, out=tmp_path / "run", until=Stage.LABELING, reporter=SilentReporter())

    facts = TeacherFolder(taught.folder / "teacher").facts
    assert list(facts.members) == ["first_bilstm", "teacher"]
    assert facts.parameters == sum(
        TeacherFolder(taught.folder / "teachers" / name).facts.parameters or 0 for name in facts.members
    )
