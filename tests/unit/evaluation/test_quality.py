"""What models answer on the judged rows, and the numbers made of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limbeck.artifacts.corpus import Corpus, save_corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.rows import NO_LABEL, Rows
from limbeck.artifacts.teacher_labels import TeacherLabels, save_teacher_labels
from limbeck.artifacts.whole import written_whole
from limbeck.errors import TooFewRows
from limbeck.evaluation.quality import (
    Answers,
    TeacherAnswers,
    answers_of,
    gain,
    judged_rows,
    quality,
    runtime_rows,
)
from limbeck.progress import SilentReporter

LABELS = np.array([1, 1, 0, 0])
# The teacher is right on all rows, the student's seeds on three and on two of them.
TEACHER = Answers(labels=LABELS, logits=np.array([[[0, 2], [0, 2], [2, 0], [2, 0]]], dtype=np.float32))
STUDENT = Answers(
    labels=LABELS,
    logits=np.array([[[0, 1], [0, 1], [1, 0], [0, 1]], [[0, 1], [1, 0], [1, 0], [0, 1]]], dtype=np.float32),
)
# Rows that may have two labels: right in all of them are the first and the last.
SETS = Answers(
    labels=np.array([[1, 1], [0, 0], [0, 1]]),
    logits=np.array([[[1, 2], [3, -1], [-1, 0]]], dtype=np.float32),
)


def asked(places: list[int], answers: Answers) -> TeacherAnswers:
    """A teacher that knows the rows at these places only."""
    return TeacherAnswers(places=np.array(places, dtype=np.int64), answers=answers.at(np.array(places, dtype=np.int64)))


def labels_of(folder: Path, logits: dict[str, list[float]]) -> TeacherLabels:
    """Teacher labels of these rows."""
    with written_whole(folder, kind="labels", key=Key(section={}, inputs={})) as scratch:
        table = np.array(list(logits.values()), dtype=np.float32)
        save_teacher_labels(scratch, ids=list(logits), logits=table, facts={})
    return TeacherLabels(folder)


def corpus_with(tmp_path: Path, **splits: Rows) -> Corpus:
    """A corpus of these splits."""
    with written_whole(tmp_path / "corpus", kind="corpus", key=Key(section={}, inputs={})) as scratch:
        save_corpus(scratch, splits=splits, facts={"labels": ["no", "yes"], "language": "en", "pair": False})
    return Corpus(tmp_path / "corpus")


def numbers(answers: Answers) -> dict[str, Any]:
    """The quality of these answers."""
    return quality(answers, names=["no", "yes"], samples=200)


def test_accuracy_is_the_mean_over_seeds_with_its_spread() -> None:
    found = numbers(STUDENT)

    assert found["seed_count"] == 2
    assert found["accuracy"] == pytest.approx((3 / 4 + 2 / 4) / 2)
    assert found["accuracy_per_seed"] == [0.75, 0.5]
    assert found["accuracy_sd"] == pytest.approx(np.std([0.75, 0.5], ddof=1))


def test_agreement_is_with_the_teacher_and_the_teacher_agrees_with_itself() -> None:
    teacher = asked([0, 1, 2, 3], TEACHER)

    assert teacher.compared(TEACHER) == {"teacher_agreement": 1.0}
    assert teacher.compared(STUDENT) == {"teacher_agreement": pytest.approx((3 / 4 + 2 / 4) / 2)}


def test_agreement_goes_by_the_rows_the_teacher_knows_and_so_does_the_accuracy_beside_it() -> None:
    found = asked([1, 2], TEACHER).compared(STUDENT)

    assert found == {"teacher_agreement": 0.75, "accuracy_on_teacher_rows": 0.75}


def test_nobody_agrees_with_a_teacher_that_is_silent() -> None:
    assert asked([], TEACHER).compared(STUDENT) == {"teacher_agreement": None}


def test_a_teacher_that_is_silent_has_no_numbers() -> None:
    found = numbers(asked([], TEACHER).answers)

    assert found["seed_count"] == 1
    assert {key: value for key, value in found.items() if value is not None} == {"seed_count": 1}
    assert set(found) == set(numbers(TEACHER))
    assert set(numbers(asked([], SETS).answers)) == set(numbers(SETS))


def test_what_the_teacher_said_is_found_by_the_id_of_the_row(tmp_path: Path) -> None:
    rows = Rows.of(ids=["a", "b", "c"], texts=["a", "b", "c"], labels=[1, 0, 1])

    found = TeacherAnswers.of(labels_of(tmp_path / "labels", {"c": [0, 1], "x": [9, 9], "a": [1, 0]}), rows)

    assert found.places.tolist() == [0, 2]
    assert found.answers.labels.tolist() == [1, 1]
    assert found.answers.logits.tolist() == [[[1, 0], [0, 1]]]


def test_a_teacher_may_know_none_of_the_rows(tmp_path: Path) -> None:
    rows = Rows.of(ids=["a"], texts=["a"], labels=np.array([[1, 0]]))

    found = TeacherAnswers.of(labels_of(tmp_path / "labels", {"x": [9, 9]}), rows)

    assert found.places.tolist() == []
    assert found.answers.labels.shape == (0, 2)
    assert found.answers.logits.shape == (1, 0, 2)


def test_a_row_of_several_labels_is_right_if_all_of_them_are() -> None:
    found = numbers(SETS)

    assert SETS.predicted.tolist() == [[[1, 1], [1, 0], [0, 1]]]
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["hamming_loss"] == pytest.approx(1 / 6)
    assert found["micro_f1"] == pytest.approx(2 * 3 / (3 + 4))
    assert [row["support"] for row in found["per_class"]] == [1, 2]


def test_numbers_of_sets_stand_only_where_a_row_may_have_several_labels() -> None:
    assert set(numbers(SETS)) - set(numbers(STUDENT)) == {"micro_f1", "hamming_loss"}


def test_with_several_labels_agreement_is_about_the_whole_set() -> None:
    other = Answers(labels=SETS.labels, logits=np.array([[[1, 2], [3, -1], [1, 1]]], dtype=np.float32))

    assert asked([0, 1, 2], SETS).compared(other) == {"teacher_agreement": pytest.approx(2 / 3)}


def test_calibration_is_that_of_the_probabilities() -> None:
    confidence = 1 / (1 + np.exp(-2))  # of every row of the teacher, all right

    assert numbers(TEACHER)["ece"] == pytest.approx(1 - confidence, abs=1e-6)


def test_the_gain_is_the_difference_of_the_means() -> None:
    found = gain(TEACHER, baseline=STUDENT, samples=200)

    assert found is not None
    assert found["accuracy"] == pytest.approx(1 - 0.625)
    assert found["ci95"][0] <= found["accuracy"] <= found["ci95"][1]


def test_without_a_baseline_there_is_no_gain() -> None:
    assert gain(STUDENT, baseline=None, samples=200) is None


def test_answers_come_from_the_exported_file_of_each_seed(make_model: Callable[..., ModelFolder]) -> None:
    rows = Rows.of(ids=["a", "b"], texts=["gorgeous film", "dreadful dreadful"], labels=[1, 0])
    exports = {0: make_model("zero"), 7: make_model("seven", weight=-2.0)}

    with SilentReporter().bar("judging", total=4, unit="rows") as bar:
        answers = answers_of(exports, rows=rows, bar=bar)

    assert answers.logits.tolist() == [[[-1, 1], [2, -2]], [[2, -2], [-4, 4]]]
    assert answers.accuracies == [1.0, 0.0]


def test_test_is_judged_where_there_is_one_else_dev(tmp_path: Path) -> None:
    dev = Rows.of(ids=["d"], texts=["dev"], labels=[0])
    test = Rows.of(ids=["t"], texts=["test"], labels=[1])

    assert judged_rows(corpus_with(tmp_path, train=dev, dev=dev)).ids == ["d"]
    assert judged_rows(corpus_with(tmp_path / "more", train=dev, dev=dev, test=test)).ids == ["t"]


def test_rows_without_a_label_are_not_judged(tmp_path: Path) -> None:
    dev = Rows.of(ids=["a", "b", "c"], texts=["a", "b", "c"], labels=[0, NO_LABEL, 1])

    assert judged_rows(corpus_with(tmp_path, train=dev, dev=dev)).ids == ["a", "c"]


def test_a_row_that_has_none_of_several_labels_is_judged_and_one_nobody_labelled_is_not(tmp_path: Path) -> None:
    sets = np.array([[0, 0], [NO_LABEL, NO_LABEL], [1, 1]])
    dev = Rows.of(ids=["a", "b", "c"], texts=["a", "b", "c"], labels=sets)

    assert judged_rows(corpus_with(tmp_path, train=dev, dev=dev)).ids == ["a", "c"]


def test_a_split_without_any_label_cannot_be_judged(tmp_path: Path) -> None:
    dev = Rows.of(ids=["a"], texts=["a"])

    with pytest.raises(TooFewRows, match="dev: rows with a label"):
        judged_rows(corpus_with(tmp_path, train=dev, dev=dev))


def test_pairs_are_given_to_the_runtime_as_pairs() -> None:
    assert runtime_rows(Rows.of(ids=["a"], texts=["one"], pairs=["two"])) == [("one", "two")]
    assert runtime_rows(Rows.of(ids=["a"], texts=["one"])) == ["one"]
