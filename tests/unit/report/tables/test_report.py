"""The tables of a report in the terminal, at any width, and in the forms that files have."""

import csv
import io
import json
import subprocess
import sys
from typing import Any

import pytest
from rich.console import Console

from limbeck.report.tables import Format, Which, print_report, written_report


def printed(report: dict[str, Any], *, width: int, which: Which = Which.ALL) -> list[str]:
    """The lines that print_report writes."""
    file = io.StringIO()
    print_report(report, Console(file=file, width=width), which)
    return file.getvalue().replace("\N{NO-BREAK SPACE}", " ").splitlines()


def line_of(lines: list[str], name: str, *, nth: int = 0) -> str:
    """The line of a model in the nth table that has one."""
    return [line for line in lines if line.startswith(f"{name} ")][nth]


def test_every_model_has_a_line_with_its_quality(full_report: dict[str, Any]) -> None:
    student = line_of(printed(full_report, width=170), "bilstm")

    for figure in ("92.8 ± 0.3", "91.6–94.0", "92.9", "92.7", "92.6", "0.856", "95.0", "<0.001", "0.31"):
        assert figure in student


def test_every_model_has_a_line_with_its_cost(full_report: dict[str, Any]) -> None:
    student = line_of(printed(full_report, width=170), "bilstm", nth=2)

    for figure in ("92.8", "3.1M", "612k", "35×", "12.5", "9.1M", "0.720", "1.08", "1.51", "3,472", "120×", "43×"):
        assert figure in student


@pytest.mark.parametrize("width", [170, 100, 80, 60])
def test_no_line_is_wider_than_the_console_and_no_model_is_broken(full_report: dict[str, Any], width: int) -> None:
    lines = printed(full_report, width=width)

    assert max(len(line) for line in lines) <= width
    names = [entry["name"] for entry in full_report["models"]]
    assert [line.split()[0] for line in lines[3 : 3 + len(names)]] == names


def test_a_narrow_terminal_keeps_accuracy_intervals_f1_agreement_and_tests(full_report: dict[str, Any]) -> None:
    heading = printed(full_report, width=80)[1].split()

    assert heading[:2] == ["model", "accuracy"]
    assert {"95", "F1", "agrees", "alone", "teacher"} <= set(heading)
    assert "w.F1" not in heading


def test_a_noise_verdict_appears_in_plain_words_below_the_quality(full_report: dict[str, Any]) -> None:
    text = " ".join(" ".join(printed(full_report, width=100)).split())

    assert "bilstm: better than bilstm-alone (p <0.001, 90 rows to 24)" in text
    assert "no difference beyond noise against the teacher (p = 0.31" in text


def test_only_columns_that_are_shown_are_explained(full_report: dict[str, Any]) -> None:
    wide, narrow = ("\n".join(printed(full_report, width=width, which=Which.QUALITY)) for width in (170, 50))

    assert "MCC: Matthews" in wide
    assert "MCC" not in narrow


def test_the_verdict_is_the_last_thing_said(report: dict[str, Any]) -> None:
    text = " ".join(printed(report, width=100))

    assert text.endswith("120× faster and 35× smaller than the teacher.")


def test_one_table_comes_without_the_verdict(full_report: dict[str, Any]) -> None:
    lines = printed(full_report, width=100, which=Which.COST)

    assert lines[0] == "Size and speed"
    assert not any("istilling" in line for line in lines)


def test_warnings_are_printed(report: dict[str, Any]) -> None:
    report["corpus"]["overlap"] |= {"mode": "report", "splits": {"dev": {"rows": 500, "found": 3, "verbatim": 3}}}

    assert any(line.startswith("warning: 3 of 500 dev rows appear in train") for line in printed(report, width=120))


def test_notes_are_printed(silent_report: dict[str, Any]) -> None:
    lines = printed(silent_report, width=120)

    assert any(line.startswith("note: the teacher has no labels for the 801 test rows") for line in lines)


def test_names_are_not_taken_for_markup(report: dict[str, Any]) -> None:
    report["models"][2]["name"] = "[red]x[/red]"

    assert any(line.startswith("[red]x[/red] ") for line in printed(report, width=100))


@pytest.mark.parametrize("width", [100, 80])
def test_where_a_row_may_have_several_labels_the_tables_are_about_exact_matches(
    full_report: dict[str, Any], width: int
) -> None:
    full_report["corpus"]["multi_label"] = True
    for line in full_report["models"]:
        line |= {"micro_f1": 0.91, "hamming_loss": 0.044, "confusion": None, "mcc": None}

    lines = printed(full_report, width=width)

    assert "exact match" in lines[1]
    assert "micro F1" in lines[1]
    assert "hamming" in lines[1]
    assert "accuracy" not in " ".join(lines)
    assert max(len(line) for line in lines) <= width


