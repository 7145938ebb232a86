"""Numbers as people write them, and a verdict that claims no more than they hold."""

from typing import Any

import pytest

from limbeck.report import wording


@pytest.mark.parametrize(
    ("number", "text"), [(412, "412"), (823_400, "823k"), (3_100_000, "3.1M"), (109_486_464, "109M"), (7.0e9, "7.0G")]
)
def test_counts_are_short(number: int, text: str) -> None:
    assert wording.count(number) == text


@pytest.mark.parametrize(("number", "text"), [(0.412, "0.412"), (3.071, "3.07"), (86.13, "86.1"), (1240.4, "1,240")])
def test_measures_have_about_three_figures(number: float, text: str) -> None:
    assert wording.three_figures(number) == text


@pytest.mark.parametrize(("factor", "text"), [(119.7, "120×"), (4.62, "4.6×"), (0.83, "0.83×")])
def test_factors_are_written_with_a_times_sign(factor: float, text: str) -> None:
    assert wording.times(factor) == text


def test_the_spread_is_left_out_where_there_is_one_seed(report: dict[str, Any]) -> None:
    teacher, _, student, _ = report["models"]

    assert wording.accuracy(teacher) == "94.2"
    assert wording.accuracy(student).split() == ["92.8", "±", "0.3"]


def test_the_verdict_says_what_was_kept_and_what_was_gained(report: dict[str, Any]) -> None:
    assert wording.verdict(report) == (
        "bilstm keeps 98.5 % of the teacher's accuracy, is 120× faster and 35× smaller; distilling gained 7.2 points "
        "over the same student trained alone (95 % interval +5.1 to +9.4). bilstm-int8 keeps 98.3 % of the teacher's "
        "accuracy and is 240× faster and 129× smaller."
    )


def test_a_file_that_is_no_quicker_is_not_praised(report: dict[str, Any]) -> None:
    report["models"][3]["speedup_over_teacher"] = report["models"][2]["speedup_over_teacher"]

    assert "bilstm-int8" not in wording.verdict(report)


def test_a_gain_inside_the_noise_is_not_called_a_gain(report: dict[str, Any]) -> None:
    report["models"][2]["gain_over_baseline"] = {"accuracy": 0.004, "ci95": [-0.006, 0.013]}

    sentence = wording.verdict(report)

    assert "gained" not in sentence
    assert "no difference beyond the noise: +0.4 points" in sentence
    assert "−0.6 to +1.3" in sentence


def test_a_loss_is_called_a_loss(report: dict[str, Any]) -> None:
    report["models"][2]["gain_over_baseline"] = {"accuracy": -0.03, "ci95": [-0.05, -0.01]}

    assert "distilling lost 3.0 points against the same student trained alone" in wording.verdict(report)


def test_one_seed_is_admitted(report: dict[str, Any]) -> None:
    report["models"][2]["seed_count"] = 1

    assert "+9.4, one seed)" in wording.verdict(report)


def test_slower_and_larger_are_said_as_such(report: dict[str, Any]) -> None:
    report["models"][2] |= {"speedup_over_teacher": 0.5, "size_mb": 876.0}

    assert "is 2.0× slower and 2.0× larger" in wording.verdict(report)


def test_without_a_baseline_nothing_is_said_of_a_gain(report: dict[str, Any]) -> None:
    report["models"][2]["gain_over_baseline"] = None

    assert "is 120× faster and 35× smaller. bilstm-int8" in wording.verdict(report)


def test_where_only_int8_was_exported_the_verdict_is_about_that(report: dict[str, Any]) -> None:
    del report["models"][2]

    assert wording.verdict(report).startswith("bilstm-int8 keeps 98.3 %")


def test_a_report_of_a_teacher_alone_has_a_verdict_too(report: dict[str, Any]) -> None:
    del report["models"][1:]

    assert "no student" in wording.verdict(report)


def test_what_is_not_known_is_a_dash(silent_report: dict[str, Any]) -> None:
    teacher = silent_report["models"][0]

    shown = [
        wording.accuracy(teacher),
        wording.interval(teacher),
        wording.parameters(teacher),
        wording.milliseconds(teacher, "p50"),
        wording.three_figures(teacher["size_mb"]),
        wording.times(teacher["speedup_over_teacher"]),
        wording.count(teacher["parameters"]),
    ]

    assert set(shown) == {"–"}


def test_with_a_teacher_without_cost_the_verdict_tells_the_students_own(file_report: dict[str, Any]) -> None:
    assert wording.verdict(file_report) == (
        "bilstm keeps 98.5 % of the teacher's accuracy, takes 0.720 ms for a text and 12.5 MB; distilling gained 7.2 "
        "points over the same student trained alone (95 % interval +5.1 to +9.4)."
    )


def test_a_teacher_that_was_silent_is_not_compared_with(silent_report: dict[str, Any]) -> None:
    sentence = wording.verdict(silent_report)

    assert sentence.startswith("bilstm has an accuracy of 92.8 % (the teacher has no labels for the test rows), takes")


def test_what_was_kept_is_reported_on_the_rows_that_the_teacher_answered(file_report: dict[str, Any]) -> None:
    file_report["models"][0]["judged_rows"] = 300
    file_report["models"][2]["accuracy_on_teacher_rows"] = 0.471

    assert "keeps 50.0 % of the teacher's accuracy on the 300 of 801 rows that the teacher labelled" in wording.verdict(
        file_report
    )


def test_a_teacher_that_is_always_wrong_is_reported(report: dict[str, Any]) -> None:
    report["models"][0]["accuracy"] = 0.0

    assert "has an accuracy of 92.8 % (the teacher: 0 %)" in wording.verdict(report)


def test_where_a_row_may_have_several_labels_exact_matches_are_reported(report: dict[str, Any]) -> None:
    report["corpus"]["multi_label"] = True

    assert wording.measure(report) == "exact match"
    assert wording.verdict(report).startswith("bilstm keeps 98.5 % of the teacher's exact matches, is 120× faster")


@pytest.mark.parametrize(("p", "text"), [(0.312, "0.31"), (0.0421, "0.042"), (0.0009, "<0.001"), (None, "–")])
def test_chances_are_written_as_they_are_read(p: float | None, text: str) -> None:
    assert wording.p_value(p) == text


@pytest.mark.parametrize(
    ("fraction", "text"),
    [(0.013, "+1.3"), (-0.006, "−0.6"), (0.0, "0.0"), (-0.0004, "0.0"), (0.0005, "+0.1"), (None, "–")],
)
def test_changes_have_a_sign(fraction: float | None, text: str) -> None:
    assert wording.signed(fraction) == text


def test_a_percentile_that_an_old_report_lacks_is_a_dash(report: dict[str, Any]) -> None:
    assert wording.milliseconds(report["models"][2], "p99") == "–"
    assert wording.decimal(-0.1234) == "−0.123"


def test_the_baseline_is_found_where_there_is_one(report: dict[str, Any]) -> None:
    assert (wording.baseline_of(report) or {})["name"] == "bilstm-alone"

    del report["models"][1]

    assert wording.baseline_of(report) is None
