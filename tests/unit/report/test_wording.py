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


def test_the_verdict_names_the_best_against_the_rival_then_the_teacher_then_the_cost(
    rival_report: dict[str, Any],
) -> None:
    assert wording.verdict(rival_report) == (
        "bilstm-int8 has 92.6 % accuracy, 3.6 points more than tfidf (95 % interval +1.6 to +5.6). It is 1.6 points "
        "below the teacher, 94.2 %: it keeps 96.4 % of what the teacher has above chance. Distilling gained 7.2 points "
        "over the same student trained alone (95 % interval +5.1 to +9.4). It takes 360\N{NO-BREAK SPACE}µs for a text "
        "and 3.40 MB: 240× faster and 129× smaller than the teacher."
    )
    assert not any(sentence.is_loss for sentence in wording.verdict_sentences(rival_report))


def test_a_rival_that_wins_is_named_first_and_is_a_loss(rival_report: dict[str, Any]) -> None:
    rival_report["models"][1]["accuracy"] = 0.96
    rival_report["models"][4]["gain_over_rival"] = {"accuracy": -0.034, "ci95": [-0.05, -0.018]}

    first = wording.verdict_sentences(rival_report)[0]

    assert first == wording.Sentence(
        "tfidf, ten lines of scikit-learn, beats bilstm-int8, the best model, by 3.4 points: 96.0 % accuracy against "
        "92.6 % (95 % interval −5.0 to −1.8).",
        is_loss=True,
    )


def test_a_difference_to_the_rival_within_the_noise_is_called_none(rival_report: dict[str, Any]) -> None:
    rival_report["models"][4]["gain_over_rival"] = {"accuracy": 0.004, "ci95": [-0.006, 0.013]}

    first = wording.verdict_sentences(rival_report)[0]

    assert "no difference beyond the noise to tfidf: +0.4 points (95 % interval −0.6 to +1.3)" in first.text
    assert not first.is_loss


def test_a_model_trained_alone_that_ships_as_the_best_is_introduced_as_such(rival_report: dict[str, Any]) -> None:
    rival_report["best"] = "bilstm-alone"
    rival_report["models"][2]["gain_over_rival"] = {"accuracy": 0.03, "ci95": [0.01, 0.05]}

    assert wording.verdict(rival_report).startswith(
        "bilstm-alone, trained without the teacher and still the best on dev,"
    )


def test_a_large_loss_against_the_teacher_comes_before_gain_and_speed(rival_report: dict[str, Any]) -> None:
    rival_report["models"][4]["accuracy"] = 0.595

    _, loss, gain, cost = wording.verdict_sentences(rival_report)

    assert loss.text.startswith("It is 34.7 points below the teacher, 94.2 %: it keeps 21.5 % of what")
    assert (loss.is_loss, gain.is_loss, cost.is_loss) == (True, False, False)
    assert "240× faster" in cost.text


@pytest.mark.parametrize(("p", "is_noise"), [(0.31, True), (0.01, False)])
def test_a_small_difference_to_the_teacher_is_called_noise_if_mcnemar_does(
    rival_report: dict[str, Any], p: float, is_noise: bool
) -> None:
    model = rival_report["models"][4]
    model["accuracy"] = rival_report["models"][0]["accuracy"] - 0.004
    model["mcnemar"] = {"teacher": {"p": p, "only_this": 3, "only_other": 6}}

    found = next(one.text for one in wording.verdict_sentences(rival_report) if "below the teacher" in one.text)

    assert found.startswith("It is 0.4 points below the teacher")
    assert ("no difference beyond the noise" in found) is is_noise


def test_a_loss_by_distilling_comes_before_what_was_kept(rival_report: dict[str, Any]) -> None:
    rival_report["models"][4]["gain_over_baseline"] = {"accuracy": -0.03, "ci95": [-0.05, -0.01]}

    assert wording.verdict_sentences(rival_report)[1].text.startswith("Distilling lost 3.0 points")


@pytest.mark.parametrize(
    ("confusion", "words"),
    [
        ([[0, 300], [0, 501]], "answers 'positive' for every row, and has learned nothing"),
        ([[2, 298], [1, 500]], "answers 'positive' for nearly every row"),
        ([[280, 20], [21, 480]], None),
        ([[3, 1], [2, 795]], None),  # the rare class is rare in the rows too, and found
    ],
)
def test_a_model_that_always_gives_one_answer_is_called_that_in_the_first_sentence(
    rival_report: dict[str, Any], confusion: list[list[int]], words: str | None
) -> None:
    rival_report["models"][4]["confusion"] = confusion

    first = wording.verdict_sentences(rival_report)[0]

    assert first.is_loss == (words is not None)
    assert (words or "3.6 points more than tfidf") in first.text


