"""What the pages show is right: recipes parse, Python compiles, and every command they name exists."""

import re
from pathlib import Path
from typing import Any

import pytest
import typer.main

from limbeck.cli import app
from limbeck.errors import RecipeInvalid
from limbeck.recipe.extends import read_recipe
from limbeck.recipe.general import GeneralRecipe
from limbeck.recipe.general_layers import GeneralLayersRecipe
from limbeck.recipe.load import parse_recipe
from limbeck.recipe.recipe import Recipe

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "README.zh.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
# `import limbeck` and `from limbeck import …` are Python; `limbeck: …` is a message.
COMMAND = re.compile(r"(?<!from )(?<!import )(?<![\w./-])limbeck ([a-z][a-z-]*)")


def blocks(language: str) -> list[Any]:
    """Every fenced block in this language, under the name of its page and its line there."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in BLOCK.finditer(text):
            if match[1] == language:
                line = text.count("\n", 0, match.start()) + 1
                found.append(pytest.param(match[2], id=f"{page.relative_to(ROOT)}:{line}"))
    return found


def commands_named(page: str) -> set[str]:
    """The commands in a page's code, fenced or within a line."""
    code = [match[2] for match in BLOCK.finditer(page)] + INLINE.findall(BLOCK.sub("", page))
    return {name for piece in code for name in COMMAND.findall(piece)}


def parsed(block: str, folder: Path) -> Recipe | GeneralRecipe | GeneralLayersRecipe:
    """A whole recipe, or some of its sections, with all it extends; the one that has to be there is added."""
    file = folder / "example.toml"
    file.write_text(block, encoding="utf-8")
    raw = read_recipe(file)
    if "general" in raw and raw["student"]["kind"] == "transformer":
        return GeneralLayersRecipe.model_validate(raw)
    if "general" in raw:
        return GeneralRecipe.model_validate(raw)
    raw.setdefault("corpus", {"train": "train.csv"})
    return parse_recipe(raw, recipe="the example")


@pytest.mark.parametrize("block", blocks("toml"))
def test_a_recipe_on_a_page_is_a_recipe(block: str, tmp_path: Path) -> None:
    assert parsed(block, tmp_path)


@pytest.mark.parametrize("block", blocks("python"))
def test_python_on_a_page_compiles(block: str) -> None:
    assert compile(block, "the example", "exec")


def test_every_command_a_page_names_exists() -> None:
    known = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]  # a group has them
    named = {page.relative_to(ROOT): commands_named(page.read_text(encoding="utf-8")) for page in PAGES}

    assert {page: found - known for page, found in named.items() if found - known} == {}


def test_the_readme_shows_a_whole_recipe_python_and_the_main_commands() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    examples = {match[1]: match[2] for match in BLOCK.finditer(page)}

    assert "[corpus]" in examples["toml"]
    assert "limbeck." in examples["python"]
    assert {"init", "run", "predict"} <= commands_named(page)
    assert {"make demo", "make test"} <= set(INLINE.findall(page))


@pytest.mark.parametrize("above", ["", 'extends = "tang"\n'])
def test_a_wrong_key_in_an_example_is_noticed(above: str, tmp_path: Path) -> None:
    with pytest.raises(RecipeInvalid, match="hidden_size"):
        parsed(f"{above}[student]\nhiden_size = 300\n", tmp_path)


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ("run `limbeck fly MODEL` now", {"fly"}),
        ("```\n$ echo x | limbeck fly MODEL\n```\n", {"fly"}),
        ("```python\nfrom limbeck import load\nimport limbeck\n```\n", set()),
        ("Limbeck is small, and limbeck means vessel; `limbeck --help` helps", set()),
    ],
)
def test_commands_are_found_in_code_and_not_in_prose(page: str, found: set[str]) -> None:
    assert commands_named(page) == found
