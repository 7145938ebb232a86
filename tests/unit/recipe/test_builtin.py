"""The recipes that come with the package all load, and each says what it is and how it is run."""

import tomllib
from pathlib import Path

import pytest

import limbeck
from limbeck.recipe.builtin import builtin_general, builtin_methods, builtin_recipes
from limbeck.recipe.general import GeneralRecipe
from limbeck.recipe.general_layers import GeneralLayersRecipe
from limbeck.recipe.load import load_recipe, parse_recipe, recipe_source
from limbeck.recipe.toml import to_toml

ALL = sorted((Path(str(limbeck.__file__)).parent / "recipe").rglob("*.toml"))
METHODS = [path for path in ALL if path.parent.name == "methods"]
GENERAL = [path for path in ALL if path.parent.name == "general"]
FILES = [path for path in ALL if path not in (*METHODS, *GENERAL)]


def test_every_recipe_file_of_the_package_is_listed() -> None:
    assert FILES
    assert METHODS
    assert [recipe.path for recipe in builtin_recipes()] == FILES
    assert [method.path for method in builtin_methods()] == METHODS
    assert [general.path for general in builtin_general()] == GENERAL


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_builtin_recipe_loads_by_its_name(path: Path) -> None:
    loaded = load_recipe(path.stem, locate=False)

    assert recipe_source(path.stem) == path
    assert loaded.name == path.stem


def test_their_first_two_lines_say_what_they_are_and_how_to_run_them() -> None:
    recipes = {recipe.path.stem: recipe for recipe in builtin_recipes()}
    commands = {name: "limbeck demo" if name == "demo" else f"limbeck run {name}" for name in recipes}

    assert [name for name, recipe in recipes.items() if len(recipe.summary) <= 10] == []
    assert [name for name, recipe in recipes.items() if not recipe.command.endswith(commands[name])] == []


def test_recipes_of_general_students_say_what_they_are_and_load() -> None:
    for one in builtin_general():
        raw = tomllib.loads(one.path.read_text(encoding="utf-8"))
        kind = GeneralLayersRecipe if raw["student"]["kind"] == "transformer" else GeneralRecipe

        assert kind.model_validate(raw).general.name
        assert len(one.summary) > 10
        assert one.command.endswith(f"limbeck pretrain {one.path.stem}")


def test_tasks_of_general_transformers_start_from_what_those_recipes_make() -> None:
    made = {tomllib.loads(path.read_text(encoding="utf-8"))["general"]["name"] for path in GENERAL}

    starts = [str(getattr(load_recipe(path.stem, locate=False).recipe.student, "start", "")) for path in FILES]

    named = {start.removeprefix("general:") for start in starts if start.startswith("general:")}
    assert named == made - {"english"}  # which drafts start from


def test_they_write_no_path_of_one_machine() -> None:
    corpora = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")).get("corpus", {}) for path in FILES}

    assert [
        (name, value)
        for name, corpus in corpora.items()
        for value in corpus.values()
        if isinstance(value, str) and value.startswith(("/", "~"))
    ] == []


@pytest.mark.parametrize("path", METHODS, ids=lambda path: path.stem)
def test_a_method_says_what_it_is_and_runs_on_a_data_set(path: Path) -> None:
    (method,) = (method for method in builtin_methods() if method.path == path)

    loaded = load_recipe(f"sst2-{path.stem}", locate=False)

    assert len(method.summary) > 10
    assert method.command == f'extends = "{path.stem}"'
    assert loaded.name == f"sst2-{path.stem}"
    assert recipe_source(f"sst2-{path.stem}").stem == "sst2"  # which `limbeck run` asks for
    written = tomllib.loads(to_toml(loaded.recipe))
    assert parse_recipe(written, recipe="again") == loaded.recipe
    assert "corpus" not in tomllib.loads(path.read_text(encoding="utf-8"))