def test_several_labels_of_which_none_is_found_are_called_that(rival_report: dict[str, Any]) -> None:
    rival_report["corpus"]["multi_label"] = True
    for row in rival_report["models"][4]["per_class"]:
        row["f1"] = 0.0

    first = wording.verdict_sentences(rival_report)[0]

    assert first.text.startswith("bilstm-int8 finds no label of any row: its F1 is 0 for every class; tfidf has 89.0 %")
    assert first.is_loss


def test_what_is_kept_counts_from_chance_on() -> None:
    assert wording.kept_above_chance(0.7, 0.9, {"chance": {"accuracy": 0.7}}) == 0.0
    assert wording.kept_above_chance(0.8, 0.9, {"chance": {"accuracy": 0.7}}) == pytest.approx(0.5)
    assert wording.kept_above_chance(0.8, 0.7, {"chance": {"accuracy": 0.7}}) is None
    assert wording.kept_above_chance(0.8, 0.9, {}) is None


@pytest.mark.parametrize(("ms", "text"), [(86.4, "86.4 ms"), (0.0331, "33.1 µs"), (0.36, "360 µs")])
def test_the_time_of_a_text_has_a_unit(ms: float, text: str) -> None:
    assert wording.one_text({"latency_ms": {"p50": ms}}).replace("\N{NO-BREAK SPACE}", " ") == text


def test_a_gain_inside_the_noise_is_not_called_a_gain(report: dict[str, Any]) -> None:
    report["models"][2]["gain_over_baseline"] = {"accuracy": 0.004, "ci95": [-0.006, 0.013]}

    sentence = wording.verdict(report)

    assert "gained" not in sentence
    assert "no difference beyond the noise: +0.4 points" in sentence
    assert "−0.6 to +1.3" in sentence


def test_a_loss_is_called_a_loss(report: dict[str, Any]) -> None:
    report["models"][2]["gain_over_baseline"] = {"accuracy": -0.03, "ci95": [-0.05, -0.01]}

    assert "Distilling lost 3.0 points against the same student trained alone" in wording.verdict(report)


def test_one_seed_is_admitted(report: dict[str, Any]) -> None:
    report["models"][2]["seed_count"] = 1

    assert "+9.4, one seed)" in wording.verdict(report)


def test_slower_and_larger_are_said_as_such(report: dict[str, Any]) -> None:
    report["models"][2] |= {"speedup_over_teacher": 0.5, "size_mb": 876.0}

    assert "2.0× slower and 2.0× larger than the teacher" in wording.verdict(report)


def test_without_a_baseline_nothing_is_said_of_a_gain(report: dict[str, Any]) -> None:
    report["models"][2]["gain_over_baseline"] = None

    assert "istilling" not in wording.verdict(report)


def test_where_only_int8_was_exported_the_verdict_is_about_that(report: dict[str, Any]) -> None:
    del report["models"][2]

    assert wording.verdict(report).startswith("bilstm-int8 has 92.6 % accuracy.")


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
    assert wording.verdict(file_report).endswith("It takes 720\N{NO-BREAK SPACE}µs for a text and 12.5 MB.")


def test_a_teacher_that_was_silent_is_not_compared_with(silent_report: dict[str, Any]) -> None:
    sentence = wording.verdict(silent_report)

    assert sentence.startswith("bilstm has 92.8 % accuracy. The teacher has no labels for the test rows. Distilling")


def test_what_was_kept_is_reported_on_the_rows_that_the_teacher_answered(file_report: dict[str, Any]) -> None:
    file_report["models"][0]["judged_rows"] = 300
    file_report["models"][2]["accuracy_on_teacher_rows"] = 0.471

    assert "It is 47.1 points below the teacher, 94.2 % on the 300 of 801 rows that the teacher labelled." in (
        wording.verdict(file_report)
    )


def test_a_teacher_that_is_always_wrong_is_reported(report: dict[str, Any]) -> None:
    report["models"][0]["accuracy"] = 0.0

    assert "It is 92.8 points above the teacher, 0.0 %." in wording.verdict(report)


def test_where_a_row_may_have_several_labels_exact_matches_are_reported(report: dict[str, Any]) -> None:
    report["corpus"]["multi_label"] = True

    assert wording.measure(report) == "exact match"
    assert wording.verdict(report).startswith("bilstm has 92.8 % exact match. It is 1.4 points below the teacher")


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
