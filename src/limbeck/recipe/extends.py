"""`extends`: a recipe that contains only its differences from other recipes."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from limbeck.errors import RecipeInvalid, did_you_mean
from limbeck.kinds import DEFAULT_STUDENT
from limbeck.recipe.builtin import builtin_methods, builtin_recipes
from limbeck.recipe.files import at_home, is_file

Raw = dict[str, Any]
KINDS = {"student": DEFAULT_STUDENT, "teacher": "encoder"}  # of a table without `kind`


def read_recipe(path: Path, *, inside: Sequence[Path] = ()) -> Raw:
    """The tables of a recipe file, on top of those of the recipes that it extends."""
    if path in inside:
        chain = " → ".join(step.name for step in (*inside, path))
        raise RecipeInvalid(recipe=str(path), problems=[f"extends: recipes extend each other in a cycle: {chain}"])
    raw = _read(path)
    bases = raw.pop("extends", [])
    if isinstance(bases, str):
        bases = [bases]
    if not isinstance(bases, list) or not all(isinstance(base, str) for base in bases):
        problem = f"extends: should be the name of a recipe, or a list of names (found {bases!r})"
        raise RecipeInvalid(recipe=str(path), problems=[problem])
    below: Raw = {}
    for base in bases:
        below = merged(below, read_recipe(_base_path(base, extending=path), inside=(*inside, path)))
    return merged(below, raw)


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> Raw:
    """Tables are merged key by key; for anything else the value of `above` wins, if it has one.

    A table of another `kind` replaces the one below: a transformer does not have a Bi-LSTM's keys. Losses and stages
    replace each other, as they are two forms of the same setting.
    """
    kept = dict(below)
    if {"losses", "stages"} & set(above):
        kept = {key: value for key, value in kept.items() if key not in ("losses", "stages")}
    for key, value in above.items():
        lower = kept.get(key)
        if isinstance(value, Mapping) and isinstance(lower, Mapping) and _same_kind(key, lower, value):
            kept[key] = merged(lower, value)
        else:
            kept[key] = value
    return kept


def _same_kind(key: str, lower: Mapping[str, Any], upper: Mapping[str, Any]) -> bool:
    return "kind" not in upper or lower.get("kind", KINDS.get(key, upper["kind"])) == upper["kind"]


def _base_path(name: str, *, extending: Path) -> Path:
    known = {recipe.name: recipe.path for recipe in (*builtin_methods(), *builtin_recipes())}
    for path in (extending.parent / name, at_home(Path(name))):
        if is_file(path):
            return path
    if name not in known:
        hint = did_you_mean(name, list(known)) or f"; methods: {', '.join(method.name for method in builtin_methods())}"
        raise RecipeInvalid(recipe=str(extending), problems=[f"extends: no recipe or method '{name}'{hint}"])
    return known[name]


def _read(path: Path) -> Raw:
    if (size := path.stat().st_size) > MOST_BYTES:
        problem = f"a file of {size / 1e6:,.0f} MB: a recipe holds settings, and rows belong in files of their own"
        raise RecipeInvalid(recipe=str(path), problems=[problem])
    try:
        return _flat_enough(tomllib.loads(path.read_text(encoding="utf-8-sig")), path)
    except RecursionError:
        raise RecipeInvalid(recipe=str(path), problems=["its tables or lists are nested too deeply"]) from None
    except UnicodeDecodeError as error:
        raise RecipeInvalid(recipe=str(path), problems=[f"not UTF-8 text: {error.reason}"]) from None
    except ValueError as error:  # also for a number of thousands of digits
        raise RecipeInvalid(recipe=str(path), problems=[f"not valid TOML: {error}"]) from None


MOST_BYTES = 4_000_000  # TOML is read at about a megabyte a second
MOST_LEVELS = 32  # of tables and lists inside each other; no recipe has ten
MOST_BITS = 4_096  # of a number; Python does not print those of 4,300 digits


def _flat_enough(raw: Raw, path: Path) -> Raw:
    """The recipe; refused if it is nested so deeply, or has a number so long, that nothing could work with it."""
    level: list[Any] = [raw]
    for _ in range(MOST_LEVELS):
        values = [inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer)]
        if any(isinstance(value, int) and value.bit_length() > MOST_BITS for value in values):
            raise RecipeInvalid(recipe=str(path), problems=["a whole number of more than a thousand digits"])
        level = [value for value in values if isinstance(value, dict | list)]
    if level:
        raise RecipeInvalid(recipe=str(path), problems=["its tables or lists are nested too deeply"])
    return raw
