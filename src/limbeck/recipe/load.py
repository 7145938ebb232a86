"""From a recipe's name or file to a validated recipe whose files all exist."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from limbeck.errors import RecipeInvalid, RecipeNotFound, did_you_mean
from limbeck.recipe.builtin import builtin_recipes
from limbeck.recipe.files import find_file, search_roots
from limbeck.recipe.overrides import apply_overrides
from limbeck.recipe.problems import problems_of
from limbeck.recipe.recipe import Recipe


@dataclass(frozen=True)
class LoadedRecipe:
    """A recipe, the name of its run, and the file it came from."""

    recipe: Recipe
    name: str
    source: Path


def load_recipe(name_or_path: str | Path, *, overrides: Sequence[str] = (), locate: bool = True) -> LoadedRecipe:
    """Read, override, validate, and find every file; all problems are raised together."""
    source = recipe_source(name_or_path)
    file_or_run = source.parent.resolve().name if Path(name_or_path).is_dir() else source.stem
    raw = apply_overrides(_read(source), overrides, recipe=str(name_or_path))
    recipe = parse_recipe(raw, recipe=str(name_or_path))
    if locate:
        recipe = _locate(recipe, source=source, recipe_name=str(name_or_path))
    return LoadedRecipe(recipe=recipe, name=recipe.name or file_or_run, source=source)


def parse_recipe(raw: dict[str, Any], *, recipe: str) -> Recipe:
    """Validate a recipe given as nested dictionaries."""
    try:
        return Recipe.model_validate(raw)
    except ValidationError as error:
        raise RecipeInvalid(recipe=recipe, problems=problems_of(error, raw=raw, root=Recipe)) from None


def recipe_source(name_or_path: str | Path) -> Path:
    """The file a recipe's name stands for: a path, or one of the built-in recipes."""
    path = Path(name_or_path).expanduser()
    if path.is_dir() and (path / "recipe.toml").is_file():
        return path / "recipe.toml"  # a run folder: its resolved recipe
    if path.is_file():
        return path
    known = {recipe.name: recipe.path for recipe in builtin_recipes()}
    if str(name_or_path) in known:
        return known[str(name_or_path)]
    beside = [inner.name for inner in path.parent.glob("*.toml")] if path.name else []
    raise RecipeNotFound(name=str(name_or_path), builtin=list(known), beside=beside)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except tomllib.TOMLDecodeError as error:
        raise RecipeInvalid(recipe=str(path), problems=[f"not valid TOML: {error}"]) from None
    except UnicodeDecodeError as error:
        raise RecipeInvalid(recipe=str(path), problems=[f"not UTF-8 text: {error.reason}"]) from None


def _locate(recipe: Recipe, *, source: Path, recipe_name: str) -> Recipe:
    roots = search_roots(source.parent)
    problems: list[str] = []

    def locate(path: str, *, required: bool = True) -> str:
        try:
            return find_file(path, roots)
        except FileNotFoundError:
            if required:
                problems.append(f"no file '{path}'{_beside(path, roots)}")
            return path

    located = recipe.located(locate)
    if problems:
        places = ", ".join(str(root) for root in roots)
        advice = f"Looked in {places}. Correct the path, or set LIMBECK_DATA to the folder that holds the data."
        raise RecipeInvalid(recipe=recipe_name, problems=problems, advice=advice)
    return located


def _beside(path: str, roots: Sequence[Path]) -> str:
    """A close name in the folder where the file was looked for."""
    wanted = Path(path)
    folders = [wanted.parent] if wanted.is_absolute() else [root / wanted.parent for root in roots]
    names = [inner.name for folder in folders if folder.is_dir() for inner in folder.iterdir()]
    return did_you_mean(wanted.name, names)
