from typing import Any

import pytest
from rich.console import Console

from limbeck.progress import plain_console
from limbeck.report.evaluation import confusions, headline, print_evaluation

SCORES = {"precision": 0.5, "recall": 0.5, "f1": 0.5}


def result(**changes: Any) -> dict[str, Any]:
    """The numbers of `limbeck evaluate` for two classes."""
    return {
        "model": "models/best",
        "file": "test.csv",
        "text_columns": ["text"],
        "label_columns": ["label"],
        "labels": ["bad", "good"],
        "multi_label": False,
        "rows": 1_200,
        "without_text": 0,
        "without_label": 0,
        "accuracy": 0.75,
        "accuracy_ci95": (0.7, 0.8),
        "most_frequent": {"label": "bad", "accuracy": 0.6},
        "unknown_labels": {},
        "unknown_rows": 0,
        "accuracy_known": 0.75,
        "macro_f1": 0.7,
        "micro_f1": None,
        "log_loss": 0.61,
        "ece": 0.034,
        "per_class": [{"label": "bad", **SCORES, "support": 720}, {"label": "good", **SCORES, "support": 480}],
        "macro": SCORES,
        "weighted": SCORES,
        "confusion": [[600, 120], [180, 300]],
        "worst_errors": [
            {"row": 7, "text": "a\nfilm", "pair": None, "label": "good", "predicted": "bad", "probability": 0.99}
        ],
        "against": None,
        "cascade": None,
        **changes,
    }


def printed(found: dict[str, Any]) -> str:
    console: Console = plain_console()
    console.width = 100
    with console.capture() as capture:
        print_evaluation(found, console)
    return capture.get()


def test_a_fallback_that_answered_nothing_has_no_accuracy() -> None:
    nothing = {"fallback": "big", "asked": 0, "asked_share": 0.0, "accuracy_asked": None, "note": "it sleeps"}

    text = printed(result(cascade=nothing))

    assert "The fallback big answered 0.0 % of the rows (0); it sleeps." in " ".join(text.split())


def test_everything_is_printed() -> None:
    text = printed(result())

    assert (
        "Accuracy 75.0 % (95 % interval 70.0–80.0), macro F1 70.0 %, log-loss 0.610, calibration error 3.4 %." in text
    )
    assert "A model that always says 'bad' has 60.0 %." in text
    assert "Most often confused: bad for good (180); good for bad (120)." in text
    assert "a film" in text
    assert "99.0" in text


def test_many_classes_are_folded_to_the_hardest() -> None:
    classes = [{"label": f"class {at}", **SCORES, "f1": at / 30, "support": 40} for at in range(30)]

    text = printed(result(per_class=classes, labels=[one["label"] for one in classes], confusion=None))

    assert "class 11" in text
    assert "class 12" not in text
    assert "and 18 more; all of them: --json" in text
    assert "mean of classes" in text


def test_unknown_labels_and_rows_that_were_left_out_are_named() -> None:
    found = result(unknown_labels={"odd": 30, "even": 1}, unknown_rows=31, accuracy_known=0.8, without_label=2)

    lines = list(headline(found))

    assert "2 rows without label were left out." in lines
    assert lines[-1] == (
        "31 rows have a label that the model does not know, and count as wrong: 'odd' (30), 'even' (1). "
        "On the other rows: 80.0 %."
    )


@pytest.mark.parametrize(("p", "words"), [(0.2, "+2.0 points (95 % interval −1.0 to +5.0), no difference beyond noise"),
                                          (0.01, "+2.0 points (95 % interval −1.0 to +5.0). Only")])  # fmt: skip
def test_a_comparison_claims_no_more_than_the_test_shows(p: float, words: str) -> None:
    test = {"only_this": 60, "only_other": 36, "p": p, "test": "chi_squared"}
    other = {"model": "models/bag", "accuracy": 0.73, "difference": 0.02, "ci95": (-0.01, 0.05), "mcnemar": test}

    line = list(headline(result(against=other)))[-1]

    assert words in line
    assert "only the other on 36" in line


def test_several_labels_are_called_by_their_own_measure() -> None:
    most = {"label": [], "accuracy": 0.4}
    error = {"row": 7, "text": "a", "pair": "b", "label": [], "predicted": ["bad", "good"], "probability": 0.9}

    text = printed(result(multi_label=True, micro_f1=0.8, confusion=None, most_frequent=most, worst_errors=[error]))

    assert "Exact match 75.0 %" in text
    assert "micro F1 80.0 %" in text
    assert "always says no label" in text
    assert "bad|good" in text
    assert confusions(result(confusion=None)) == []


def test_a_model_without_errors_has_no_table_of_them() -> None:
    assert "Every answer is right." in printed(result(worst_errors=[]))
