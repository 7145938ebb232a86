"""The table of cost: factors against the teacher, also against its int8 file, and throughput by threads and batch."""

from typing import Any

import pytest

from limbeck.report.tables.cost import cost_grid, throughput_grid


def test_every_size_has_its_accuracy(full_report: dict[str, Any]) -> None:
    grid = cost_grid(full_report)

    assert [field.heading for field in grid.fields][:2] == ["model", "accuracy %"]
    sizes = {line.values["model"]: (line.values["accuracy"], line.values["size_mb"]) for line in grid.lines}
    assert sizes["bilstm"] == (full_report["models"][2]["accuracy"], full_report["models"][2]["size_mb"])
    assert sizes["teacher, int8 ONNX"][0] is None  # known of it is how often it says what the teacher says


def test_factors_are_reported_against_the_teacher_and_its_int8_file(full_report: dict[str, Any]) -> None:
    lines = {line.values["model"]: line.values for line in cost_grid(full_report).lines}

    assert lines["bilstm"]["times_smaller"] == pytest.approx(438 / 12.5)
    assert lines["bilstm"]["speedup_over_teacher_int8"] == pytest.approx(31.2 / 0.72)
    int8 = lines["teacher, int8 ONNX"]
    assert int8["speedup_over_teacher"] == pytest.approx(86.4 / 31.2)
    assert int8["times_smaller"] == pytest.approx(438 / 110.4)
    assert int8["parameters"] == lines["bert-base-uncased"]["parameters"]


def test_the_agreement_of_the_int8_teacher_is_reported(full_report: dict[str, Any]) -> None:
    assert cost_grid(full_report).notes == (
        "The teacher as an int8 file gives the teacher's label on 99.1 % of 256 rows.",
    )

    full_report["teacher_int8"]["agreement"] = None

    assert cost_grid(full_report).notes == ()


def test_without_an_int8_teacher_there_is_no_line_of_it(full_report: dict[str, Any]) -> None:
    full_report["teacher_int8"] = None

    assert len(cost_grid(full_report).lines) == len(full_report["models"])


def test_a_teacher_without_size_has_no_factors(file_report: dict[str, Any]) -> None:
    grid = cost_grid(file_report)

    assert "smaller" not in [field.heading for field in grid.fields]


def test_throughput_has_a_column_for_every_number_of_threads_and_batch(full_report: dict[str, Any]) -> None:
    del full_report["models"][1]["throughput"][3]

    grid = throughput_grid(full_report)

    assert [field.heading for field in grid.fields] == [
        "model",
        "1 thread, batch 1",
        "1 thread, batch 32",
        "2 threads, batch 1",
        "2 threads, batch 32",
    ]
    assert grid.lines[1].cells[-1] == "–"


def test_short_and_long_texts_have_columns_of_their_own(full_report: dict[str, Any]) -> None:
    for line in full_report["models"]:
        line["throughput"] += [
            {"threads": 1, "batch": 1, "length": length, "rows_per_second": rate}
            for length, rate in (("short", 900.0), ("long", 100.0))
        ]

    grid = throughput_grid(full_report)

    assert [field.heading for field in grid.fields[-2:]] == [
        "1 thread, batch 1, long texts",
        "1 thread, batch 1, short texts",
    ]
    assert grid.lines[0].cells[-2:] == ("100", "900")


def test_an_old_report_has_no_throughput(report: dict[str, Any]) -> None:
    assert throughput_grid(report).lines == ()
