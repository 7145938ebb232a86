"""A cascade on a labelled file: the numbers of both together, of the student alone, and of the rows that were asked."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limbeck.artifacts.model_folder import ModelFolder
from limbeck.judging.evaluate import EvaluationResult
from limbeck.judging.evaluate import evaluate as evaluate_any
from limbeck.runtime.cascade import Cascade, CascadeClassifier
from limbeck.runtime.classifier import load
from limbeck.runtime.fallbacks.fallback import FallbackFailed, FallbackOptionsWrong
from limbeck.runtime.probabilities import Floats
from limbeck.runtime.row import Row

MakeModel = Callable[..., ModelFolder]
ROWS = [("gorgeous", "positive"), ("a film", "positive"), ("dreadful", "negative"), ("the road", "negative")]


def evaluate(*arguments: Any, **options: Any) -> EvaluationResult:
    found = evaluate_any(*arguments, **options)
    assert isinstance(found, EvaluationResult)
    return found


class Fixed:
    """A fallback that is certain of the second label, or fails."""

    name, slow_seconds, rows_at_once = "fixed", None, 32

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails

    def predict_proba(self, rows: list[Row]) -> Floats:
        if self.fails:
            raise FallbackFailed(name=self.name, reason="it sleeps")
        return np.array([[0.0, 1.0]] * len(rows), dtype=np.float32)

    def close(self) -> None:
        pass


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["text,label", *(",".join(row) for row in ROWS)]), encoding="utf-8")
    return path


def cascade(model: ModelFolder, *, threshold: float = 0.6, fails: bool = False) -> CascadeClassifier:
    return CascadeClassifier(Cascade(load(model.folder), Fixed(fails=fails), threshold=threshold))


def test_both_together_are_compared_with_the_student_alone(make_model: MakeModel, file: Path) -> None:
    model = make_model("one", temperature=2.0)
    student = load(model.folder).predict(["a film", "the road"])

    found = evaluate(cascade(model), file)

    assert (found.rows, found.accuracy, found.model) == (4, 0.75, str(model.folder))
    assert found.cascade is not None
    alone = np.mean([student[0] == "positive", student[1] == "negative"])
    assert found.cascade == {
        "fallback": "fixed",
        "threshold": 0.6,
        "asked": 2,
        "asked_share": 0.5,
        "student_accuracy": pytest.approx((2 + 2 * alone) / 4),
        "accuracy_asked": 0.5,
        "student_accuracy_asked": pytest.approx(alone),
        "note": None,
    }
    assert found.against is not None
    assert found.against["model"] == "the student alone"
    assert found.against["accuracy"] == found.cascade["student_accuracy"]
    assert math.isfinite(found.log_loss or math.nan)


@pytest.mark.parametrize("multi_label", [False, True])
def test_a_fallback_that_is_never_asked_changes_no_number(make_model: MakeModel, file: Path, multi_label: bool) -> None:
    model = make_model("one", temperature=2.0, multi_label=multi_label)

    found, alone = evaluate(cascade(model, threshold=0), file), evaluate(model.folder, file)

    assert found.accuracy == alone.accuracy
    assert found.log_loss == pytest.approx(alone.log_loss, rel=1e-4)
    assert found.ece == pytest.approx(alone.ece, abs=1e-5)
    assert found.cascade is not None
    assert (found.cascade["asked"], found.cascade["accuracy_asked"]) == (0, None)
    assert "never asked" in found.cascade["note"]
    assert alone.cascade is None


def test_a_fallback_that_failed_is_said(make_model: MakeModel, file: Path) -> None:
    found = evaluate(cascade(make_model("one"), fails=True), file)

    assert found.cascade is not None
    assert (found.cascade["asked"], found.cascade["student_accuracy"]) == (0, found.accuracy)
    assert "it sleeps" in found.cascade["note"]


def test_a_cascade_is_compared_with_nothing_else(make_model: MakeModel, file: Path) -> None:
    with pytest.raises(FallbackOptionsWrong, match="compared with its student"):
        evaluate(cascade(make_model("one")), file, against=make_model("two").folder)
