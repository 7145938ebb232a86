"""What is generated is up to date, and every command shows an example."""

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


@pytest.mark.parametrize("page", ["docs/recipe.md", "docs/commands.md", "docs/files.md", "docs/architecture.md"])
def test_regenerating_changes_nothing(generate: ModuleType, page: str) -> None:
    text = next(text for path, text in generate.pages() if path == ROOT / page)

    assert (ROOT / page).read_text(encoding="utf-8") == text, "run `make docs`"


def test_every_command_explains_itself_and_shows_an_example() -> None:
    texts = {name: f"{command.help} {command.epilog}" for name, command in commands().items()}

    assert [name for name, command in commands().items() if not command.help] == []
    assert [name for name, text in texts.items() if "Example" not in text or f"limbeck {name}" not in text] == []


def test_every_option_is_explained() -> None:
    silent = [
        f"{name} {parameter.name}"
        for name, command in commands().items()
        for parameter in command.params
        if not getattr(parameter, "help", None)
    ]

    assert silent == []


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
def test_types_are_described_in_plain_words(generate: ModuleType, annotation: object, words: str) -> None:
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
    assert '| `kind` | `"linear"`, `"cosine"`, `"warm_up"` | required |' in behind
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


def test_every_file_of_the_package_is_listed(generate: ModuleType, tmp_path: Path) -> None:
    room = tmp_path / "package" / "room"
    (room / "inner").mkdir(parents=True)
    for place, docstring in {
        "room/__init__.py": "A room.",
        "room/run.py": "What it | does.\n\nMore.",
        "room/inner/__init__.py": "A part of it.",
        "room/inner/part.py": "One.",
        "alone.py": "A file of its own.",
    }.items():
        (tmp_path / "package" / place).write_text(f'"""{docstring}"""\n', encoding="utf-8")

    page = generate.files_page(tmp_path / "package")

    assert "## room\n\nA room.\n" in page
    assert "| `alone.py` | A file of its own. |" in page
    assert "| `inner/` | A part of it. |\n| `inner/part.py` | One. |\n| `run.py` | What it \\| does. |\n" in page


def test_the_doors_replace_only_what_lies_between_their_marks(generate: ModuleType) -> None:
    page = "before\n<!-- doors -->\nold\n<!-- /doors -->\nafter\n"

    assert generate.with_block(page, "new", "<!-- doors -->", "<!-- /doors -->") == (
        "before\n<!-- doors -->\n\nnew\n\n<!-- /doors -->\nafter\n"
    )
    with pytest.raises(SystemExit, match="no place for a generated table"):
        generate.with_block("no marks here", "new", "<!-- doors -->", "<!-- /doors -->")
