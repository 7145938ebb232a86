"""What the report says about giving no label."""

from typing import Any

from limbeck.report.abstaining import of_evaluation, sentences_of
from limbeck.report.plots import risk_coverage

POINTS = [{"coverage": 0.5, "error": 0.0, "threshold": 0.9}, {"coverage": 1.0, "error": 0.2, "threshold": 0.1}]
WORTH = {
    "score": "probability",
    "threshold": 0.8,
    "answer": None,
    "answered": 60,
    "coverage": 0.6,
    "coverage_ci95": [0.5, 0.7],
    "error": 0.05,
    "error_ci95": [0.01, 0.14],
    "error_of_withheld": 0.4,
}
FOREIGN = {"rows": 50, "auroc": 0.9, "recall_at_5": 0.4, "fpr95": 0.3, "withheld": 0.8, "withheld_ci95": [0.7, 0.9]}


def report(**changes: Any) -> dict[str, Any]:
    found = {
        "model": "bag",
        "score": "probability",
        "rows": 100,
        "curves": [
            {"name": name, "role": role, "aurc": 0.05, "aurc_ci95": [0.03, 0.08], "error": 0.2, "points": POINTS}
            for name, role in (("bag", "student"), ("bag-alone", "baseline"))
        ],
        "threshold": WORTH,
        "on_dev": {"wanted": {"coverage": 0.95}, "is_reached": True, "error": 0.1},
        "foreign": {"source": "general", **FOREIGN},
    }
    return {"abstaining": {**found, **changes}}


def test_it_says_what_the_threshold_does_and_how_far_to_trust_foreign_rows() -> None:
    threshold, areas, foreign = sentences_of(report())

    assert threshold == (
        "bag gives no label below a probability of 0.8, fitted on dev to answer at least 95.0 % of the rows: it "
        "answers 60.0 % of the rows (50.0–70.0); of these 5.0 % are wrong (1.0–14.0), and 20.0 % of all."
    )
    assert "bag 5.0 % (3.0–8.0), bag-alone 5.0 %" in areas
    assert foreign.startswith("Of 50 sentences of general text: 80.0 % get no label (70.0–90.0); recall at 5 %")
    assert "do not trust it" in foreign
    labelled = sentences_of(report(foreign={"source": "labelled", **FOREIGN}))[-1]
    assert "do not trust" not in labelled


def test_a_wanted_error_that_dev_does_not_reach_is_named() -> None:
    missed = {"wanted": {"error": 0.01}, "is_reached": False, "error": 0.04}

    assert "an error of at most 1.0 %, which is not reached there (4.0 %)" in sentences_of(report(on_dev=missed))[0]


def test_a_model_that_always_answers_has_its_areas_alone() -> None:
    assert len(sentences_of(report(threshold=None, on_dev=None, foreign=None))) == 1
    assert sentences_of({}) == []


def test_the_picture_has_a_line_for_each_model() -> None:
    drawn = risk_coverage(report())

    assert drawn is not None
    assert "bag-alone" in drawn
    assert risk_coverage({}) is None


def test_an_evaluation_says_the_same() -> None:
    found = {"score": "probability", "aurc": 0.05, "aurc_ci95": (0.03, 0.08), "threshold": WORTH, "foreign": FOREIGN}

    said = list(of_evaluation(found, error=0.2))

    assert [line.partition(" ")[0] for line in said] == ["The", "Mean", "Of"]
    assert "50 rows out of scope" in said[2]
