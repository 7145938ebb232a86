"""What models answer on the judged rows, by id, split and seed."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus, save_corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.rows import NO_LABEL, Rows, runtime_rows
from limbeck.artifacts.teacher_labels import TeacherLabels, save_teacher_labels
from limbeck.errors import TooFewRows
from limbeck.judging.answers import ModelAnswers, TeacherAnswers, answers_of, judged_rows
from limbeck.progress import SilentReporter
from limbeck.runtime.classifier import load

LABELS = np.array([1, 1, 0, 0])
# The teacher is right on all rows, the student's seeds on three and on two of them.
TEACHER = ModelAnswers(labels=LABELS, logits=np.array([[[0, 2], [0, 2], [2, 0], [2, 0]]], dtype=np.float32))
STUDENT = ModelAnswers(
    labels=LABELS,
    logits=np.array([[[0, 1], [0, 1], [1, 0], [0, 1]], [[0, 1], [1, 0], [1, 0], [0, 1]]], dtype=np.float32),
)
# Rows that may have two labels: right in all of them are the first and the last.
SETS = ModelAnswers(
    labels=np.array([[1, 1], [0, 0], [0, 1]]),
    logits=np.array([[[1, 2], [3, -1], [-1, 0]]], dtype=np.float32),
)


def asked(places: list[int], answers: ModelAnswers) -> TeacherAnswers:
    """A teacher that knows the rows at these places only."""
    return TeacherAnswers(places=np.array(places, dtype=np.int64), answers=answers.at(np.array(places, dtype=np.int64)))


def labels_of(folder: Path, logits: dict[str, list[float]]) -> TeacherLabels:
    """Teacher labels of these rows."""
    with written_atomically(folder, kind="labels", key=Key(section={}, inputs={})) as scratch:
        table = np.array(list(logits.values()), dtype=np.float32)
        save_teacher_labels(scratch, ids=list(logits), logits=table, facts={})
    return TeacherLabels(folder)


def corpus_with(tmp_path: Path, **splits: Rows) -> Corpus:
    """A corpus of these splits."""
    with written_atomically(tmp_path / "corpus", kind="corpus", key=Key(section={}, inputs={})) as scratch:
        save_corpus(scratch, splits=splits, facts={"labels": ["no", "yes"], "language": "en", "pair": False})
    return Corpus(tmp_path / "corpus")


def test_agreement_goes_by_the_rows_the_teacher_knows_and_so_does_the_accuracy_beside_it() -> None:
    found = asked([1, 2], TEACHER).compared(STUDENT)

    assert (found["teacher_agreement"], found["accuracy_on_teacher_rows"]) == (0.75, 0.75)


def test_agreement_is_with_the_teacher_and_the_teacher_agrees_with_itself() -> None:
    teacher = asked([0, 1, 2, 3], TEACHER)

    assert teacher.compared(TEACHER) == {"teacher_agreement": 1.0, "kl_to_teacher": 0.0}
    assert teacher.compared(STUDENT)["teacher_agreement"] == pytest.approx((3 / 4 + 2 / 4) / 2)


def test_the_divergence_from_the_teacher_goes_by_the_rows_it_knows_and_is_a_mean_over_seeds() -> None:
    teacher = asked([1, 2], TEACHER)

    found = teacher.compared(STUDENT)["kl_to_teacher"]

    sure = 1 / (1 + np.exp(-2))
    less = {sign: 1 / (1 + np.exp(-sign)) for sign in (1, -1)}
    near, far = (
        sure * np.log(sure / less[sign]) + (1 - sure) * np.log((1 - sure) / (1 - less[sign])) for sign in (1, -1)
    )
    assert found == pytest.approx((near + near + far + near) / 4)  # one seed is wrong about row 1


def test_nobody_agrees_with_a_teacher_that_is_silent() -> None:
    assert asked([], TEACHER).compared(STUDENT) == {"teacher_agreement": None, "kl_to_teacher": None}


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


def test_with_several_labels_agreement_is_about_the_whole_set() -> None:
    other = ModelAnswers(labels=SETS.labels, logits=np.array([[[1, 2], [3, -1], [1, 1]]], dtype=np.float32))

    assert asked([0, 1, 2], SETS).compared(other)["teacher_agreement"] == pytest.approx(2 / 3)


def test_answers_come_from_the_exported_file_of_each_seed(make_model: Callable[..., ModelFolder]) -> None:
    rows = Rows.of(ids=["a", "b"], texts=["gorgeous film", "dreadful dreadful"], labels=[1, 0])
    exports = {0: make_model("zero"), 7: make_model("seven", weight=-2.0)}

    with SilentReporter().bar("judging", total=4, unit="rows") as bar:
        answers = answers_of(exports, rows=rows, bar=bar)

    assert answers.logits.tolist() == [[[-1, 1], [2, -2]], [[2, -2], [-4, 4]]]
    assert answers.accuracies == [1.0, 0.0]


def test_each_seed_has_the_temperature_of_its_file(make_model: Callable[..., ModelFolder]) -> None:
    rows = Rows.of(ids=["a"], texts=["gorgeous film"], labels=[1])
    exports = {0: make_model("zero"), 7: make_model("seven", temperature=2.0)}

    with SilentReporter().bar("judging", total=2, unit="rows") as bar:
        answers = answers_of(exports, rows=rows, bar=bar, shipped_place=1)

    assert answers.probabilities[:, 0, 1] == pytest.approx(1 / (1 + np.exp([-2, -2])))
    assert answers.calibrated[:, 0, 1] == pytest.approx(1 / (1 + np.exp([-2, -1])))
    assert answers.shipped is not None
    assert answers.shipped.temperatures == (2.0,)
    assert answers.shipped.calibrated[0, 0, 1] == load(exports[7].folder).predict_proba(rows.texts)[0, 1]


def test_no_rows_have_answers_of_the_right_shape(make_model: Callable[..., ModelFolder]) -> None:
    rows = Rows.of(ids=[], texts=[], labels=[])

    with SilentReporter().bar("judging", total=0, unit="rows") as bar:
        answers = answers_of({0: make_model("zero")}, rows=rows, bar=bar)

    assert answers.logits.shape == (1, 0, 2)


def test_answers_of_a_teacher_are_as_they_are_and_ship_as_they_are() -> None:
    assert TEACHER.calibrated is TEACHER.probabilities
    assert TEACHER.shipped is not None
    assert TEACHER.shipped.temperatures is None


def test_where_no_seed_ships_there_is_no_answer_of_it() -> None:
    assert ModelAnswers(LABELS, STUDENT.logits, (1.0, 1.0), shipped_place=None).shipped is None


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
