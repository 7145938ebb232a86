"""Which change of the recipe or of the data redoes which stages, and which redoes nothing."""

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file

from limbeck import pipeline
from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.report import save_report
from limbeck.distillation.terms.custom import CustomLossUnusable
from limbeck.labeling.store import LabelStore
from limbeck.pipeline import flow
from limbeck.progress import SilentReporter
from limbeck.recipe.stages import Stage

RECIPE = """
[corpus]
train = "{data}/toy.csv"
dev = "{data}/dev.csv"

[transfer]
files = ["{data}/unlabelled.txt"]

[teacher]
checkpoint = "{data}/teacher"
epochs = 1
batch_size = 50
learning_rate = 1e-3
precision = "fp32"
near_chance = "warn"

[student]
hidden_size = 4
dense_size = 4
embedding_size = 6
word_vectors = "{data}/vectors.txt"

[distillation]
epochs = 1
batch_size = 50

[export]
int8_agreement = 0.0
"""
TRANSFORMER = """
[corpus]
train = "data/toy.csv"
dev = "data/dev.csv"

[teacher]
checkpoint = "data/teacher"
epochs = 1
batch_size = 50
learning_rate = 1e-3
precision = "fp32"
near_chance = "warn"

[student]
kind = "transformer"
layers = 1
max_length = 16

[distillation]
batch_size = 50
epochs = 1
stages = [{ epochs = 1, losses = [{ kind = "hidden_mse" }] }, { epochs = 1, losses = [{ kind = "soft_targets" }] }]
"""
SMALL, SMALL_ALONE = "students/transformer/0", "students/transformer-alone/0"
READING = ["corpus", "transfer"]
TEACHING = ["teacher", "labels", "chosen", "vocabulary"]
BASELINE = ["students/bilstm-alone/0"]
STUDENT = ["students/bilstm/0"]
EXPORTS = [f"{place}/{name}" for name in ("bilstm-alone", "bilstm", "bilstm-int8") for place in ("exports", "models")]
BEHIND_STUDENTS = sorted(f"{step}/0" if step.startswith("exports") else step for step in EXPORTS)
EVERYTHING = sorted([*READING, *TEACHING, *BASELINE, *STUDENT, *BEHIND_STUDENTS, "rival", "report"])


class Steps(SilentReporter):
    """Sorts the steps of a run into those made and those reused."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.reused: list[str] = []
        self.reasons: dict[str, str] = {}

    def stage(self, name: str, text: str, *, is_reused: bool = False) -> None:
        if "removed" not in text:
            (self.reused if is_reused else self.made).append(name)
            self.reasons[name] = text


class Project:
    """Data, recipe and run folder in one place."""

    def __init__(self, folder: Path, *, recipe: str = "toy") -> None:
        self.folder, self.recipe = folder, recipe

    @property
    def run_folder(self) -> Path:
        return self.folder / "runs" / self.recipe

    def run(self, *overrides: str, out: Path | None = None, until: Stage | None = None) -> Steps:
        steps = Steps()
        out = out or self.run_folder
        pipeline.run(self.folder / f"{self.recipe}.toml", overrides=overrides, out=out, until=until, reporter=steps)
        return steps

    def made(self, *overrides: str, until: Stage | None = None) -> list[str]:
        """The steps that are not reused after this change."""
        return sorted(self.run(*overrides, until=until).made)

    def rewrite(self, file: str, change: Callable[[str], str]) -> None:
        path = self.folder / "data" / file
        path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")


def judge_nothing(*_: object, out: Path, key: Key, **__: object) -> None:
    """In place of the evaluation, whose timings take seconds."""
    with written_atomically(out, kind="report", key=key) as scratch:
        save_report(scratch, data={}, page="")


@pytest.fixture(scope="module")
def finished(
    tmp_path_factory: pytest.TempPathFactory, toy_rows: tuple[tuple[str, str], ...], tiny_teacher_folder: Path
) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("finished")
    data = folder / "data"
    data.mkdir()
    for name, rows in (("toy.csv", toy_rows[:100]), ("dev.csv", toy_rows[100:130]), ("test.csv", toy_rows[130:160])):
        (data / name).write_text("\n".join(["text,label", *(",".join(row) for row in rows)]), encoding="utf-8")
    unlabelled = [" ".join(random.Random(text).sample(text.split(), k=3)) for text, _ in toy_rows[:40]]
    (data / "unlabelled.txt").write_text("\n".join(unlabelled), encoding="utf-8")
    vectors = np.random.default_rng(0).normal(size=(2, 6)).round(3).tolist()
    lines = [" ".join([word, *map(str, row)]) for word, row in zip(["gorgeous", "film"], vectors, strict=True)]
    (data / "vectors.txt").write_text("\n".join(lines), encoding="utf-8")
    shutil.copytree(tiny_teacher_folder, data / "teacher")
    (folder / "toy.toml").write_text(RECIPE.format(data="data"), encoding="utf-8")
    (folder / "transformer.toml").write_text(TRANSFORMER, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flow, "evaluate", judge_nothing)
        assert sorted(Project(folder).run().made) == EVERYTHING
        yield folder


@pytest.fixture
def project(finished: Path, tmp_path: Path) -> Project:
    """A finished run, the test's own to go on from."""
    return Project(Path(shutil.copytree(finished, tmp_path / "project")))


