"""What the numbers come to, in words that claim no more than they hold."""

from typing import Any

import pytest

from limbeck.report import sentences

HOW = (
    " To run it: limbeck predict runs/toy-run/models/bilstm FILE --fallback runs/toy-run/models/teacher-int8 "
    '--threshold {} (export.teacher = "int8" in the recipe keeps the teacher there).'
)


def test_differences_are_reported_with_their_evidence(full_report: dict[str, Any]) -> None:
    assert sentences.differences(full_report)[0] == (
        "bilstm: better than bilstm-alone (p <0.001, 90 rows to 24); no difference beyond noise against the teacher "
        "(p = 0.31, 21 rows to 28)"
    )


@pytest.mark.parametrize(("p", "is_noise"), [(0.0499, False), (0.05, True), (1.0, True)])
def test_noise_begins_where_chance_alone_would_do_it_once_in_twenty(p: float, is_noise: bool) -> None:
    assert sentences.is_noise({"p": p}) is is_noise


def test_a_worse_student_is_called_worse(full_report: dict[str, Any]) -> None:
    full_report["models"][2]["mcnemar"]["teacher"] = {"only_this": 4, "only_other": 30, "p": 0.00002}

    assert "worse than the teacher (p <0.001, 4 rows to 30)" in sentences.differences(full_report)[0]


def test_nothing_is_said_of_what_was_not_tested(full_report: dict[str, Any]) -> None:
    for line in full_report["models"]:
        line["mcnemar"] = {"baseline": None, "teacher": None}

    assert sentences.differences(full_report) == []


def test_an_old_report_has_no_sentences(report: dict[str, Any]) -> None:
    assert sentences.differences(report) == []
    assert sentences.cascade(report) is None
    assert sentences.calibration(report) is None


def test_the_cascade_is_reported_as_advice(full_report: dict[str, Any]) -> None:
    threshold = full_report["cascade"]["cheapest"]["threshold"]
    assert sentences.cascade(full_report) == (
        "Ask the teacher for 15 % of texts and keep its accuracy, at 13.7 ms instead of 86.4."
        + HOW.format(f"{threshold:.4g}")
    )


def test_a_report_without_folders_names_no_command(full_report: dict[str, Any]) -> None:
    for model in full_report["models"]:
        model.pop("folder", None)

    assert str(sentences.cascade(full_report)).endswith("instead of 86.4.")


def test_a_threshold_that_does_not_hold_on_the_judged_rows_is_not_said_to(full_report: dict[str, Any]) -> None:
    full_report["cascade"]["cheapest"] = {"threshold": 0.6, "asked_share": 0.004, "accuracy": 0.93, "ms": 1.1}

    assert sentences.cascade(full_report) == (
        "Ask the teacher for 0.4 % of texts and reach an accuracy of 93.0 % (the teacher: 94.2 %), at 1.10 ms "
        "instead of 86.4." + HOW.format("0.6")
    )


@pytest.mark.parametrize(
    ("cheapest", "words"),
    [
        (None, "No share of texts"),
        ({"asked_share": 0.0, "accuracy": 0.95, "ms": 1.0}, "no need to ask the teacher"),
        ({"asked_share": 1.0, "accuracy": 0.942, "ms": 87.0}, "Only asking the teacher every time"),
    ],
)
def test_a_cascade_that_saves_nothing_or_everything_is_reported(
    full_report: dict[str, Any], cheapest: dict[str, float] | None, words: str
) -> None:
    full_report["cascade"]["cheapest"] = cheapest

    assert words in str(sentences.cascade(full_report))


def test_without_times_the_cascade_tells_none(full_report: dict[str, Any]) -> None:
    full_report["cascade"]["cheapest"]["ms"] = None

    assert str(sentences.cascade(full_report)).startswith(
        "Ask the teacher for 15 % of texts and keep its accuracy. To run"
    )


def test_where_a_row_may_have_several_labels_the_cascade_keeps_exact_matches(full_report: dict[str, Any]) -> None:
    full_report["corpus"]["multi_label"] = True

    assert "keep its exact match," in str(sentences.cascade(full_report))


def test_the_temperature_is_reported_with_what_it_does(full_report: dict[str, Any]) -> None:
    assert str(sentences.calibration(full_report)).startswith("bilstm divides its logits by 1.42")
    assert "1.2 % with it and 3.1 % without" in str(sentences.calibration(full_report))


def test_a_temperature_that_changes_nothing_is_none(full_report: dict[str, Any]) -> None:
    full_report["models"][2]["temperature"] = 1.0

    assert sentences.calibration(full_report) == "bilstm needs no temperature: its calibration error is 3.1 %."


def test_a_model_is_tried_with_a_row_of_the_users_data(rival_report: dict[str, Any]) -> None:
    rival_report["example"]["text"] = "很好，下次再来"

    tried = sentences.try_it(rival_report, "my runs/x/models/best")

    assert tried.command == "printf '%s\\n' '很好，下次再来' | limbeck predict 'my runs/x/models/best'"
    assert tried.rows == '["很好，下次再来"]'


def test_a_pair_is_tried_with_both_texts(rival_report: dict[str, Any]) -> None:
    rival_report["corpus"]["pair"] = True
    rival_report["example"] = {"text": "it's one", "pair": "another"}

    tried = sentences.try_it(rival_report, "m")

    assert tried.command == """printf '%s\\t%s\\n' 'it'"'"'s one' another | limbeck predict m"""
    assert tried.rows == '[("it\'s one", "another")]'


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (100, []),
        (99, ["only 99 test rows to judge by: differences below 6 points mean nothing"]),
        (15, ["only 15 test rows to judge by: differences below 40 points mean nothing"]),
        (5, ["only 5 test rows to judge by: no difference between two models means anything"]),
    ],
)
def test_few_judged_rows_are_admitted(full_report: dict[str, Any], rows: int, said: list[str]) -> None:
    assert sentences.few_rows({**full_report, "judged_rows": rows, "judged_split": "test"}) == said


def test_what_training_found_is_reported_of_each_model(full_report: dict[str, Any]) -> None:
    full_report["models"][2]["remarks"] = ["hardly better on dev than guessing, seed 0: one class"]

    assert sentences.remarks(full_report) == ["bilstm: hardly better on dev than guessing, seed 0: one class"]
