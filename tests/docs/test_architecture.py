"""docs/architecture.md is true to the code: every room is described, and every step of the walk exists."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "limbeck"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
STEP = re.compile(r"^\| (\d+) \| `([\w/]+\.py)` \| `([\w.]+)` \|", re.MULTILINE)
MOST_STEPS = 25


def section(heading: str) -> str:
    """The part of the page below a heading of the second level."""
    return PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def names_in(source: str) -> set[str]:
    """Functions and classes of a module, and methods as Class.method."""
    found = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef)}
    return found


def test_every_step_of_the_walk_exists() -> None:
    steps = STEP.findall(section("A walk"))

    assert [int(number) for number, _, _ in steps] == list(range(1, len(steps) + 1))
    assert 15 <= len(steps) <= MOST_STEPS
    files = {file: SOURCE / file for _, file, _ in steps}
    assert [file for file, path in files.items() if not path.is_file()] == []
    known = {file: names_in(path.read_text(encoding="utf-8")) for file, path in files.items()}
    assert [f"{file}: {name}" for _, file, name in steps if name not in known[file]] == []


def test_every_line_of_the_walk_is_a_step() -> None:
    rows = [line for line in section("A walk").splitlines() if line.startswith("|")]

    assert len(rows) - 2 == len(STEP.findall(section("A walk"))), "a row of the table is not of the form of a step"


def test_every_room_is_described_and_nothing_else_is() -> None:
    described = set(re.findall(r"^\| `(\w+)` \|", section("The rooms"), re.MULTILINE))
    folders = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    files = {path.stem for path in SOURCE.glob("*.py") if not path.stem.startswith("_")}

    assert described == folders | files


def test_a_word_of_the_glossary_has_one_meaning() -> None:
    words = re.findall(r"^\| ([a-z ]+) \| ", section("Glossary"), re.MULTILINE)

    assert len(words) == len(set(words))
    assert {"row", "stage", "run", "artifact", "key", "student", "teacher", "objective", "term", "loss"} <= set(words)
