"""The whole road on toy rows: the report keeps its contract, nothing is done twice, the shipped file runs alone."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import limbeck
from limbeck.artifacts.manifest import MANIFEST, read_manifest
from limbeck.artifacts.model_folder import README, open_model
from limbeck.artifacts.run_folder import Run, report_of
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.errors import ArtifactMissing
from limbeck.pipeline import run
from limbeck.progress import SilentReporter
from limbeck.recipe.stages import Stage

MODEL_KEYS = {
    "name", "role", "kind", "seed_count", "accuracy", "macro_f1", "accuracy_sd", "accuracy_ci95", "teacher_agreement",
    "ece", "parameters", "parameters_without_embeddings", "size_mb", "latency_ms", "rows_per_second",
    "speedup_over_teacher",
}  # fmt: skip


class Notes(SilentReporter):
    """Remembers what a run said of its steps."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.made: list[str] = []
        self.reused: list[str] = []

    def note(self, text: str, *, style: str = "") -> None:
        del style
        self.lines.append(text)

    def stage(self, name: str, text: str, *, is_reused: bool = False) -> None:
        del text
        (self.reused if is_reused else self.made).append(name)


@pytest.fixture(scope="module")
def finished(write_recipe: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("toy-run")
    recipe = write_recipe(folder / "data")
    overrides = ["distillation.seeds=[0,1]", "evaluation.throughput_batches=[4]", "evaluation.teacher_int8=true"]
    return run(recipe, overrides=overrides, out=folder / "runs" / "toy", reporter=SilentReporter())


def test_the_report_keeps_its_contract(finished: Run) -> None:
    report = finished.report

    assert {"corpus", "machine", "models"} <= report.keys()
    assert [(model["name"], model["role"]) for model in report["models"]] == [
        ("tiny-teacher0", "teacher"),
        ("tfidf", "rival"),
        ("bilstm-alone", "baseline"),
        ("bilstm", "student"),
        ("bilstm-int8", "export"),
    ]
    for model in report["models"]:
        assert model.keys() >= MODEL_KEYS, model["name"]
        assert 0.0 <= model["accuracy_ci95"][0] <= model["accuracy"] <= model["accuracy_ci95"][1] <= 1.0
        assert model["latency_ms"]["p50"] <= model["latency_ms"]["p95"]
    assert report["corpus"]["labels"] == ["negative", "positive"]
    assert report["models"][3]["seed_count"] == 2


def test_the_report_tells_what_everything_costs(finished: Run) -> None:
    teacher, *others = finished.report["models"]
    int8 = finished.report["teacher_int8"]

    assert int8["agreement"] >= 0.9
    assert int8["size_mb"] > 0
    assert int8["latency_ms"]["p50"] > 0
    assert not (finished.folder / "exports" / "teacher-int8").exists()
    for model in (teacher, *others):
        assert {(entry["threads"], entry["batch"], entry.get("length")) for entry in model["throughput"]} >= {
            (1, 1, None),
            (1, 4, None),
            (1, 4, "short"),
            (1, 4, "long"),
        }
        assert model["latency_ms"]["p95"] <= model["latency_ms"]["p99"]
        assert model["speedup_over_teacher_int8"] > 0
    assert others[0]["engine"] == "scikit-learn"
    assert all(0 < model["multiply_adds"] < teacher["multiply_adds"] for model in others[1:])


def test_held_out_rows_are_kept_out_of_the_transfer_text_and_the_report_says_so(finished: Run) -> None:
    found = finished.report["transfer"]["overlap"]["splits"]
    page = (finished.folder / "report" / "report.html").read_text(encoding="utf-8")

    assert {split: counts["verbatim"] for split, counts in found.items()} == {"dev": 20, "test": 20}
    assert "20 of 20 test rows were in the transfer text" in page


def test_the_student_learns_the_task_and_agrees_with_its_teacher(finished: Run) -> None:
    teacher, rival, _, student, int8 = finished.report["models"]

    assert teacher["accuracy"] >= 0.95
    assert rival["accuracy"] >= 0.9
    assert student["accuracy"] >= 0.9
    assert student["teacher_agreement"] >= 0.9
    assert int8["accuracy"] == pytest.approx(student["accuracy"], abs=0.051)
    assert student["parameters"] < teacher["parameters"]


def test_the_shipped_file_says_what_the_trained_student_says(finished: Run) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification

    import limbeck.models.bilstm
    from limbeck.text.student_tokenizer import StudentTokenizer, padded

    texts = ["the film is gorgeous", "a dreadful evening", "", "gorgeous " * 50]
    shipped = limbeck.load(finished.models["bilstm"])
    seed = next(model for model in finished.report["models"] if model["name"] == "bilstm")["shipped_seed"]
    student = StudentFolder(finished.folder / "students" / "bilstm" / str(seed))

    model = AutoModelForSequenceClassification.from_pretrained(student.folder).eval()
    tokenizer = StudentTokenizer.load(student.folder / "tokenizer.json")
    ids, _ = padded(tokenizer.encode(texts, max_length=student.facts.max_length))
    with torch.no_grad():
        expected = model(torch.from_numpy(ids)).logits.numpy()

    np.testing.assert_allclose(shipped.logits(texts), expected, atol=1e-4)
    assert shipped.predict(texts[:2]) == ["positive", "negative"]


def test_the_best_model_is_a_copy_of_the_one_that_the_report_names(finished: Run) -> None:
    best, named = finished.models["best"], finished.models[finished.report["best"]]

    assert read_manifest(best, kind="model").fingerprint == read_manifest(named, kind="model").fingerprint
    assert limbeck.load(best).predict(["the film is gorgeous"]) == ["positive"]
    assert "limbeck predict best texts.txt" in (best / README).read_text(encoding="utf-8")


def test_every_shipped_model_has_a_card_with_its_numbers(finished: Run) -> None:
    for name, folder in finished.models.items():
        card = (folder / README).read_text(encoding="utf-8")
        judged = finished.report["best"] if name == "best" else name
        entry = next(model for model in finished.report["models"] if model["name"] == judged)

        assert f"value: {entry['accuracy']:.4f}" in card
        assert README not in read_manifest(folder, kind="model").files
        assert open_model(folder).size_mb() == entry["size_mb"]


def test_a_second_run_reuses_everything_and_changes_no_file(finished: Run) -> None:
    files = [*finished.folder.rglob(MANIFEST), *finished.folder.glob(f"models/*/{README}")]
    before = {path: path.stat().st_mtime_ns for path in files}
    notes = Notes()

    recipe = finished.folder / "recipe.toml"  # the resolved recipe runs as well as the one it came from
    run(recipe, out=finished.folder, reporter=notes)

    assert notes.made == []
    assert len(notes.reused) == len(list(finished.folder.rglob(MANIFEST))) == 22
    assert {path: path.stat().st_mtime_ns for path in files} == before
    assert len(before) == 22 + 4  # and the cards


def test_another_run_never_asks_the_teacher_again(finished: Run) -> None:
    """Same corpus and teacher settings, other student: the teacher comes out the same and the store knows it all."""
    runs = finished.folder.parent
    shards = sorted((runs / ".label-store").rglob("*.arrow"))
    changes = ["student.hidden_size=5", "distillation.baseline=false", "distillation.epochs=1"]

    notes = Notes()
    run(
        finished.folder / "recipe.toml", overrides=changes, out=runs / "other", until=Stage.DISTILLATION, reporter=notes
    )

    assert any(" 0 texts asked" in line for line in notes.lines), notes.lines
    assert sorted((runs / ".label-store").rglob("*.arrow")) == shards
    shutil.rmtree(runs / "other")


def test_a_run_goes_on_in_another_folder(finished: Run, tmp_path: Path) -> None:
    moved = Path(shutil.copytree(finished.folder, tmp_path / "moved"))
    notes = Notes()

    run(moved, out=moved, reporter=notes)

    assert notes.made == []


def test_a_changed_run_that_stopped_early_does_not_show_its_old_report(finished: Run, tmp_path: Path) -> None:
    changed = Path(shutil.copytree(finished.folder, tmp_path / "changed"))
    assert report_of(changed).data["models"]

    run(changed, out=changed, overrides=["student.hidden_size=5"], until=Stage.DISTILLATION, reporter=Notes())

    with pytest.raises(ArtifactMissing, match=r"older than what it is about \(bilstm-alone, bilstm\)"):
        report_of(changed)


def test_run_json_says_what_happened(finished: Run) -> None:
    facts = json.loads((finished.folder / "run.json").read_text(encoding="utf-8"))

    assert facts["seeds"] == [0, 1]
    assert facts["machine"]["versions"]["limbeck"] == limbeck.__version__
    assert facts["stages"]["teacher"]["seconds"] > 0
    assert "students/bilstm/1" in facts["stages"]
