"""Pretraining in a run: when it is rebuilt, when it is reused, and who starts from it."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from limbeck import pipeline
from limbeck.artifacts.pretrained_folder import PretrainedFolder
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.pretraining.loading import PretrainingImpossible
from limbeck.progress import SilentReporter
from limbeck.recipe.stages import Stage

RECIPE = """
[corpus]
train = "data/toy.csv"
dev = "data/dev.csv"

[transfer]
files = ["data/unlabelled.txt"]

[augmentation]
copies = 1
methods = [{ kind = "masking" }]

[teacher]
checkpoint = "data/tiny"
epochs = 1
batch_size = 50
learning_rate = 1e-3
precision = "fp32"
near_chance = "warn"
"""
TABLE = """
[teacher.pretraining]
epochs = 1
precision = "fp32"
"""
STEP = "pretrained/tiny"
ENSEMBLE = """
[corpus]
train = "data/toy.csv"
dev = "data/dev.csv"

[teacher]
kind = "ensemble"
near_chance = "warn"
"""
MEMBER = """
[[teacher.members]]
checkpoint = "data/tiny"
epochs = 1
learning_rate = {rate}
precision = "fp32"
near_chance = "warn"
pretraining = {pretraining}
"""


class Steps(SilentReporter):
    """Keeps why steps were made, and the other notes."""

    def __init__(self) -> None:
        self.made: dict[str, str] = {}
        self.lines: list[str] = []

    def note(self, text: str, *, style: str = "") -> None:
        del style
        self.lines.append(text)

    def stage(self, name: str, text: str, *, is_reused: bool = False) -> None:
        self.lines.append(f"{name}  {text}")
        if not is_reused:
            self.made[name] = text


class Project:
    """Data, recipe and run folder in one place."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.run_folder = folder, folder / "runs" / "toy"

    def run(self, *overrides: str, recipe: str = RECIPE + TABLE) -> Steps:
        steps = Steps()
        (self.folder / "toy.toml").write_text(recipe, encoding="utf-8")
        pipeline.run(
            self.folder / "toy.toml",
            overrides=overrides,
            out=self.run_folder,
            until=Stage.TEACHER,
            reporter=steps,
        )
        return steps

    def key(self, step: str) -> Any:
        return json.loads((self.run_folder / step / "manifest.json").read_text(encoding="utf-8"))["key"]

    def append(self, file: str, line: str) -> None:
        with (self.folder / "data" / file).open("a", encoding="utf-8") as data:
            data.write(f"\n{line}")


@pytest.fixture(scope="module")
def begun(
    tmp_path_factory: pytest.TempPathFactory, toy_rows: tuple[tuple[str, str], ...], tiny_teacher_folder: Path
) -> Path:
    folder = tmp_path_factory.mktemp("begun")
    data = folder / "data"
    shutil.copytree(tiny_teacher_folder, data / "tiny")
    for name, rows in (("toy.csv", toy_rows[:60]), ("dev.csv", toy_rows[60:90])):
        (data / name).write_text("\n".join(["text,label", *(",".join(row) for row in rows)]), encoding="utf-8")
    texts = [" ".join(text.split()[1:]) for text, _ in toy_rows[100:140]]
    (data / "unlabelled.txt").write_text("\n".join(texts), encoding="utf-8")
    steps = Project(folder).run()
    assert [*steps.made] == ["corpus", "transfer", "augmented", STEP, "teacher"]
    assert any("98 texts read; in 2 held back the loss was" in line for line in steps.lines)  # without the copies
    return folder


@pytest.fixture
def project(begun: Path, tmp_path: Path) -> Project:
    """A run that has come to its teacher, the test's own to go on from."""
    return Project(Path(shutil.copytree(begun, tmp_path / "project")))


def test_nothing_is_made_twice(project: Project) -> None:
    assert project.run().made == {}


@pytest.mark.parametrize("change", ["epochs=2", "masked_fraction=0.2", "max_length=16", "seed=3", "max_rows=50"])
def test_other_settings_pretrain_again_and_then_fine_tune_again(project: Project, change: str) -> None:
    steps = project.run(f"teacher.pretraining.{change}")

    assert [*steps.made] == [STEP, "teacher"]
    assert change.partition("=")[0] in steps.made[STEP]
    assert steps.made["teacher"] == "pretrained changed"


