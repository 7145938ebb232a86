"""From a recipe's name or file to a validated recipe whose files all exist."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from limbeck.errors import RecipeError, RecipeInvalid, did_you_mean
from limbeck.recipe.builtin import METHODS, builtin_general, builtin_methods, builtin_recipes, data_and_method
from limbeck.recipe.extends import KINDS, merged, read_recipe
from limbeck.recipe.files import PACKAGE, at_home, exists, find_file, is_dir, is_file, search_roots
from limbeck.recipe.general import GeneralRecipe
from limbeck.recipe.general_layers import GeneralLayersRecipe
from limbeck.recipe.problems import models_by_kind, problems_of
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.toml import apply_overrides, is_place

Located = TypeVar("Located", Recipe, GeneralRecipe, GeneralLayersRecipe)
KEYS_OF_GENERAL = "The keys of [general] are described in docs/general.md, all others in docs/recipe.md."


class RecipeNotFound(RecipeError):
    """No recipe file and no built-in recipe has this name."""

    def __init__(self, *, name: str, builtin: Sequence[str], nearby: Sequence[str] = (), advice: str = "") -> None:
        self.name = name
        super().__init__(
            f"no recipe '{name}'{did_you_mean(name, [*nearby, *builtin])}",
            found=f"looked for a file of that name and among the built-in recipes: {', '.join(builtin)}",
            advice=advice or "Give a path to a .toml file, or run `limbeck recipes` for the list.",
        )


@dataclass(frozen=True)
class LoadedRecipe:
    """A recipe, the name of its run, and the file it came from."""

    recipe: Recipe
    name: str
    source: Path
    notes: tuple[str, ...] = ()  # what the overrides have dropped, in lines for the terminal


def load_recipe(name_or_path: str | Path, *, overrides: Sequence[str] = (), locate: bool = True) -> LoadedRecipe:
    """Read, override, validate, and find every file; all problems are raised together."""
    source, before, file_or_run = _read(name_or_path)
    raw = apply_overrides(before, overrides, recipe=str(name_or_path))
    notes = [note for override in overrides if (note := _drop_other_kind(raw, before, override, overrides))]
    recipe = parse_recipe(raw, recipe=str(name_or_path))
    if locate:
        recipe = _located(recipe, source=source, recipe_name=str(name_or_path))
    name = recipe.name or file_or_run
    if name.startswith("."):  # the run would be hidden in runs/, or outside of it
        problem = f"the run would be called '{name}', like its file: give it a name = at the top"
        raise RecipeInvalid(recipe=str(name_or_path), problems=[problem])
    return LoadedRecipe(recipe=recipe, name=name, source=source, notes=tuple(notes))


def _drop_other_kind(raw: Any, before: Any, override: str, overrides: Sequence[str]) -> str:
    """If the override gives a table another kind, drop its keys that only the kind before has; what was dropped.

    Keys that no kind has stay, to be reported; so do those that other overrides set.
    """
    path, *given = (other.partition("=")[0].replace(" ", "") for other in (override, *overrides))
    steps = path.split(".")
    table, old_table = _table_at(raw, steps[:-1]), _table_at(before, steps[:-1])
    if steps[-1] != "kind" or not isinstance(table, dict) or not isinstance(old_table, dict):
        return ""
    models = models_by_kind(Recipe, [0 if step.isdecimal() else step for step in steps[:-1]])
    old, new = (str(one.get("kind", KINDS.get(steps[0]))) for one in (old_table, table))
    if new not in models:
        return ""
    others = _keys_of_others(models.get(old), models[new])
    dropped = [key for key in table if key in others and f"{path.removesuffix('kind')}{key}" not in given]
    if steps == ["student", "kind"] and "vocabulary" in table and _vocabulary(old) is not _vocabulary(new):
        dropped += ["vocabulary"] if not any(one.startswith("student.vocabulary") for one in given) else []
    for key in dropped:
        del table[key]
    notes = [f'dropped {", ".join(dropped)}, which a "{new}" does not have'] if dropped else []
    others_of_kind = raw.get("candidates") if steps == ["student", "kind"] else None
    if isinstance(others_of_kind, list) and any(_is_of(one, new) for one in others_of_kind):
        raw["candidates"] = [one for one in others_of_kind if not _is_of(one, new)]
        notes.append(f'dropped the candidate of kind "{new}", which is the student now')
    return f"--set {override}: {'; '.join(notes)}" if notes else ""


def _keys_of_others(old: type[BaseModel] | None, new: type[BaseModel]) -> set[str]:
    """The keys of the old kind that the new one does not have, or that mean something else there, such as `start`."""
    fields, others = new.model_fields, old.model_fields if old else {}
    tables = {"vocabulary"}  # these are looked at by themselves
    return {
        key
        for key, field in others.items()
        if key not in fields or (key not in {"kind", *tables} and field.annotation != fields[key].annotation)
    }


def _is_of(candidate: Any, kind: str) -> bool:
    return isinstance(candidate, dict) and candidate.get("kind") == kind


def _vocabulary(kind: str) -> Any:
    """The section of the tokens of a kind of student; None for a kind that has none."""
    section = models_by_kind(Recipe, ["student"]).get(kind)
    field = section.model_fields.get("vocabulary") if section else None
    return field.annotation if field else None


def _table_at(here: Any, steps: Sequence[str]) -> Any:
    """What is at this place; None if nothing is."""
    for step in steps:
        if isinstance(here, list):
            here = here[int(step)] if is_place(step, here) else None
        else:
            here = here.get(step) if isinstance(here, dict) else None
    return here


def parse_recipe(raw: dict[str, Any], *, recipe: str) -> Recipe:
    """Validate a recipe given as nested dictionaries."""
    try:
        return Recipe.model_validate(raw)
    except ValidationError as error:
        raise RecipeInvalid(recipe=recipe, problems=problems_of(error, raw=raw, root=Recipe)) from None


def load_general_recipe(
    name_or_path: str | Path, *, overrides: Sequence[str] = ()
) -> GeneralRecipe | GeneralLayersRecipe:
    """The same for a recipe of `limbeck pretrain`: a file, or one that comes with the package. A transformer has one
    of its own kind."""
    path, known = at_home(Path(name_or_path)), {recipe.name: recipe.path for recipe in builtin_general()}
    source = path if is_file(path) else known.get(str(name_or_path))
    if source is None:
        nearby = [inner.name for inner in path.parent.glob("*.toml")] if path.name else []
        advice = f"Give a path to a .toml file, or the name of one that comes with the package: {', '.join(known)}."
        raise RecipeNotFound(name=str(name_or_path), builtin=list(known), nearby=nearby, advice=advice)
    raw = apply_overrides(read_recipe(source), overrides, recipe=str(name_or_path))
    student = raw.get("student")
    is_transformer = isinstance(student, dict) and student.get("kind") == "transformer"
    if is_transformer:
        of_layers = _validated(GeneralLayersRecipe, raw, recipe=str(name_or_path))
        return _located(of_layers, source=source, recipe_name=str(name_or_path))
    of_sentences = _validated(GeneralRecipe, raw, recipe=str(name_or_path))
    return _located(of_sentences, source=source, recipe_name=str(name_or_path))


def _validated(kind: type[Located], raw: dict[str, Any], *, recipe: str) -> Located:
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        problems = problems_of(error, raw=raw, root=kind)
        raise RecipeInvalid(recipe=recipe, problems=problems, advice=KEYS_OF_GENERAL) from None


def recipe_source(name_or_path: str | Path) -> Path:
    """The file of a recipe: a path, or one of the built-in recipes; with a method, that of the data set."""
    path = at_home(Path(name_or_path))
    if is_dir(path) and (path / "recipe.toml").is_file():
        return path / "recipe.toml"  # a run folder: its resolved recipe
    if is_file(path):
        return path
    known = {recipe.name: recipe.path for recipe in (*builtin_methods(), *builtin_recipes())}
    if str(name_or_path) in known:
        return known[str(name_or_path)]
    if both := data_and_method(str(name_or_path)):
        return both[0].path
    nearby = [inner.name for inner in path.parent.glob("*.toml")] if path.name else []
    raise RecipeNotFound(name=str(name_or_path), builtin=list(known), nearby=nearby)


def _read(name_or_path: str | Path) -> tuple[Path, dict[str, Any], str]:
    """The file of a recipe, its tables merged with those it extends, and the name of its run."""
    name = str(name_or_path)
    if not exists(at_home(Path(name))) and (both := data_and_method(name)):
        data, method = both
        together = merged(read_recipe(data.path), {**read_recipe(method.path), "name": name})
        return data.path, together, name
    source = recipe_source(name_or_path)
    _refuse_bare_method(source, name)
    is_run = is_dir(Path(name_or_path))
    return source, read_recipe(source), source.parent.resolve().name if is_run else source.stem


def _refuse_bare_method(source: Path, name: str) -> None:
    if source.parent.name == METHODS and source in [method.path for method in builtin_methods()]:
        advice = f'Put extends = "{name}" at the top of your recipe, or run a data set\'s: limbeck run sst2-{name}'
        raise RecipeInvalid(recipe=name, problems=["it is a method without data"], advice=advice)


def _located(recipe: Located, *, source: Path, recipe_name: str) -> Located:
    roots = search_roots(source.parent)
    problems: list[str] = []

    def locate(path: str, *, required: bool = True, what: str = "file", instead: str = "") -> str:
        try:
            return find_file(path, roots)
        except FileNotFoundError:
            if required and path.startswith(PACKAGE):
                name = path.removeprefix(PACKAGE).partition("/")[0]
                remedy = f"install the package {name}, or name another file"
                problems.append(f"no {what} '{path}' in the installed Python packages: {remedy}")
            elif required:
                problems.append(f"no {what} '{path}'{_similar_name(path, roots)}{instead}")
            return path

    located = recipe.located(locate)
    if problems:
        places = ", ".join(str(root) for root in roots)
        advice = f"Looked in {places}. Correct the path, or set LIMBECK_DATA to the folder with the data."
        raise RecipeInvalid(recipe=recipe_name, problems=problems, advice=advice)
    return located


def _similar_name(path: str, roots: Sequence[Path]) -> str:
    """A hint with a similar name in the folder where the file was expected."""
    wanted = Path(path)
    folders = [wanted.parent] if wanted.is_absolute() else [root / wanted.parent for root in roots]
    names = [inner.name for folder in folders if is_dir(folder) for inner in folder.iterdir()]
    return did_you_mean(wanted.name, names)
