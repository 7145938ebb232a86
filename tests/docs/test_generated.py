"""What is generated is up to date, every command shows an example, and every link leads somewhere."""

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import pytest
import typer
import typer.main

from limbeck.cli import app
from limbeck.recipe.schedule import Number, PositiveNumber, Schedule

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    """docs/generate.py, which is a script and no part of the package."""
    spec = spec_from_file_location("generate_docs", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def commands() -> dict[str, Any]:
    """Every command, by its name."""
    group: Any = typer.main.get_command(app)
    return dict(group.commands)


@pytest.mark.parametrize("page", ["docs/recipe.md", "docs/commands.md", "README.md"])
def test_regenerating_changes_nothing(generate: ModuleType, page: str) -> None:
    text = next(text for path, text in generate.pages() if path == ROOT / page)

    assert (ROOT / page).read_text(encoding="utf-8") == text, "run `make docs`"


@pytest.mark.parametrize("name", commands())
def test_every_command_explains_itself_and_shows_an_example(name: str) -> None:
    command = commands()[name]

    assert command.help
    assert "Example" in f"{command.help} {command.epilog}"
    assert f"limbeck {name}" in f"{command.help} {command.epilog}"


@pytest.mark.parametrize("name", commands())
def test_every_option_is_explained(name: str) -> None:
    silent = [parameter.name for parameter in commands()[name].params if not getattr(parameter, "help", None)]

    assert silent == []


def test_there_are_pages_to_check() -> None:
    assert ROOT / "README.md" in PAGES
    assert ROOT / "docs" / "recipe.md" in PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    links = LINK.findall(CODE.sub("", page.read_text(encoding="utf-8")))
    inside = [link.partition("#")[0] for link in links if "://" not in link and not link.startswith(("#", "mailto:"))]

    assert [link for link in inside if not (page.parent / link).exists()] == []


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (str | None, "text"),
        (list[int], "list of whole numbers"),
        (dict[str, str], "table of texts"),
        (Literal["auto"] | bool, '`"auto"` or true or false'),
        (list[Literal["fp32", "int8"]], 'list of `"fp32"`, `"int8"`'),
        (Literal["last"] | list[list[int]], '`"last"` or list of lists of whole numbers'),
        (dict[str, Any], "table"),
        (Number, "number or schedule"),
        (PositiveNumber | None, "number or schedule"),
        (Schedule | None, "table"),
    ],
)
def test_types_are_told_in_plain_words(generate: ModuleType, annotation: object, words: str) -> None:
    assert generate.type_in_words(annotation) == words


def test_a_table_is_shown_once_and_where_it_stands_again_the_page_says_so(generate: ModuleType) -> None:
    page = generate.recipe_page()

    assert page.count('### `[[distillation.losses]]` with kind = "hidden_mse"\n') == 1
    assert "#### `[[distillation.stages.losses]]`\n\nThe same as `[[distillation.losses]]`.\n" in page
    assert '`[[teacher.members]]`\n\nThe same as `[teacher]` with kind = "encoder", kind = "file", ' in page
    assert page.count("### `[student.vocabulary]`\n\nThe same keys as above.\n") == 2  # three students of words


def test_what_may_stand_in_place_of_a_number_has_a_part_of_its_own(generate: ModuleType) -> None:
    page = generate.recipe_page()

    assert page.count("\n## Schedule\n") == 1
    behind = page.partition("\n## Schedule\n")[2]
    assert '| `kind` | `"linear"`, `"cosine"`, `"warm_up"` | has to be given |' in behind
    assert "| `weight` | number or schedule | `3000.0` |" in page  # a key like any other, of spkd
    assert "losses.weight]" not in page


def test_a_table_of_several_kinds_names_them_all(generate: ModuleType) -> None:
    assert generate.kinds_of(Schedule) == ['"linear"', '"cosine"', '"warm_up"']


def test_a_nested_command_gets_its_own_heading(generate: ModuleType) -> None:
    inner, outer = typer.Typer(), typer.Typer(name="tool", help="A tool.")

    @inner.command(epilog="Example: `tool data show x`")
    def show(name: str = typer.Argument(help="a|b")) -> None:
        """Show one."""
        del name

    @inner.command()
    def drop() -> None:
        """Drop all."""

    outer.add_typer(inner, name="data", help="About data.")
    page = generate.commands_page(outer)

    assert "### tool data\n" in page
    assert "#### tool data show\n\nShow one.\n" in page
    assert "a\\|b" in page
    assert "Example: `tool data show x`" in page


def test_the_tree_replaces_only_what_stands_between_its_marks(generate: ModuleType) -> None:
    page = "before\n<!-- tree -->\nold\n<!-- /tree -->\nafter\n"

    assert generate.with_tree(page, "new") == "before\n<!-- tree -->\nnew\n<!-- /tree -->\nafter\n"


def test_a_page_without_a_place_for_the_tree_is_refused(generate: ModuleType) -> None:
    with pytest.raises(SystemExit, match="no place for the tree"):
        generate.with_tree("no marks here", "new")
