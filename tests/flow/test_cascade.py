"""A run that keeps its teacher: the profile of its models, and the cascade that its report is about, at work."""

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import limbeck
from benchmarks.cascade import measured
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.model_folder import README, ModelFolder, open_model
from limbeck.artifacts.rows import runtime_rows
from limbeck.artifacts.run_folder import Run
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.judging.answers import labelled_rows
from limbeck.pipeline import run
from limbeck.progress import SilentReporter
from limbeck.runtime.cascade import Cascade, CascadeClassifier
from limbeck.runtime.probabilities import confidence
from limbeck.training.skill import predicted
from tests.flow.test_toy_run import Notes

POINT, POINTS_APART = 0.01, 5
OVERRIDES = [
    'export.teacher="int8"', "export.examples=5", "evaluation.throughput_batches=[]", "evaluation.teacher_int8=true",
    "corpus.dev_fraction=0.2", "corpus.test_fraction=0.25",
    "student.max_length=4",  # of the words that decide it reads some: the teacher is worth asking
]  # fmt: skip


@pytest.fixture(scope="module")
def finished(write_recipe: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("cascade-run")
    recipe = write_recipe(folder / "data")
    return run(recipe, overrides=OVERRIDES, out=folder / "runs" / "toy", reporter=SilentReporter())


def test_every_model_has_a_profile_of_its_own(finished: Run) -> None:
    corpus, labels = Corpus(finished.folder / "corpus"), TeacherLabels(finished.folder / "labels")
    dev = labelled_rows(corpus, "dev")
    for name in ("bilstm", "bilstm-int8", "bilstm-alone", "best"):
        model = limbeck.load(finished.models[name])
        profile = open_model(finished.models[name]).profile()
        assert profile is not None
        assert profile.cascade is not None

        sure = confidence(model.predict_proba(runtime_rows(dev)), multi_label=False)

        right = predicted(model.logits(runtime_rows(dev)), multi_label=False) == dev.labels
        assert profile.rows == profile.cascade.rows == len(dev)
        assert profile.confidence_quantiles[0] == pytest.approx(sure.min(), abs=0.01)
        assert profile.confidence_quantiles[50] == pytest.approx(np.median(sure), abs=0.01)
        assert sum(profile.confidence_histogram) == pytest.approx(1)
        assert sum(profile.label_shares or ()) == pytest.approx(1, abs=1e-6)
        assert profile.unknown_words is not None
        assert 0 <= profile.unknown_words < 0.5
        assert profile.cascade.student_accuracy == pytest.approx(right.mean())
        teacher = predicted(labels.for_rows(dev.ids), multi_label=False) == dev.labels
        assert profile.cascade.teacher_accuracy == pytest.approx(teacher.mean())
        assert len(profile.examples) == 5
        assert set(profile.examples) <= set(dev.texts)


def test_the_cascade_at_work_is_the_one_that_the_report_is_about(finished: Run) -> None:
    corpus, report = Corpus(finished.folder / "corpus"), finished.report["cascade"]
    rows = labelled_rows(corpus, corpus.judged_split)
    student, teacher = finished.models[report["student"]], finished.models["teacher-int8"]

    assert report["student_accuracy"] + 0.1 < report["teacher_accuracy"]
    assert 0.1 < report["cheapest"]["asked_share"] < 0.9
    loaded = limbeck.load(student, fallback=teacher).cascade
    for point in report["points"][::POINTS_APART]:
        model = CascadeClassifier(Cascade(loaded.student, loaded.fallback, threshold=point["threshold"]))
        answers = model.answers(runtime_rows(rows))
        accuracy = float(np.mean(answers.probabilities.argmax(axis=1) == rows.labels))
        assert answers.by_fallback.mean() == pytest.approx(point["asked_share"], abs=POINT)
        assert accuracy == pytest.approx(point["accuracy"], abs=POINT)
        assert answers.note is None


def test_the_kept_teacher_is_a_model_like_any_other(finished: Run) -> None:
    corpus, labels = Corpus(finished.folder / "corpus"), TeacherLabels(finished.folder / "labels")
    dev = labelled_rows(corpus, "dev")
    teacher = limbeck.load(finished.models["teacher-int8"])

    found = teacher.predict(runtime_rows(dev))

    expected = [corpus.labels[number] for number in labels.for_rows(dev.ids).argmax(axis=1)]
    assert np.mean([one == other for one, other in zip(found, expected, strict=True)]) >= 0.95
    card = (finished.models["teacher-int8"] / README).read_text(encoding="utf-8")
    assert card.startswith("---\nlanguage:")
    assert "--fallback teacher-int8" in card
    assert finished.report["teacher_int8"]["size_mb"] == pytest.approx(ModelFolder(teacher._folder).size_mb())
    assert not (finished.folder / "exports" / "teacher-int8").exists()


def test_the_script_finds_the_curve_of_the_report_again(finished: Run, tmp_path: Path) -> None:
    corpus = Corpus(finished.folder / "corpus")
    rows = labelled_rows(corpus, corpus.judged_split)
    with (tmp_path / "rows.csv").open("w", encoding="utf-8", newline="") as file:
        names = [corpus.labels[number] for number in rows.labels]
        csv.writer(file).writerows([["text", "label"], *zip(rows.texts, names, strict=True)])

    found = measured(finished.folder, tmp_path / "rows.csv", shares=[0.0, 0.2, 0.5, 1.0])

    assert found["rows"] == found["report"]["rows"] == len(rows)
    assert [point["note"] for point in found["points"]] == [None] * 5
    assert max(abs(point["accuracy_difference"]) for point in found["points"]) <= POINT
    cheapest = finished.report["cascade"]["cheapest"]
    assert found["points"][0]["threshold"] == pytest.approx(cheapest["threshold"], abs=0.01)
    assert found["points"][0]["asked_share"] == pytest.approx(cheapest["asked_share"], abs=POINT)


def test_the_same_run_again_reuses_it_and_without_the_key_it_is_removed(finished: Run) -> None:
    notes = Notes()
    run(finished.folder, reporter=notes)
    assert notes.made == []
    assert "models/teacher-int8" in notes.reused

    notes = Notes()
    run(finished.folder, overrides=['export.teacher="none"'], reporter=notes)

    assert not (finished.folder / "models" / "teacher-int8").exists()
    assert "exports/bilstm/0" in notes.reused