def test_nothing_is_redone_without_a_change_and_the_folder_may_be_moved(project: Project) -> None:
    steps = project.run()

    assert steps.made == []
    assert sorted(steps.reused) == EVERYTHING


@pytest.mark.parametrize(
    "change",
    [
        "labeling.tokens_per_batch=64",
        "labeling.rows_per_shard=7",
        "labeling.store='elsewhere'",
        "distillation.seeds=[0,0]",
        "export.precisions=['int8','fp32']",
    ],
)
def test_what_changes_no_artifact_redoes_nothing(project: Project, change: str) -> None:
    assert project.made(change) == []


def test_data_teacher_and_vectors_at_another_place_are_still_the_same(project: Project) -> None:
    (project.folder / "data").rename(project.folder / "moved")
    (project.folder / "toy.toml").write_text(RECIPE.format(data="moved"), encoding="utf-8")

    assert project.made() == []


def test_no_artifact_knows_the_folders_of_this_machine(project: Project, finished: Path) -> None:
    manifests = list(project.run_folder.rglob("manifest.json"))

    assert len(manifests) == len(EVERYTHING)
    assert [path for path in manifests if str(finished) in path.read_text(encoding="utf-8")] == []


def test_how_it_is_measured_redoes_the_report_alone(project: Project) -> None:
    assert project.made("evaluation.latency_rows=7") == ["report"]


def test_another_seed_trains_that_seed_alone(project: Project) -> None:
    steps = project.run("distillation.seeds=[0,1]", until=Stage.EXPORT)

    trained = [step for step in steps.made if step.startswith("students/")]
    assert trained == ["students/bilstm-alone/1", "students/bilstm/1"]
    assert not [step for step in steps.made if step.startswith("exports/") and step.endswith("/0")]
    assert set(READING + TEACHING) <= set(steps.reused)


def test_how_students_are_trained_redoes_them_and_what_is_behind_them(project: Project) -> None:
    assert project.made("distillation.epochs=2") == sorted([*BASELINE, *STUDENT, *BEHIND_STUDENTS, "report"])


def test_a_mean_of_the_weights_trains_students_again(project: Project) -> None:
    steps = project.run("distillation.average=0.9", until=Stage.DISTILLATION)

    assert steps.made == [*BASELINE, *STUDENT]
    assert "average: nothing → 0.9" in steps.reasons["students/bilstm/0"]


def test_another_loss_leaves_the_baseline_alone(project: Project) -> None:
    steps = project.run("distillation.losses=[{kind='soft_targets'}]")

    assert "students/bilstm/0" in steps.made
    assert "losses" in steps.reasons["students/bilstm/0"]
    assert {"students/bilstm-alone/0", "exports/bilstm-alone/0", "models/bilstm-alone"} <= set(steps.reused)


def test_the_teachers_learning_rate_redoes_everything_that_the_teacher_has_a_part_in(project: Project) -> None:
    steps = project.run("teacher.learning_rate=3e-3")

    alone = {*READING, *BASELINE, "rival"}  # its word vectors are from a file here
    assert alone <= set(steps.reused) <= {*alone, "models/bilstm-alone"}  # the last one if its profile is the same
    assert steps.reasons["exports/bilstm-alone/0"] == "teacher's answers on dev changed"  # they are in its profile
    assert "learning_rate: 0.001 → 0.003" in steps.reasons["teacher"]