def test_the_teachers_own_settings_pretrain_nothing(project: Project) -> None:
    assert [*project.run("teacher.learning_rate=2e-3").made] == ["teacher"]
    assert [*project.run("teacher.learning_rate=2e-3", "teacher.train='head'").made] == ["teacher"]


def test_how_much_a_teacher_reads_counts_where_pretraining_says_nothing_of_it(project: Project) -> None:
    assert [*project.run("teacher.max_length=16").made] == [STEP, "teacher"]
    assert [*project.run("teacher.max_length=20", "teacher.pretraining.max_length=16").made] == ["teacher"]


def test_other_training_rows_pretrain_again(project: Project) -> None:
    project.append("toy.csv", "quite another film,positive")

    assert project.run().made[STEP] == "train changed"


def test_other_dev_rows_pretrain_nothing(project: Project) -> None:
    project.append("dev.csv", "quite another film,positive")

    assert [*project.run().made] == [
        "corpus",
        "transfer",
        "augmented",
        "teacher",
    ]  # gathered anew, the rows are the same


def test_other_transfer_text_pretrains_again(project: Project) -> None:
    project.append("unlabelled.txt", "quite another film about a road")

    steps = project.run()

    assert steps.made[STEP] == "transfer changed"
    assert steps.made["teacher"] == "pretrained changed"


def test_other_copies_pretrain_nothing(project: Project) -> None:
    assert [*project.run("augmentation.copies=2").made] == ["augmented"]


def test_another_checkpoint_pretrains_again(project: Project) -> None:
    path = project.folder / "data" / "tiny" / "model.safetensors"
    save_file({name: weight * 1.5 for name, weight in load_file(path).items()}, path, metadata={"format": "pt"})

    assert project.run().made == {STEP: "checkpoint changed", "teacher": "checkpoint, pretrained changed"}


def test_a_teacher_without_pretraining_has_the_key_it_always_had(project: Project) -> None:
    steps = project.run(recipe=RECIPE)

    key = project.key("teacher")
    assert [*steps.made] == ["teacher"]
    assert sorted(key["inputs"]) == ["checkpoint", "corpus"]
    assert "pretrain" not in json.dumps(key)
    assert project.run().made == {"teacher": "pretrained changed"}  # what was pretrained is still there


def test_the_teacher_is_called_like_its_checkpoint_and_starts_from_what_was_pretrained(project: Project) -> None:
    project.run("teacher.learning_rate=1e-9")

    name = "bert.embeddings.word_embeddings.weight"
    teacher, pretrained, before = (
        load_file(folder / "model.safetensors")[name]
        for folder in (project.run_folder / "teacher", project.run_folder / STEP, project.folder / "data" / "tiny")
    )
    assert TeacherFolder(project.run_folder / "teacher").facts.name == "tiny"
    assert (teacher - pretrained).abs().max() < 1e-5
    assert (teacher - before).abs().max() > 1e-4


def ensemble(*members: tuple[str, str]) -> str:
    return ENSEMBLE + "".join(MEMBER.format(rate=rate, pretraining=pretraining) for rate, pretraining in members)


def test_members_that_ask_for_the_same_share_it(project: Project) -> None:
    once, twice = "{ epochs = 1, precision = 'fp32' }", "{ epochs = 2, precision = 'fp32' }"
    shutil.rmtree(project.run_folder)

    steps = project.run(recipe=ensemble(("1e-3", once), ("2e-3", once)))
    other = project.run(recipe=ensemble(("1e-3", once), ("2e-3", twice)))

    assert [name for name in steps.made if name.startswith("pretrained/")] == [STEP]
    assert len([name for name in steps.made if name.startswith("teachers/")]) == 2
    made = [name for name in other.made if name.startswith("pretrained/")]
    assert len(made) == 2
    assert all(name.startswith(f"{STEP}-") for name in made)
    assert sorted(len(PretrainedFolder(project.run_folder / name).history) for name in made) == [2, 3]


def test_a_checkpoint_that_cannot_be_pretrained_is_refused_before_anything_is_read(project: Project) -> None:
    config = project.folder / "data" / "tiny" / "tokenizer_config.json"
    facts = json.loads(config.read_text(encoding="utf-8"))
    config.write_text(json.dumps({**facts, "mask_token": None}), encoding="utf-8")
    shutil.rmtree(project.run_folder)

    with pytest.raises(PretrainingImpossible, match="no mask token"):
        project.run()

    assert not (project.run_folder / "corpus").exists()
    project.run(recipe=RECIPE)  # without pretraining nobody asks for a mask
