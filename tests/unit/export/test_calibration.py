"""The temperature of an exported file: against scikit-learn's likelihood, on logits of which it is known."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import expit, softmax
from sklearn.metrics import log_loss

from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import NO_LABEL, Rows
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.export import export_student, run
from limbeck.export.run import temperature_of
from limbeck.progress import SilentReporter
from limbeck.recipe.export import Export, Precision
from limbeck.runtime.classifier import Classifier, load
from limbeck.training.temperature import PRIOR_ROWS, fitted_temperature, negative_log_likelihood

Logits = npt.NDArray[Any]
ToyRows = tuple[tuple[str, str], ...]


def drawn(rows: int, *, classes: int = 3) -> tuple[Logits, npt.NDArray[np.int64]]:
    """Logits that are honest at temperature 1: labels are drawn by their probabilities."""
    dice = np.random.default_rng(0)
    logits = dice.normal(0, 2, (rows, classes)).astype(np.float32)
    edges = softmax(logits.astype(np.float64), axis=1).cumsum(axis=1)
    return logits, (dice.uniform(size=(rows, 1)) > edges[:, :-1]).sum(axis=1)


def test_likelihood_is_the_log_loss_of_scikit_learn() -> None:
    logits, labels = drawn(80)

    found = negative_log_likelihood(logits, labels, temperature=2.5)

    assert found == pytest.approx(log_loss(labels, softmax(logits.astype(np.float64) / 2.5, axis=1)))


def test_likelihood_of_several_labels_is_the_log_loss_of_each_class_summed() -> None:
    dice = np.random.default_rng(1)
    logits, labels = dice.normal(0, 2, (50, 4)), dice.integers(0, 2, (50, 4))

    found = negative_log_likelihood(logits, labels, temperature=0.7)

    probabilities = expit(logits / 0.7)
    each = [log_loss(labels[:, number], probabilities[:, number], labels=[0, 1]) for number in range(4)]
    assert found == pytest.approx(sum(each))


@pytest.mark.parametrize("factor", [0.25, 1.0, 3.0])
def test_logits_that_were_made_too_large_are_divided_by_as_much(factor: float) -> None:
    logits, labels = drawn(8000)

    assert fitted_temperature(factor * logits, labels) == pytest.approx(factor, rel=0.05)


def test_no_temperature_on_a_fine_grid_is_better() -> None:
    logits, labels = drawn(300)
    own = softmax(2 * logits.astype(np.float64), axis=1)  # ten more rows, with labels by the model's own probabilities
    said = np.concatenate([labels, *(np.full(300, number) for number in range(3))])
    weights = np.concatenate([np.ones(300), *(own.T * PRIOR_ROWS / 300)])

    found = fitted_temperature(2 * logits, labels)

    everywhere, nearby = np.exp(np.linspace(np.log(0.05), np.log(20), 301)), found * np.linspace(0.9, 1.1, 401)
    grid = np.concatenate([everywhere, nearby])
    losses = [
        log_loss(said, np.tile(softmax(2 * logits.astype(np.float64) / one, axis=1), (4, 1)), sample_weight=weights)
        for one in grid
    ]
    assert found == pytest.approx(grid[np.argmin(losses)], rel=2e-3)


def unshrunk(logits: Logits, labels: npt.NDArray[np.int64]) -> float:
    grid = np.exp(np.linspace(np.log(0.2), np.log(8), 2001))
    return float(grid[np.argmin([negative_log_likelihood(logits, labels, temperature=one) for one in grid])])


def test_few_rows_pull_the_temperature_towards_one_hand_worked() -> None:
    # Forty rows with the logits (2, 0) or (0, 2), of which thirty are right: 3/4 = 1 / (1 + exp(-2 / T)).
    sides = np.arange(40) % 2
    logits = np.where(sides[:, np.newaxis] == [0, 1], 2.0, 0.0)
    labels = np.where(np.arange(40) < 30, sides, 1 - sides)

    found = fitted_temperature(logits, labels)

    # Ten more rows of which the model's own share is right: (30 + 10 / (1 + exp(-2))) / 50 in place of 3/4.
    share = (30 + 10 / (1 + math.exp(-2))) / 50
    assert unshrunk(logits, labels) == pytest.approx(2 / math.log(3), rel=2e-3)
    assert found == pytest.approx(2 / math.log(share / (1 - share)), abs=1e-4)


def test_few_rows_pull_the_temperature_of_several_labels_towards_one_hand_worked() -> None:
    # The same with one class that a row has or has not: a logit of 2 or -2, and thirty of forty are right.
    sides = np.arange(40) % 2
    labels = np.where(np.arange(40) < 30, sides, 1 - sides)[:, np.newaxis]

    found = fitted_temperature(np.where(sides == 1, 2.0, -2.0)[:, np.newaxis], labels)

    share = (30 + 10 / (1 + math.exp(-2))) / 50
    assert found == pytest.approx(2 / math.log(share / (1 - share)), abs=1e-4)


@pytest.mark.parametrize("factor", [0.5, 1.5, 3.0])
def test_with_thousands_of_rows_the_pull_is_nothing(factor: float) -> None:
    logits, labels = drawn(2000)

    assert fitted_temperature(factor * logits, labels) == pytest.approx(unshrunk(factor * logits, labels), rel=0.01)


@pytest.mark.parametrize("factor", [0.4, 3.0])
def test_the_pull_is_towards_one_and_stops_before_it(factor: float) -> None:
    logits, labels = drawn(45)

    found, free = fitted_temperature(factor * logits, labels), unshrunk(factor * logits, labels)

    assert min(1.0, free) < found < max(1.0, free)


def test_with_several_labels_the_likelihood_is_that_of_every_yes_and_no() -> None:
    dice = np.random.default_rng(2)
    logits = dice.normal(-1, 2, (4000, 3))
    labels = (dice.uniform(size=logits.shape) < expit(logits)).astype(np.int64)

    assert fitted_temperature(4 * logits, labels) == pytest.approx(4, rel=0.05)


def test_a_model_that_is_always_right_is_left_as_it_is() -> None:
    logits, _ = drawn(100)

    assert fitted_temperature(logits, logits.argmax(axis=1)) == 1.0


def test_a_useless_model_is_not_calibrated() -> None:
    logits, _ = drawn(100)

    assert fitted_temperature(logits, logits.argmin(axis=1)) == 1.0


def test_a_model_that_always_predicts_the_same_is_not_calibrated() -> None:
    logits, labels = drawn(100)
    logits[:, 1] = 50

    assert fitted_temperature(logits, labels) == 1.0


def test_too_few_rows_give_no_temperature() -> None:
    logits, labels = drawn(30)

    assert fitted_temperature(5 * logits[:29], labels[:29]) == 1.0
    assert fitted_temperature(5 * logits, labels) != 1.0


def test_huge_logits_are_calibrated_too() -> None:
    logits, labels = drawn(200)

    assert np.isfinite(negative_log_likelihood(1e4 * logits, labels, temperature=0.05))
    assert fitted_temperature(10 * logits, labels) == pytest.approx(10, rel=0.3)


@pytest.fixture
def student(tmp_path: Path, make_student: Callable[..., StudentFolder]) -> StudentFolder:
    return make_student(tmp_path / "student")


def labelled(toy_rows: ToyRows, student: StudentFolder, *, unlabelled: int = 0) -> Rows:
    """Rows whose labels have little to do with the student's predictions, so that it is far too confident."""
    texts = [text for text, _ in toy_rows]
    labels = np.array([len(text) % len(student.facts.labels) for text in texts])
    labels[:unlabelled] = NO_LABEL
    return Rows.of(ids=texts, texts=texts, labels=labels)


