"""Reports as tables: on the terminal, as Markdown, CSV, LaTeX and JSON (rich and the standard library alone)."""

from limbeck.evaluation.tables.formats import Format
from limbeck.evaluation.tables.report import Which, print_report, written_report

__all__ = ["Format", "Which", "print_report", "written_report"]
