"""Thresholds fitted on dev."""

from pathlib import Path

import numpy as np
import pytest

from limbeck.artifacts.foreign import Foreign
from limbeck.artifacts.model_folder import ModelFacts, ModelFolder
from limbeck.artifacts.rows import Rows
from limbeck.export.abstain import OnDev, fitted_cut, with_abstention
from limbeck.recipe.export import Abstain
from limbeck.runtime.row import Row

SCORES = np.array([0.1, 0.2, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
RIGHT = np.array([False, True, False, True, False, True, True, True, True, True])
FOREIGN = np.array([0.15, 0.3, 0.55])


def cut(section: Abstain, *, right: np.ndarray | None = RIGHT, foreign: np.ndarray = FOREIGN) -> tuple[int, bool]:
    found, _, is_reached = fitted_cut(section, OnDev.of(SCORES, right, foreign))
    return found, is_reached


def test_a_wanted_error_withholds_as_few_rows_as_it_can() -> None:
    assert cut(Abstain(error=0.2), foreign=np.zeros(0)) == (3, True)  # of seven rows one is wrong
    assert cut(Abstain(error=0.01), foreign=np.zeros(0)) == (5, True)


def test_foreign_rows_that_are_answered_are_wrong_answers() -> None:
    assert cut(Abstain(error=0.2)) == (5, True)  # the foreign 0.55 beside five right ones is a sixth
    assert cut(Abstain(error=0.01)) == (6, True)


def test_an_error_that_cannot_be_reached_is_as_low_as_dev_allows() -> None:
    always_wrong = np.zeros(10, dtype=np.bool_)

    found, is_reached = cut(Abstain(error=0.5), right=always_wrong, foreign=np.zeros(0))

    assert (found, is_reached) == (0, False)


def test_a_wanted_coverage_keeps_rows_of_equal_score_together() -> None:
    assert cut(Abstain(coverage=0.9)) == (1, True)
    assert cut(Abstain(coverage=0.8)) == (1, True)  # two of three would have the same score
    assert cut(Abstain(coverage=0.7)) == (3, True)
    assert cut(Abstain(coverage=1.0)) == (0, True)


def test_without_a_wish_95_percent_are_answered() -> None:
    assert cut(Abstain(), foreign=np.zeros(0)) == (0, True)  # of ten rows none may be lost


def test_with_foreign_rows_and_without_a_wish_most_rows_are_treated_right() -> None:
    """One right row is lost for two foreign ones below 0.45; the next foreign one would cost two more."""
    assert cut(Abstain()) == (1, True)
    assert cut(Abstain(), foreign=np.array([0.3, 0.3, 0.45, 0.45])) == (5, True)


def test_dev_without_labels_has_no_error() -> None:
    assert cut(Abstain(error=0.1), right=None) == (0, False)


@pytest.mark.parametrize("source", ["labelled", "general"])
def test_it_is_kept_in_the_folder_with_what_it_is_worth(tmp_path: Path, source: str) -> None:
    """General text measures, and does not decide."""
    facts = ModelFacts("m", "bilstm", "fp32", ["a", "b"], "en", False, 8, 1, 1)
    rows = Rows.of(ids=list("0123"), texts=["++", "+", "-", "--"], labels=[1, 0, 0, 0])
    foreign = Foreign(Rows.of(ids=["f", "g"], texts=["+", "+"]), source)  # type: ignore[arg-type]  # a parameter

    def logits_of(asked: list[Row]) -> np.ndarray:
        sums = [str(text).count("+") - str(text).count("-") for text in asked]
        return np.array([[-one, one] for one in sums], dtype=np.float32)

    found, worth = with_abstention(Abstain(), tmp_path, facts, rows=rows, logits_of=logits_of, foreign=foreign)

    assert worth is not None
    assert worth.foreign is not None
    assert found.abstain is not None
    assert ModelFolder(tmp_path).facts() == found
    assert (worth.rows, worth.foreign["source"]) == (4, source)
    assert (worth.coverage, worth.error) == ((0.5, 0.0) if source == "labelled" else (1.0, 0.25))
    assert with_abstention(None, tmp_path, facts, rows=rows, logits_of=logits_of, foreign=None) == (facts, None)
