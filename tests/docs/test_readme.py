"""README.md is one page, its numbers are those that are committed, and the Chinese one says the same."""

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
ENGLISH = (ROOT / "README.md").read_text(encoding="utf-8")
CHINESE = (ROOT / "README.zh.md").read_text(encoding="utf-8")
MOST_LINES = 220
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


def code(page: str) -> list[tuple[str, list[str]]]:
    """The fenced blocks of a page, without their comments, which are in its language."""
    blocks = [
        (language, [line.partition("#")[0].rstrip() for line in text.splitlines()])
        for language, text in FENCED.findall(page)
    ]
    return [(language, [line for line in lines if line]) for language, lines in blocks]


def inline(page: str) -> list[str]:
    """Code within lines, in the order of the alphabet: languages differ in the order of words."""
    return sorted(re.findall(r"`([^`\n]+)`", FENCED.sub("", page)))


def numbers(page: str) -> list[str]:
    """Every number of a page's prose and tables."""
    return sorted(NUMBER.findall(FENCED.sub("", page)))


def table_rows(page: str) -> list[list[str]]:
    """The cells of the table of results."""
    lines = page.partition("|---|---:|---:|---:|---:|\n")[2].partition("\n\n")[0].splitlines()
    return [[cell.strip().strip("*") for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("page", [ENGLISH, CHINESE], ids=["README.md", "README.zh.md"])
def test_it_is_a_page_and_no_book(page: str) -> None:
    assert len(page.splitlines()) <= MOST_LINES


def test_both_have_the_same_shape() -> None:
    shapes = [re.findall(r"^(#+) |^(\|---.*)$|^(- \*\*)", page, re.MULTILINE) for page in (ENGLISH, CHINESE)]

    assert shapes[0] == shapes[1]


def test_both_have_the_same_commands_and_examples() -> None:
    assert code(ENGLISH) == code(CHINESE)
    assert inline(ENGLISH) == inline(CHINESE)


def test_both_have_the_same_numbers() -> None:
    assert numbers(ENGLISH) == numbers(CHINESE)


def test_both_have_the_same_links_but_for_those_to_each_other() -> None:
    def links(page: str) -> list[str]:
        return sorted(re.findall(r"\]\(([^)\s]+)\)", page))

    assert [link for link in links(ENGLISH) if link != "README.zh.md"] == [
        link for link in links(CHINESE) if link != "README.md"
    ]


def test_the_table_has_the_committed_numbers() -> None:
    lines = json.loads((ROOT / "benchmarks" / "results" / "tables" / "sst2.json").read_text(encoding="utf-8"))["lines"]
    shown = [
        ("text", "teacher"),
        ("rows", "alone"),
        ("rows", "student"),
        ("text", "student"),
        ("text-copies", "student"),
    ]
    shown += [("text-copies", "int8"), ("1m", "student"), ("1m", "int8")]

    def cells(line: str, model: str) -> list[str]:
        found: dict[str, Any] = lines[line][model]
        parameters, size = found["parameters"] / 1e6, found["size_mb"]
        digits = 0 if size > 100 else 1
        cost = ["", ""] if model == "alone" else [f"{size:.{digits}f}", f"{found['speedup_over_teacher']:,.0f}"]
        width = 0 if parameters > 100 else 1 if parameters > 1 else 2
        return [f"{100 * found['accuracy']:.1f}", f"{parameters:.{width}f}M", *cost]

    expected = [cells(line, model) for line, model in shown]
    assert [row[1:] for row in table_rows(ENGLISH)] == expected
    assert [row[1:] for row in table_rows(CHINESE)] == expected


def test_other_numbers_of_the_readme_are_on_the_page_of_results() -> None:
    results = "".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in ("results.md", "arena.md"))
    prose = ENGLISH.partition("- **Repeated:**")[2].partition("[Results](docs/results.md)")[0]
    derived = {"92.6", "5", "18"}  # a mean, and two that are rounded
    stated = set(NUMBER.findall(prose)) - derived

    assert {number for number in stated if number not in results} == set()


def test_the_picture_is_drawn_for_light_and_for_dark_pages(tmp_path: Path) -> None:
    glance = import_module("benchmarks.glance")
    model = {"accuracy": 0.9, "latency_ms": {"p50": 0.25}}
    lines = {name: dict.fromkeys(("teacher", "alone", "int8"), model) for name, _, _ in glance.README_MODELS}

    glance.readme_picture(lines, pictures=tmp_path)
    glance.readme_picture({"text": lines["text"]}, pictures=tmp_path / "none")

    written = {file.name: file.read_text(encoding="utf-8") for file in tmp_path.iterdir()}
    assert set(written) == {"readme-light.svg", "readme-dark.svg"}, "and nothing where a line was not run"
    assert all(ink in written[file] for file, ink in glance.README_PICTURES.items())
    assert all("#010203" not in picture for picture in written.values()), "the placeholder for ink is replaced"
    assert all(file in ENGLISH for file in written)