def test_other_weights_of_the_checkpoint_redo_the_teacher(project: Project) -> None:
    from safetensors.torch import save_file

    path = project.folder / "data" / "teacher" / "model.safetensors"
    weights = load_file(path)
    save_file({name: weight * 1.5 for name, weight in weights.items()}, path, metadata={"format": "pt"})

    steps = project.run(until=Stage.TEACHER)

    assert steps.made == ["teacher"]
    assert steps.reasons["teacher"] == "checkpoint changed"


def test_what_only_the_students_network_knows_keeps_the_vocabulary(project: Project) -> None:
    steps = project.run("student.pooling='last'", "student.max_length=9", until=Stage.DISTILLATION)

    assert steps.made == [*BASELINE, *STUDENT]


def test_a_pooling_with_weights_redoes_the_vocabulary_which_may_not_outgrow_the_teacher(project: Project) -> None:
    assert "vocabulary" in project.made("student.pooling='attention'", until=Stage.DISTILLATION)


def test_a_limit_of_size_that_takes_nothing_away_trains_nothing_again(project: Project) -> None:
    assert project.made("student.max_size_mb=5", until=Stage.DISTILLATION) == ["vocabulary"]
    assert project.made("student.max_size_mb=5", "export.precisions=['fp32']", until=Stage.DISTILLATION) == [
        "vocabulary"
    ]


def test_other_word_vectors_of_the_same_name_redo_vocabulary_and_students(project: Project) -> None:
    project.rewrite("vectors.txt", lambda text: text.replace("gorgeous 0", "gorgeous 1"))

    steps = project.run(until=Stage.DISTILLATION)

    assert steps.made == ["vocabulary", *BASELINE, *STUDENT]
    assert steps.reasons["vocabulary"] == "word_vectors changed"


def test_a_second_source_of_word_vectors_redoes_vocabulary_and_students_and_reads_its_bytes(project: Project) -> None:
    several = 'student.word_vectors=["data/vectors.txt", "random"]'

    assert project.run(several, until=Stage.DISTILLATION).made == ["vocabulary", *BASELINE, *STUDENT]
    assert project.run(several, until=Stage.DISTILLATION).made == []
    project.rewrite("vectors.txt", lambda text: text.replace("gorgeous 0", "gorgeous 1"))
    assert project.run(several, until=Stage.DISTILLATION).reasons["vocabulary"] == "word_vectors changed"


def test_one_more_training_row_redoes_everything(project: Project) -> None:
    project.rewrite("toy.csv", lambda text: text + "\na gorgeous garden,positive")

    assert project.made() == EVERYTHING


def test_a_test_file_that_comes_later_trains_nothing_again(project: Project) -> None:
    """It is labelled and judged; teacher, vocabulary, students and files stay."""
    assert project.made("corpus.test='data/test.csv'") == ["chosen", "corpus", "labels", "report", "rival", "transfer"]


def test_other_transfer_text_trains_the_student_again_but_not_the_teacher(project: Project) -> None:
    project.rewrite("unlabelled.txt", lambda text: text + "\nthe old camera in the city")

    steps = project.run(until=Stage.DISTILLATION)

    assert "teacher" in steps.reused
    assert {"transfer", "labels", "students/bilstm/0"} <= set(steps.made)


def test_copies_are_rebuilt_for_other_transfer_text_only_if_it_is_copied(project: Project) -> None:
    of_train = "augmentation={copies=2, methods=[{kind='masking'}]}"
    of_both = of_train.replace("copies=2", "copies=2, transfer_copies=1")
    project.run(of_train, until=Stage.AUGMENTATION)
    key = json.loads((project.run_folder / "augmented" / "manifest.json").read_text(encoding="utf-8"))["key"]
    project.rewrite("unlabelled.txt", lambda text: text + "\nthe old camera in the city")

    assert project.run(of_train, until=Stage.AUGMENTATION).made == ["transfer"]
    assert "transfer" not in key["inputs"]
    assert project.run(of_both, until=Stage.AUGMENTATION).made == ["augmented"]
    project.rewrite("unlabelled.txt", lambda text: text + "\na gorgeous road")
    assert project.run(of_both, until=Stage.AUGMENTATION).made == ["transfer", "augmented"]


