"""`--set a.b.c=value`: changes to a recipe before it is validated."""

import tomllib
from collections.abc import Sequence
from datetime import date, time
from typing import Any

from limbeck.errors import RecipeInvalid


def apply_overrides(raw: dict[str, Any], overrides: Sequence[str], *, recipe: str) -> dict[str, Any]:
    """A copy of the raw recipe with each `path=value` put in; the value is read as TOML, else as text."""
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
            if not step.isdigit() or int(step) >= len(here):
                return f"--set {override}: no item '{step}' in a list of {len(here)}"
            here = here[int(step)]
        elif isinstance(here, dict):
            here = here.setdefault(step, {})
        else:
            return f"--set {override}: '{step}' is inside a plain value"
    return _put(here, steps[-1], _value(text), override)


def _put(here: Any, key: str, value: Any, override: str) -> str | None:
    if isinstance(here, list):
        if not key.isdigit() or int(key) >= len(here):
            return f"--set {override}: no item '{key}' in a list of {len(here)}"
        here[int(key)] = value
    elif isinstance(here, dict):
        here[key] = value
    else:
        return f"--set {override}: '{key}' is inside a plain value"
    return None


def _value(text: str) -> Any:
    try:
        value = tomllib.loads(f"value = {text.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()
    return text.strip() if isinstance(value, date | time) else value  # no key takes a date; a name may look like one
