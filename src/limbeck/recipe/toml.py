"""Writing a recipe as TOML, and `--set`; the standard library reads TOML."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from limbeck.errors import RecipeInvalid
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.teacher import EnsembleTeacher

MOST_DIGITS = 9  # of the number of an item


def to_toml(recipe: Recipe) -> str:
    """The recipe with every default written out; loading it gives the same recipe.

    Teachers that differ only in their seed are written as one `[teacher]` with `seeds`, so that one change applies to
    all of them.
    """
    tables = recipe.model_dump(mode="json", exclude_none=True)
    if isinstance(recipe.teacher, EnsembleTeacher) and (one := recipe.teacher.one_with_seeds):
        tables["teacher"] = one.model_dump(mode="json", exclude_none=True)
    return "\n".join(_table(tables, prefix="")).strip() + "\n"


def _table(table: Mapping[str, Any], *, prefix: str) -> list[str]:
    plain = {key: value for key, value in table.items() if not _is_table(value) and not _is_tables(value)}
    lines = [f"{_key(key)} = {inline(value)}" for key, value in plain.items()]
    for key, value in table.items():
        path = f"{prefix}{_key(key)}"
        if _is_table(value):
            lines += ["", f"[{path}]", *_table(value, prefix=f"{path}.")]
        elif _is_tables(value):
            for item in value:
                lines += ["", f"[[{path}]]", *_table(item, prefix=f"{path}.")]
    return lines


def _is_table(value: object) -> bool:
    return isinstance(value, dict)


def _is_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _key(key: str) -> str:
    return key if key.replace("_", "").replace("-", "").isalnum() and key.isascii() else json.dumps(key)


def inline(value: object) -> str:
    """A value as TOML on one line, as `--set` reads it."""
    if isinstance(value, list):
        return "[" + ", ".join(inline(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} = {inline(item)}" for key, item in value.items()) + "}"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)  # numbers and booleans are the same in JSON and TOML


def apply_overrides(raw: dict[str, Any], overrides: Sequence[str], *, recipe: str) -> dict[str, Any]:
    """A copy of the raw recipe with each `path=value` applied; the value is read as TOML, otherwise as text."""
    changed: dict[str, Any] = _copy(raw)
    problems = [problem for override in overrides if (problem := _apply(changed, override))]
    if problems:
        raise RecipeInvalid(recipe=recipe, problems=problems)
    return changed


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copy(item) for item in value]
    return value


def _apply(raw: dict[str, Any], override: str) -> str | None:
    path, equals, text = override.partition("=")
    steps = [step.strip() for step in path.split(".")]
    if not equals or not all(steps):
        return f"--set {override}: write it as section.key=value, e.g. --set student.hidden_size=300"
    here: Any = raw
    for step in steps[:-1]:
        if isinstance(here, list):
            if not is_place(step, here):
                return f"--set {override}: no item '{step}' in a list of {len(here)}"
            here = here[int(step)]
        elif isinstance(here, dict):
            here = here.setdefault(step, {})
        else:
            return f"--set {override}: '{step}' is inside a plain value"
    return _put(here, steps[-1], _parsed_value(text), override)


def is_place(step: str, items: Sequence[Any]) -> bool:
    """Whether a step of a path is the number of one of these items."""
    return step.isdecimal() and len(step) <= MOST_DIGITS and int(step) < len(items)


def _put(here: Any, key: str, value: Any, override: str) -> str | None:
    if isinstance(here, list):
        if not is_place(key, here):
            return f"--set {override}: no item '{key}' in a list of {len(here)}"
        here[int(key)] = value
    elif isinstance(here, dict):
        here[key] = value
    else:
        return f"--set {override}: '{key}' is inside a plain value"
    return None


def _parsed_value(text: str) -> Any:
    try:
        value = tomllib.loads(f"value = {text.strip()}")["value"]
        inline(value)
    except (ValueError, RecursionError):  # it is no TOML, or has thousands of digits or levels
        return text.strip()
    except TypeError:  # a date: no key is one, but a name may look like it
        return text.strip()
    return value