def test_a_student_learns_from_copies_of_transfer_text(project: Project) -> None:
    copies = "augmentation={copies=0, transfer_copies=2, methods=[{kind='masking', fraction=0.5}]}"

    steps = project.run(copies, until=Stage.DISTILLATION)

    assert {"augmented", "labels", "chosen", "students/bilstm/0"} <= set(steps.made)
    chosen = json.loads((project.run_folder / "chosen" / "quality.json").read_text(encoding="utf-8"))
    assert chosen["augmented"]["rows"] > 0
    assert 0 <= chosen["augmented"]["label_flips"] <= 1


def test_a_second_run_with_the_same_teacher_asks_it_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a shard was written: the teacher was asked again")

    monkeypatch.setattr(LabelStore, "write", refuse)
    steps = project.run("student.hidden_size=3", out=project.folder / "runs" / "second", until=Stage.LABELING)

    assert steps.made == ["corpus", "transfer", "teacher", "labels", "chosen"]


def test_a_damaged_artifact_is_made_again_and_what_is_behind_it_is_kept(project: Project) -> None:
    """It comes out the same, so nothing behind it has to change."""
    path = project.run_folder / "labels" / "labels.arrow"
    path.write_bytes(path.read_bytes()[:-1])

    steps = project.run()

    assert steps.made == ["labels"]
    assert "damaged" in steps.reasons["labels"]


def test_models_that_the_recipe_no_longer_asks_for_are_gone(project: Project) -> None:
    project.run("distillation.baseline=false", "export.precisions=['fp32']")

    assert sorted(path.name for path in (project.run_folder / "models").iterdir()) == ["bilstm"]
    stages = json.loads((project.run_folder / "run.json").read_text(encoding="utf-8"))["stages"]
    assert [stage for stage in stages if stage.startswith("models/")] == ["models/bilstm"]


@pytest.mark.parametrize(
    "losses",
    [
        "[{kind='logit_mse', weight=2.0}]",
        "[{kind='logit_mse', weight={kind='linear', start=1.0, end=0.5}}]",
        "[{kind='logit_mse'}, {kind='hard_labels', smoothing=0.1}]",
    ],
)
def test_every_setting_of_a_loss_counts(project: Project, losses: str) -> None:
    steps = project.run(f"distillation.losses={losses}", until=Stage.DISTILLATION)

    assert steps.made == STUDENT


def test_stages_in_place_of_losses_leave_the_baseline_alone(project: Project) -> None:
    stages = "distillation.stages=[{epochs=1, losses=[{kind='logit_mse'}]}]"

    assert project.run(stages, until=Stage.DISTILLATION).made == STUDENT
    more = stages.replace("epochs=1", "epochs=2")
    assert project.run(more, until=Stage.DISTILLATION).made == STUDENT


def test_features_that_no_loss_reads_train_nothing_again(project: Project) -> None:
    steps = project.run("labeling.features='mean'", until=Stage.DISTILLATION)

    assert "labels" in steps.made
    assert {*BASELINE, *STUDENT} <= set(steps.reused)


def test_other_features_train_the_student_again_if_a_loss_reads_them(project: Project) -> None:
    losses = "distillation.losses=[{kind='logit_mse'}, {kind='spkd'}]"
    project.run(losses, until=Stage.DISTILLATION)

    steps = project.run(losses, "labeling.features='mean'", until=Stage.DISTILLATION)

    assert set(STUDENT) <= set(steps.made)
    assert set(BASELINE) <= set(steps.reused)


def test_a_second_channel_of_vectors_redoes_the_vocabulary_which_may_not_outgrow_the_teacher(project: Project) -> None:
    steps = project.run("student.static_channel=true", until=Stage.DISTILLATION)

    assert steps.made == ["vocabulary", *BASELINE, *STUDENT]


def test_a_loss_function_that_was_changed_trains_the_student_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "def own(student_logits, teacher_logits, labels):\n    return (student_logits - teacher_logits).abs().mean()\n"
    )
    monkeypatch.syspath_prepend(str(project.folder))
    file = project.folder / "losses_of_this_project.py"
    file.write_text(code, encoding="utf-8")
    own = "distillation.losses=[{kind='custom', call='losses_of_this_project:own'}]"
    assert project.run(own, until=Stage.DISTILLATION).made == STUDENT
    assert project.run(own, until=Stage.DISTILLATION).made == []

    file.write_text(code.replace("abs()", "square()"), encoding="utf-8")
    steps = project.run(own, until=Stage.DISTILLATION)

    assert steps.made == STUDENT
    assert steps.reasons["students/bilstm/0"] == "loss losses_of_this_project:own changed"


