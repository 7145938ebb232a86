"""Markdown, LaTeX, CSV and JSON hold the same table, each with its own signs kept from doing harm."""

import csv
import io
import json

from limbeck.report.tables.formats import Format, written
from limbeck.report.tables.grid import Field, Grid, grid_of, named


def grid(name: str, number: float | None = 0.5) -> Grid:
    """A table of one line."""
    fields = [
        Field(heading="model", text=lambda row: row["name"], values={"model": named("name")}, is_words=True),
        Field(
            heading="a_b",
            text=lambda row: "–" if row["n"] is None else f"{row['n']}\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}1×",
            values={"n": named("n"), "twice": lambda row: row["n"] and 2 * row["n"]},
        ),
    ]
    return grid_of(
        "g", title="G", fields=fields, entries=[{"name": name, "n": number}], caption="all", notes=["A note."]
    )


def test_markdown_escapes_bars_and_puts_words_on_the_left() -> None:
    lines = written([grid("a|b\\")], Format.MARKDOWN).splitlines()

    assert lines[1] == "|---|---:|"
    assert lines[2].startswith("| a\\|b\\\\ | 0.5")
    assert lines[3:] == ["", "all.", "", "A note."]


def test_latex_escapes_what_latex_would_take_for_its_own() -> None:
    text = written([grid("a_b & 100% {x} $5 #1 ~ ^ \\")], Format.LATEX)

    body = text.splitlines()[5]
    assert r"a\_b \& 100\% \{x\} \$5 \#1 \textasciitilde{} \textasciicircum{} \textbackslash{}" in body
    assert r"0.5~$\pm$~1$\times$ \\" in body
    assert r"a\_b" in text.splitlines()[3]
    assert text.count(r"\begin{tabular}{lr}") == text.count(r"\end{tabular}") == 1


def test_csv_has_a_column_for_every_number_and_nothing_where_there_is_none() -> None:
    names = ['say "hi", twice', "two\nlines"]

    rows = [next(iter(csv.DictReader(io.StringIO(written([grid(name, None)], Format.CSV))))) for name in names]

    assert rows == [{"model": name, "n": "", "twice": ""} for name in names]


def test_json_keeps_letters_and_numbers_as_they_are() -> None:
    text = written([grid("老师")], Format.JSON)

    assert "老师" in text
    assert json.loads(text) == {"g": [{"model": "老师", "n": 0.5, "twice": 1.0}]}
