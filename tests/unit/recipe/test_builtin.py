"""The recipes that come with the package all load, and each says what it is and how it is run."""

import tomllib
from pathlib import Path

import pytest

import limbeck
from limbeck.recipe.builtin import builtin_recipes
from limbeck.recipe.load import load_recipe, recipe_source

FILES = sorted((Path(str(limbeck.__file__)).parent / "recipe").rglob("*.toml"))


def test_every_recipe_file_of_the_package_is_listed() -> None:
    recipes = builtin_recipes()

    assert FILES
    assert [recipe.path for recipe in recipes] == FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_builtin_recipe_loads_by_its_name(path: Path) -> None:
    loaded = load_recipe(path.stem, locate=False)

    assert recipe_source(path.stem) == path
    assert loaded.name == path.stem


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_its_first_two_lines_say_what_it_is_and_how_to_run_it(path: Path) -> None:
    (recipe,) = (recipe for recipe in builtin_recipes() if recipe.path == path)

    assert len(recipe.summary) > 10
    assert recipe.command.endswith("limbeck demo" if path.stem == "demo" else f"limbeck run {path.stem}")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_writes_no_path_of_one_machine(path: Path) -> None:
    corpus = tomllib.loads(path.read_text(encoding="utf-8"))["corpus"]

    assert not [value for value in corpus.values() if isinstance(value, str) and value.startswith(("/", "~"))]