def test_pairs_are_judged_by_the_f1_of_the_second_class_too(full_report: dict[str, Any]) -> None:
    for line in full_report["models"]:
        line["f1_positive"] = 0.777

    lines = printed(full_report, width=100, which=Which.QUALITY)

    assert "F1 positive" in lines[1]
    assert "77.7" in line_of(lines, "bilstm")


def test_a_teacher_without_cost_has_dashes(file_report: dict[str, Any]) -> None:
    lines = printed(file_report, width=100, which=Which.COST)

    _, accuracy, *cost = line_of(lines, "answers.jsonl").split()
    assert accuracy == "94.2"
    assert cost == ["–"] * len(cost)
    assert line_of(lines, "bilstm").split()[-1] == "–"


def test_an_old_report_has_the_columns_it_knows(report: dict[str, Any]) -> None:
    lines = printed(report, width=200)

    assert "MCC" not in lines[1]
    assert "p alone" not in lines[1]
    assert line_of(lines, "bilstm", nth=2).split()[-1] == "120×"


def test_many_classes_are_cut_to_the_hardest_unless_they_are_asked_for(full_report: dict[str, Any]) -> None:
    for line in full_report["models"]:
        line["per_class"] = [
            {"label": f"class{number:02}", "precision": 0.5, "recall": 0.5, "f1": number / 100, "support": 9}
            for number in range(40)
        ]

    among_others = printed(full_report, width=100)
    asked_for = printed(full_report, width=100, which=Which.CLASSES)

    assert [line.split()[0] for line in among_others if line.startswith("class0")] == [f"class0{n}" for n in range(10)]
    assert any("the 12 classes with the lowest F1 … and 28 more" in line for line in among_others)
    assert sum(line.startswith("class") for line in asked_for) == 40 + 1  # and the heading
    assert written_report(full_report, Which.ALL, Format.MARKDOWN).count("| class") == 12 + 1
    assert written_report(full_report, Which.CLASSES, Format.MARKDOWN).count("| class") == 40 + 1
    assert written_report(full_report, Which.ALL, Format.JSON).count('"class39"') == 4  # of every model, for programs


def test_csv_has_plain_numbers(full_report: dict[str, Any]) -> None:
    rows = list(csv.DictReader(io.StringIO(written_report(full_report, Which.QUALITY, Format.CSV))))

    assert [row["model"] for row in rows] == [entry["name"] for entry in full_report["models"]]
    assert float(rows[2]["accuracy"]) == 0.928
    assert float(rows[2]["mcnemar_p_teacher"]) == 0.31
    assert rows[0]["mcnemar_p_teacher"] == ""


def test_csv_of_all_tables_parts_them_by_an_empty_line(full_report: dict[str, Any]) -> None:
    parts = written_report(full_report, Which.ALL, Format.CSV).split("\n\n")

    assert [next(csv.reader(io.StringIO(part)))[:2] for part in parts] == [
        ["model", "role"],
        ["model", "vs bert-base-uncased"],
        ["model", "role"],
        ["model", "label"],
    ]


def test_json_holds_every_table_and_every_model_by_class(full_report: dict[str, Any]) -> None:
    tables = json.loads(written_report(full_report, Which.ALL, Format.JSON))

    assert list(tables) == ["quality", "relative", "cost", "classes"]
    assert {(row["model"], row["label"]) for row in tables["classes"]} == {
        (entry["name"], label) for entry in full_report["models"] for label in ("negative", "positive")
    }
    assert tables["cost"][1]["model"] == "teacher, int8 ONNX"


def test_markdown_has_a_table_under_every_heading(full_report: dict[str, Any]) -> None:
    text = written_report(full_report, Which.ALL, Format.MARKDOWN)

    assert [line for line in text.splitlines() if line.startswith("### ")] == [
        "### Quality",
        "### Relative change",
        "### Size and speed",
        "### Class by class: bilstm",
    ]


def test_tables_can_be_printed_where_only_the_base_install_is() -> None:
    heavy = ("torch", "transformers", "sklearn", "matplotlib", "pyarrow", "jinja2", "numpy")
    modules = "limbeck.report.tables, limbeck.report.tables.comparison, limbeck.report.model_card"
    code = f"import sys, {modules}; print([name for name in {heavy} if name in sys.modules])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_a_loss_is_red(rival_report: dict[str, Any]) -> None:
    rival_report["models"][4]["gain_over_rival"] = {"accuracy": -0.034, "ci95": [-0.05, -0.018]}
    shown = {}
    for name, given in (("loss", rival_report), ("gain", {**rival_report, "best": "bilstm"})):
        console = Console(file=io.StringIO(), force_terminal=True, color_system="standard", width=300)
        print_report(given, console)
        shown[name] = console.file.getvalue()  # type: ignore[attr-defined]

    assert "\x1b[1;31mtfidf, ten lines of scikit-learn, beats bilstm-int8" in shown["loss"]
    assert "\x1b[1;31m" not in shown["gain"]
