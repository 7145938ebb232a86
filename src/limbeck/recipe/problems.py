"""Pydantic's errors as lines that users can act on: path, what is wrong, what was found, did you mean."""

import types
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from limbeck.errors import did_you_mean
from limbeck.kinds import AUTO

WANTED_A_WORD = ("literal_error", "string_type")


def problems_of(error: ValidationError, *, raw: Mapping[str, Any], root: type[BaseModel]) -> list[str]:
    """One line for each problem, in the order of the recipe's sections."""
    # A key that may have several types has an error for each of them: they are one problem.
    by_path: dict[str, list[ErrorDetails]] = {}
    for details in error.errors(include_url=False):
        path = _path_in_file(details["loc"], raw, is_missing=details["type"] == "missing")
        path += ["kind"] if details["type"] == "union_tag_invalid" else []
        by_path.setdefault(".".join(str(step) for step in path) or "recipe", []).append(details)
    return [
        f"{path}: {_complaint(findings, root=root)}"
        for path, findings in by_path.items()
        # If a list is given where a word is also possible, the problem is what is wrong inside the list.
        if findings[0]["type"] not in WANTED_A_WORD or not any(other.startswith(f"{path}.") for other in by_path)
    ]


def _complaint(findings: Sequence[ErrorDetails], *, root: type[BaseModel]) -> str:
    details = findings[0]
    match details["type"]:
        case "extra_forbidden":
            keys = _keys_at(root, details["loc"][:-1])
            known = did_you_mean(str(details["loc"][-1]), keys) or f" (known: {', '.join(keys)})"
            return f"unknown key{known}"
        case "missing":
            return "missing, but required"
        case "union_tag_not_found" | "union_tag_invalid":
            return _kind_wanted(details, root=root)
        case "value_error":
            return str(details["ctx"]["error"])
        case _:
            wishes = [_wish(finding, root=root) for finding in findings]
            wanted = " or ".join([wishes[0], *(wish.removeprefix("should be ") for wish in wishes[1:])])
            return f"{wanted} (found {_short(details['input'])}){_nearest_choice(details)}"


def _kind_wanted(details: ErrorDetails, *, root: type[BaseModel]) -> str:
    kinds = [str(_tag(model)) for model in _models_in(_annotation_at(root, details["loc"]))]
    kinds += [AUTO] if details["loc"][:1] == ("student",) and "candidates" in root.model_fields else []
    if details["type"] == "union_tag_not_found":
        return f"no `kind` given; known kinds: {', '.join(kinds)}"
    found = str(details["ctx"]["tag"])
    return f"unknown kind '{found}'{did_you_mean(found, kinds)}; known kinds: {', '.join(kinds)}"


def _wish(details: ErrorDetails, *, root: type[BaseModel]) -> str:
    """What pydantic expected, in TOML's terms."""
    match details["type"]:
        case "model_type" | "dict_type" | "model_attributes_type":
            return "should be a table"
        case "bool_type":
            return "should be true or false"
        case "too_short":
            least = details["ctx"]["min_length"]
            return "should not be empty" if least == 1 else f"should have at least {least} items"
        case "list_type":
            has_tables = _models_in(_step_into(_annotation_at(root, details["loc"]), 0))
            return "should be a list (of tables: [[double brackets]])" if has_tables else "should be a list"
        case _:
            message = details["msg"].removeprefix("Input ")
            return message[:1].lower() + message[1:]


def _nearest_choice(details: ErrorDetails) -> str:
    if details["type"] != "literal_error":
        return ""
    names = str(details["ctx"]["expected"]).replace(" or ", ", ").split(", ")
    return did_you_mean(str(details["input"]), [name.strip("'") for name in names])


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _path_in_file(loc: Sequence[int | str], raw: object, *, is_missing: bool) -> list[int | str]:
    """The location without the steps that pydantic adds for members of a union."""
    path: list[int | str] = []
    here = raw
    for depth, step in enumerate(loc):
        is_missing_key = is_missing and depth == len(loc) - 1
        if isinstance(here, Mapping) and isinstance(step, str):
            if step not in here and not is_missing_key:
                continue  # the tag of a discriminated union
            path.append(step)
            here = here.get(step)
        elif isinstance(here, list) and isinstance(step, int):
            path.append(step)
            here = here[step] if step < len(here) else None
        # else: pydantic names the member of a plain union, which is not a key of the file
    return path


def models_by_kind(root: type[BaseModel], loc: Sequence[int | str]) -> dict[str, type[BaseModel]]:
    """The section of each kind that the table at a location may have."""
    return {str(_tag(model)): model for model in _models_in(_annotation_at(root, loc))}


def _keys_at(root: type[BaseModel], loc: Sequence[int | str]) -> list[str]:
    """The keys of a section."""
    return sorted({name for model in _models_in(_annotation_at(root, loc)) for name in model.model_fields})


def _annotation_at(root: type[BaseModel], loc: Sequence[int | str]) -> Any:
    """The type at a location."""
    here: Any = root
    for step in loc:
        here = _step_into(here, step)
    return here


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
