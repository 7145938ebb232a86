"""What `limbeck drift` prints: the verdict first, then every signal in words."""

from typing import Any

from limbeck.progress import plain_console
from limbeck.report.drift import print_drift, verdict

SIGNAL = {"name": "length", "there": 53.2, "here": 1_279.0, "effect": 0.5, "test": "Kolmogorov-Smirnov", "p": 1e-9}
OTHER = {"name": "labels", "there": 0.5, "here": 0.52, "effect": 0.02, "test": "chi-squared", "p": 0.4}
LONG = {**SIGNAL, "p_corrected": 2e-9, "is_drift": True, "sentence": "Mean number of characters: …"}
SAME = {**OTHER, "p_corrected": 0.4, "is_drift": False, "sentence": "Share of the answer 'good': …"}


def result(**changes: Any) -> dict[str, Any]:
    return {
        "model": "models/best",
        "file": "today.csv",
        "rows": 500,
        "rows_of_file": 500,
        "dev_rows": 2_000,
        "alpha": 0.01,
        "looks": 1,
        "level": 0.01,
        "is_drift": True,
        "signals": [LONG, SAME],
        "not_compared": {},
        **changes,
    }


def printed(found: dict[str, Any]) -> str:
    console = plain_console()
    console.width = 120
    with console.capture() as capture:
        print_drift(found, console)
    return capture.get()


def test_the_verdict_names_what_differs_and_the_rate() -> None:
    lines = list(verdict(result()))

    assert lines[1] == "Drift: length differs from dev by more than luck explains."
    assert lines[2] == "If nothing has changed, there is a false alarm in at most 1 % of such comparisons."


def test_no_drift_is_said_and_so_are_looks_samples_and_few_rows() -> None:
    lines = list(verdict(result(signals=[SAME], looks=52, rows=100, rows_of_file=1_000)))

    assert lines[0] == "today.csv: 100 of 1,000 rows, against 2,000 rows of dev"
    assert lines[1].startswith("No drift")
    assert "over all 52 looks" in lines[2]
    assert lines[3] == "With 100 rows only large changes can be seen."


def test_every_signal_has_a_line_and_a_sentence() -> None:
    found = printed(result(not_compared={"unknown words": "to this model no word is unknown"}))

    assert "1,279.0" in found
    assert "52.0 %" in found
    assert "drift: length. Mean number of characters: …" in found
    assert "same:  labels. Share of the answer 'good': …" in found
    assert "not compared: unknown words (to this model no word is unknown)" in found
