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
from limbeck.artifacts.whole import written_whole
from limbeck.errors import TooFewRows
from limbeck.evaluation.quality import Answers, answers_of, gain, judged_rows, quality, runtime_rows
from limbeck.progress import SilentReporter

LABELS = np.array([1, 1, 0, 0])
# The teacher is right on all rows, the student's seeds on three and on two of them.
TEACHER = Answers(labels=LABELS, logits=np.array([[[0, 2], [0, 2], [2, 0], [2, 0]]], dtype=np.float32))
STUDENT = Answers(
    labels=LABELS,
    logits=np.array([[[0, 1], [0, 1], [1, 0], [0, 1]], [[0, 1], [1, 0], [1, 0], [0, 1]]], dtype=np.float32),
)


def corpus_with(tmp_path: Path, **splits: Rows) -> Corpus:
    """A corpus of these splits."""
    with written_whole(tmp_path / "corpus", kind="corpus", key=Key(section={}, inputs={})) as scratch:
        save_corpus(scratch, splits=splits, facts={"labels": ["no", "yes"], "language": "en", "pair": False})
    return Corpus(tmp_path / "corpus")


def numbers(answers: Answers) -> dict[str, Any]:
    """The quality of these answers."""
    return quality(answers, teacher=TEACHER, names=["no", "yes"], samples=200)


def test_accuracy_is_the_mean_over_seeds_with_its_spread() -> None:
    found = numbers(STUDENT)

    assert found["seed_count"] == 2
    assert found["accuracy"] == pytest.approx((3 / 4 + 2 / 4) / 2)
    assert found["accuracy_per_seed"] == [0.75, 0.5]
    assert found["accuracy_sd"] == pytest.approx(np.std([0.75, 0.5], ddof=1))


def test_agreement_is_with_the_teacher_and_the_teacher_agrees_with_itself() -> None:
    assert numbers(TEACHER)["teacher_agreement"] == 1.0
    assert numbers(STUDENT)["teacher_agreement"] == pytest.approx((3 / 4 + 2 / 4) / 2)


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


def test_a_split_without_any_label_cannot_be_judged(tmp_path: Path) -> None:
    dev = Rows.of(ids=["a"], texts=["a"])

    with pytest.raises(TooFewRows, match="dev: rows with a label"):
        judged_rows(corpus_with(tmp_path, train=dev, dev=dev))


def test_pairs_are_given_to_the_runtime_as_pairs() -> None:
    assert runtime_rows(Rows.of(ids=["a"], texts=["one"], pairs=["two"])) == [("one", "two")]
    assert runtime_rows(Rows.of(ids=["a"], texts=["one"])) == ["one"]