def test_a_loss_function_that_is_not_there_is_reported_before_anything_is_read(project: Project) -> None:
    with pytest.raises(CustomLossUnusable, match="no_such_module"):
        project.run("distillation.losses=[{kind='custom', call='no_such_module:own'}]", out=project.folder / "new")

    assert not (project.folder / "new").exists()


# ---- a transformer, which starts from its teacher and reads along with it ----


@pytest.fixture(scope="module")
def finished_transformer(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(shutil.copytree(finished, tmp_path_factory.mktemp("transformer") / "finished"))
    steps = Project(folder, recipe="transformer").run(until=Stage.DISTILLATION)
    assert steps.made == ["corpus", "teacher", "labels", "vocabulary", SMALL_ALONE, SMALL]
    return folder


@pytest.fixture
def transformer(finished_transformer: Path, tmp_path: Path) -> Project:
    return Project(Path(shutil.copytree(finished_transformer, tmp_path / "project")), recipe="transformer")


@pytest.mark.parametrize(
    ("change", "made"),
    [
        ("student.teacher_layers='last'", [SMALL_ALONE, SMALL]),
        ("student.start='random'", [SMALL_ALONE, SMALL]),
        ("student.width=16", [SMALL_ALONE, SMALL]),
        ("student.max_length=12", [SMALL_ALONE, SMALL]),
        ("student.family='distilbert'", ["vocabulary", SMALL_ALONE, SMALL]),
        ("distillation.stages.0.losses.0.layers=[[1,1]]", [SMALL]),
        ("distillation.stages.0.losses.0.projection='each'", [SMALL]),
        ("distillation.stages.0.epochs=2", [SMALL]),
        ("distillation.stages.1.learning_rate=1e-4", [SMALL]),
        ("distillation.epochs=2", [SMALL_ALONE, SMALL]),
        ("corpus.test='data/test.csv'", ["corpus", "labels"]),
    ],
)
def test_what_trains_a_transformer_again(transformer: Project, change: str, made: list[str]) -> None:
    assert transformer.run(until=Stage.DISTILLATION).made == []

    assert transformer.run(change, until=Stage.DISTILLATION).made == made


def test_a_teacher_that_was_taught_otherwise_leaves_a_transformers_baseline_alone(transformer: Project) -> None:
    steps = transformer.run("teacher.learning_rate=3e-3", until=Stage.DISTILLATION)

    assert SMALL in steps.made
    assert SMALL_ALONE in steps.reused


def test_another_checkpoint_trains_a_transformers_baseline_again(transformer: Project) -> None:
    """It starts from there, and its vocabulary may be the same to the letter."""
    from safetensors.torch import save_file

    path = transformer.folder / "data" / "teacher" / "model.safetensors"
    weights = {name: weight * 1.5 for name, weight in load_file(path).items()}
    save_file(weights, path, metadata={"format": "pt"})

    steps = transformer.run(until=Stage.DISTILLATION)

    assert {SMALL, SMALL_ALONE} <= set(steps.made)
    assert "checkpoint" in steps.reasons[SMALL_ALONE]


def test_the_baseline_beside_a_teacher_that_is_taken_as_it_is_has_its_shape_and_starts_at_random(
    transformer: Project,
) -> None:
    """What it starts from else is the checkpoint before it was taught, and there is none."""
    transformer.run("teacher.train='none'", until=Stage.DISTILLATION)

    weights = [load_file(transformer.run_folder / student / "model.safetensors") for student in (SMALL, SMALL_ALONE)]
    config = json.loads((transformer.run_folder / SMALL_ALONE / "config.json").read_text(encoding="utf-8"))
    taught, alone = ({name: weight.shape for name, weight in side.items()} for side in weights)
    assert taught == alone
    assert config["hidden_size"] == 32
    key = json.loads((transformer.run_folder / SMALL_ALONE / "manifest.json").read_text(encoding="utf-8"))["key"]
    assert key["section"]["student"]["start"] == "random"