def exported(
    student: StudentFolder, rows: Rows, out: Path, *, precision: Precision = "fp32", **section: Any
) -> Classifier:
    export_student(
        Export(**section),
        student=student,
        rows=rows,
        precision=precision,
        out=out,
        key=Key(section={}, inputs={}),
        reporter=SilentReporter(),
    )
    return load(out)


def test_the_exported_file_has_the_temperature_at_which_dev_is_likeliest(
    tmp_path: Path, student: StudentFolder, toy_rows: ToyRows
) -> None:
    rows = labelled(toy_rows, student, unlabelled=50)

    model = exported(student, rows, tmp_path / "model")

    places = range(50, 200)
    assert model.facts.temperature > 1
    assert model.facts.temperature == fitted_temperature(model.logits(rows.texts)[places], rows.labels[places])
    assert log_loss(rows.labels[places], model.predict_proba(rows.texts)[places]) < log_loss(
        rows.labels[places], softmax(model.logits(rows.texts), axis=1)[places]
    )


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_the_temperature_does_not_depend_on_what_the_file_is_compared_on(
    tmp_path: Path, student: StudentFolder, toy_rows: ToyRows, precision: Precision
) -> None:
    rows = labelled(toy_rows, student, unlabelled=50)

    models = [
        exported(student, rows, tmp_path / str(count), precision=precision, parity_rows=count)
        for count in (20, 120, 1000)
    ]

    assert models[0].facts.temperature != 1.0
    assert len({model.facts.temperature for model in models}) == 1


def test_the_recipe_can_leave_probabilities_as_they_are(
    tmp_path: Path, student: StudentFolder, toy_rows: ToyRows
) -> None:
    rows = labelled(toy_rows, student)

    model = exported(student, rows, tmp_path / "model", calibrate=False)

    assert model.facts.temperature == 1.0


def test_labels_are_the_same_at_any_temperature(tmp_path: Path, student: StudentFolder, toy_rows: ToyRows) -> None:
    rows = labelled(toy_rows, student)

    hot = exported(student, rows, tmp_path / "hot")
    plain = exported(student, rows, tmp_path / "plain", calibrate=False)

    assert hot.facts.temperature != 1.0
    assert hot.predict(rows.texts) == plain.predict(rows.texts)
    assert [hot.labels[place] for place in hot.predict_proba(rows.texts).argmax(axis=1)] == plain.predict(rows.texts)
    np.testing.assert_array_equal(hot.logits(rows.texts), plain.logits(rows.texts))


def test_no_more_rows_are_asked_about_than_needed_and_they_are_spread_over_all(
    tmp_path: Path, student: StudentFolder, toy_rows: ToyRows, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = exported(student, labelled(toy_rows, student), tmp_path / "model")
    asked: list[list[str]] = []

    def listening(rows: list[str]) -> Logits:
        asked.append(list(rows))
        return np.zeros((len(rows), 3), dtype=np.float32)

    monkeypatch.setattr(run, "MOST_ROWS", 40)
    monkeypatch.setattr(model, "logits", listening)

    temperature_of(model, labelled(toy_rows, student))

    texts = [text for text, _ in toy_rows]
    assert len(asked[0]) == 40
    assert (asked[0][0], asked[0][-1]) == (texts[0], texts[-1])
