"""The classification report: of the main student, with the F1 of the others beside it."""

from typing import Any

from limbeck.report.tables.classes import class_records, classes_grid, hardest


def test_means_are_below_the_classes(full_report: dict[str, Any]) -> None:
    grid = classes_grid(full_report)

    assert [line.cells[0] for line in grid.lines] == ["negative", "positive", "mean of classes", "weighted by rows"]
    assert grid.lines[2].cells[:5] == ("mean of classes", "92.9", "92.7", "92.6", "801")
    assert [field.heading for field in grid.fields[5:]] == ["F1 bert-base-uncased", "F1 bilstm-alone", "F1 bilstm-int8"]


def test_an_old_report_has_no_means(report: dict[str, Any]) -> None:
    assert [line.cells[0] for line in classes_grid(report).lines] == ["negative", "positive"]


def test_a_silent_teacher_is_left_out(silent_report: dict[str, Any]) -> None:
    grid = classes_grid(silent_report)

    assert "F1 answers.jsonl" not in [field.heading for field in grid.fields]
    assert {row.values["model"] for row in class_records(silent_report).lines} == {
        "bilstm-alone",
        "bilstm",
        "bilstm-int8",
    }


def test_a_report_of_a_teacher_alone_shows_the_teachers_classes(report: dict[str, Any]) -> None:
    del report["models"][1:]

    assert classes_grid(report).title == "Class by class: bert-base-uncased"


def test_the_hardest_classes_are_kept_in_their_order(full_report: dict[str, Any]) -> None:
    table = full_report["models"][2]["per_class"]
    table[0]["f1"], table[1]["f1"] = 0.9, 0.2

    cut = hardest(classes_grid(full_report), most=1)

    assert [line.cells[0] for line in cut.lines] == ["positive", "mean of classes", "weighted by rows"]
    assert "the lowest F1 … and 1 more" in cut.caption
