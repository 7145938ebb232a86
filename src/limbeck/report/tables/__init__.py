"""Reports as tables: on the terminal, as Markdown, CSV, LaTeX and JSON (rich and the standard library alone)."""

from limbeck.report.tables.formats import Format
from limbeck.report.tables.report import Which, print_report, written_report

__all__ = ["Format", "Which", "print_report", "written_report"]
