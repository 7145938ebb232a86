"""The table of slices: the three worst among all tables, and none called worse without reason."""

from typing import Any

from limbeck.report.tables.slices import slices_grid, worst

GROUP = {"kind": "word", "name": "not", "rows": 70, "accuracy": 0.6, "ci": [0.4, 0.7], "is_worse": True}
SAME = {**GROUP, "kind": "length", "name": "1 to 4 words", "accuracy": 0.79, "ci": [0.7, 0.9], "is_worse": False}


def slices(*groups: dict[str, Any]) -> dict[str, Any]:
    return {"model": "bag", "rows": 900, "accuracy": 0.8, "looked_at": 5, "least_rows": 50, "groups": list(groups)}


def test_a_slice_that_is_worse_is_named() -> None:
    grid = slices_grid(slices(GROUP, SAME), measure="accuracy")

    assert grid.title == "Slices: bag"
    assert grid.lines[0].cells == ("word", "not", "70", "60.0", "40.0–70.0", "worse")
    assert grid.lines[1].cells[-1] == ""
    assert grid.notes == (
        "Below the 80.0 % accuracy of all 900 rows beyond noise, of 5 parts of at least 50 rows: 'not'.",
    )


def test_none_is_named_where_all_may_be_luck() -> None:
    (note,) = slices_grid(slices(SAME), measure="exact match").notes

    assert note == "None of 5 parts of at least 50 rows is below the 80.0 % exact match of all 900 rows beyond noise."


def test_three_are_shown_among_all_tables() -> None:
    short = worst(slices_grid(slices(GROUP, SAME, SAME, SAME, SAME), measure="accuracy"))

    assert len(short.lines) == 3
    assert short.caption.endswith("… and 2 more; all of them: --table slices")


def test_reports_without_slices_have_no_lines() -> None:
    grid = slices_grid(None, measure="accuracy")

    assert (grid.lines, grid.notes, grid.caption) == ((), (), "")
