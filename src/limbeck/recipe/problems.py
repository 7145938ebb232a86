"""Pydantic's findings as lines a person can act on: path, what is wrong, what was found, did you mean."""

import types
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from limbeck.errors import did_you_mean


def problems_of(error: ValidationError, *, raw: Mapping[str, Any], root: type[BaseModel]) -> list[str]:
    """One line for each problem, in the order of the recipe's sections."""
    return [_line(details, raw=raw, root=root) for details in error.errors(include_url=False)]


def _line(details: ErrorDetails, *, raw: Mapping[str, Any], root: type[BaseModel]) -> str:
    path = ".".join(str(step) for step in _path_in_file(details["loc"], raw))
    where = path or "recipe"
    match details["type"]:
        case "extra_forbidden":
            keys = _keys_at(root, details["loc"][:-1])
            known = did_you_mean(str(details["loc"][-1]), keys) or f" (known: {', '.join(sorted(keys))})"
            return f"{where}: unknown key{known}"
        case "missing":
            return f"{where}: missing; it has to be given"
        case "union_tag_not_found":
            return f"{where}: no `kind` given; known kinds: {_kinds(details)}"
        case "union_tag_invalid":
            found = str(details["ctx"]["tag"])
            kinds = _kinds(details).split(", ")
            return f"{where}.kind: unknown kind '{found}'{did_you_mean(found, kinds)}; known kinds: {', '.join(kinds)}"
        case "literal_error":
            expected = str(details["ctx"]["expected"])
            names = [name.strip(" '") for name in expected.replace(" or ", ", ").split(",")]
            hint = did_you_mean(str(details["input"]), names)
            return f"{where}: {details['input']!r} is not one of {expected}{hint}"
        case "value_error":
            return f"{where}: {details['ctx']['error']}"
        case _:
            message = details["msg"][:1].lower() + details["msg"][1:]
            return f"{where}: {message} (found {details['input']!r})"


def _kinds(details: ErrorDetails) -> str:
    if details["type"] == "union_tag_invalid":
        return str(details["ctx"]["expected_tags"]).replace("'", "")
    return "see docs/recipe.md"


def _path_in_file(loc: Sequence[int | str], raw: object) -> list[int | str]:
    """The location without the steps that pydantic adds for members of a union."""
    path: list[int | str] = []
    here = raw
    for depth, step in enumerate(loc):
        last = depth == len(loc) - 1
        if isinstance(here, Mapping) and isinstance(step, str):
            if step not in here and not last:
                continue  # the tag of a discriminated union
            path.append(step)
            here = here.get(step)
        elif isinstance(here, list) and isinstance(step, int):
            path.append(step)
            here = here[step] if step < len(here) else None
        # else: pydantic names the member of a plain union, which is no key of the file
    return path


def _keys_at(root: type[BaseModel], loc: Sequence[int | str]) -> list[str]:
    """The keys a section knows, found by walking the types along the location."""
    here: Any = root
    for step in loc:
        here = _step_into(here, step)
    models = _models_in(here)
    return sorted({name for model in models for name in model.model_fields})


def _step_into(annotation: Any, step: int | str) -> Any:
    if isinstance(step, int):
        for member in _members(annotation):
            if get_origin(member) is list:
                return get_args(member)[0]
        return annotation
    models = _models_in(annotation)
    tagged = [model for model in models if _tag(model) == step]
    if tagged and step not in models[0].model_fields:
        return tagged[0]
    for model in models:
        if step in model.model_fields:
            return model.model_fields[step].annotation
    return annotation


def _tag(model: type[BaseModel]) -> object:
    kind = model.model_fields.get("kind")
    values = get_args(kind.annotation) if kind and get_origin(kind.annotation) is Literal else ()
    return values[0] if values else None


def _members(annotation: Any) -> list[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _members(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return [inner for member in get_args(annotation) for inner in _members(member)]
    return [annotation]


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    return [member for member in _members(annotation) if isinstance(member, type) and issubclass(member, BaseModel)]
