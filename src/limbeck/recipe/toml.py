"""Writing a recipe as TOML; reading is the standard library's."""

import json
from collections.abc import Mapping
from typing import Any

from limbeck.recipe.recipe import Recipe
from limbeck.recipe.teacher import EnsembleTeacher


def to_toml(recipe: Recipe) -> str:
    """The recipe with every default written out; loading it gives the same recipe.

    Teachers that differ by their seed alone are one `[teacher]` with `seeds`, where a change is one for all of them.
    """
    tables = recipe.model_dump(mode="json", exclude_none=True)
    if isinstance(recipe.teacher, EnsembleTeacher) and (one := recipe.teacher.one_with_seeds):
        tables["teacher"] = one.model_dump(mode="json", exclude_none=True)
    return "\n".join(_table(tables, prefix="")).strip() + "\n"


def _table(table: Mapping[str, Any], *, prefix: str) -> list[str]:
    plain = {key: value for key, value in table.items() if not _is_table(value) and not _is_tables(value)}
    lines = [f"{_key(key)} = {_value(value)}" for key, value in plain.items()]
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


def _value(value: object) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)  # numbers and booleans are written alike in JSON and TOML
