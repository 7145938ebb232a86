"""The matrix of relative changes: worked by hand, and fair to a teacher that did not answer all rows."""

from typing import Any

import pytest

from limbeck.report.tables.relative import relative_change, relative_grid


def test_a_change_is_a_share_of_the_others_accuracy() -> None:
    better, worse = {"accuracy": 0.9, "role": "student"}, {"accuracy": 0.8, "role": "baseline"}

    assert relative_change(better, worse) == pytest.approx(0.125)
    assert relative_change(worse, better) == pytest.approx(-1 / 9)


def test_with_a_teacher_that_answered_some_rows_both_are_taken_on_those() -> None:
    teacher = {"accuracy": 0.8, "role": "teacher"}
    student = {"accuracy": 0.5, "accuracy_on_teacher_rows": 0.4, "role": "student"}
    other = {"accuracy": 0.5, "accuracy_on_teacher_rows": 0.7, "role": "baseline"}

    assert relative_change(student, teacher) == pytest.approx(-0.5)
    assert relative_change(teacher, student) == pytest.approx(1.0)
    assert relative_change(student, other) == 0


@pytest.mark.parametrize(("own", "others"), [(None, 0.5), (0.5, None), (0.5, 0.0)])
def test_what_cannot_be_divided_is_unknown(own: float | None, others: float | None) -> None:
    model, other = ({"accuracy": accuracy, "role": "student"} for accuracy in (own, others))

    assert relative_change(model, other) is None


def test_the_matrix_has_a_line_and_a_column_for_every_model(report: dict[str, Any]) -> None:
    grid = relative_grid(report)

    cells = [line.cells for line in grid.lines]
    assert [field.heading for field in grid.fields[1:]] == [row[0] for row in cells]
    assert [row[place] for place, row in enumerate(cells, start=1)] == ["·"] * 4
    assert cells[2][2] == "+8.4"  # 0.928 / 0.856 - 1
    assert cells[1][3] == "−7.8"


def test_equals_have_no_sign(report: dict[str, Any]) -> None:
    report["models"][3]["accuracy"] = report["models"][2]["accuracy"] - 1e-6

    cells = [line.cells for line in relative_grid(report).lines]

    assert (cells[2][4], cells[3][3]) == ("0.0", "0.0")
