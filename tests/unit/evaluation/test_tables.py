"""The table in the terminal and in Markdown."""

import io
import subprocess
import sys
from typing import Any

import pytest
from rich.console import Console

from limbeck.evaluation.tables import markdown_table, print_report


def printed(report: dict[str, Any], *, width: int) -> list[str]:
    """The lines that print_report writes."""
    file = io.StringIO()
    print_report(report, Console(file=file, width=width))
    return file.getvalue().replace("\N{NO-BREAK SPACE}", " ").splitlines()


def test_every_model_has_one_line_with_its_numbers(report: dict[str, Any]) -> None:
    lines = printed(report, width=100)

    student = next(line for line in lines if line.startswith("bilstm "))
    assert student.split("  ")[0] == "bilstm"
    for figure in ("92.8 ± 0.3", "91.6–94.0", "92.6", "95.0", "3.1M (612k)", "12.5", "0.720", "3,472", "120×"):
        assert figure in student


@pytest.mark.parametrize("width", [100, 80])
def test_no_line_is_wider_than_the_console_and_no_model_is_broken(report: dict[str, Any], width: int) -> None:
    lines = printed(report, width=width)

    assert max(len(line) for line in lines) <= width
    names = [entry["name"] for entry in report["models"]]
    assert [line.split()[0] for line in lines[2 : 2 + len(names)]] == names


def test_the_verdict_is_the_last_thing_said(report: dict[str, Any]) -> None:
    text = " ".join(printed(report, width=100))

    assert text.endswith("trained alone (95 % interval +5.1 to +9.4).")


def test_warnings_are_printed(report: dict[str, Any]) -> None:
    report["corpus"]["overlap"] |= {"mode": "report", "splits": {"dev": {"rows": 500, "found": 3, "verbatim": 3}}}

    assert any(line.startswith("warning: 3 of 500 dev rows stand in train") for line in printed(report, width=100))


def test_names_are_not_taken_for_markup(report: dict[str, Any]) -> None:
    report["models"][2]["name"] = "[red]x[/red]"

    assert any(line.startswith("[red]x[/red] ") for line in printed(report, width=100))


def test_markdown_has_a_row_per_model_and_escapes_bars(report: dict[str, Any]) -> None:
    report["models"][0]["name"] = "a|b"

    lines = markdown_table(report).splitlines()

    assert len(lines) == 2 + len(report["models"])
    assert lines[2].startswith("| a\\|b | 94.2 | 93.0–95.4 |")
    assert {line.replace("\\|", "").count("|") for line in lines} == {11}


@pytest.mark.parametrize("width", [100, 80])
def test_where_a_row_may_have_several_labels_the_table_is_about_exact_matches(
    report: dict[str, Any], width: int
) -> None:
    report["corpus"]["multi_label"] = True

    lines = printed(report, width=width)

    assert "exact match" in lines[0]
    assert "accuracy" not in " ".join(lines)
    assert max(len(line) for line in lines) <= width
    assert "exact match (every label of a row right)" in " ".join(lines)
    assert markdown_table(report).startswith("| model | exact match | 95 % |")


def test_a_teacher_without_cost_has_dashes(file_report: dict[str, Any]) -> None:
    lines = printed(file_report, width=100)

    teacher, student = (next(line for line in lines if line.startswith(name)) for name in ("answers.jsonl", "bilstm "))
    assert teacher.split()[-5:] == ["–"] * 5
    assert student.split()[-4:] == ["12.5", "0.720", "3,472", "–"]
    assert markdown_table(file_report).splitlines()[2].count("–") == 6  # and one in its interval


def test_notes_are_printed(silent_report: dict[str, Any]) -> None:
    assert any(
        line.startswith("note: the teacher said nothing of the 801 test rows")
        for line in printed(silent_report, width=120)
    )


def test_tables_can_be_printed_where_only_the_base_install_is() -> None:
    heavy = ("torch", "transformers", "sklearn", "matplotlib", "pyarrow", "jinja2", "numpy")
    code = f"import sys, limbeck.evaluation.tables; print([name for name in {heavy} if name in sys.modules])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
