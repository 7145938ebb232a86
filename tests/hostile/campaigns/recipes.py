"""Recipes that somebody has changed: each loads, or is refused with a LimbeckError."""

import copy
import json
import random
import string
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from limbeck.errors import LimbeckError
from limbeck.recipe.builtin import builtin_methods, builtin_recipes
from limbeck.recipe.load import load_recipe
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.toml import to_toml
from tests.hostile.campaigns.campaign import Campaign
from tests.hostile.campaigns.trials import Trial, campaign

ROWS = "rows.csv"
LOADS, REFUSED = CLEAN = "loads", "refused"
NUMBERS = [0, 1, -1, 2**31, 2**63, -(2**64), 10**400, 1e308, 1e-308, float("nan"), float("inf"), -0.0, 0.5, 1e400]
TEXTS = [
    *("", " ", "\x00", "\x1b[31m", "\u202e", "é" * 50, "../" * 50, "a" * 20_000, "package:", "package:os/../x"),
    *("~nobody", "~", "/", "**/*", "[a", "*" * 99, "http://x", "none", "auto", "nan", "os:system", "²", "9" * 5000),
    "\ud7ff\uffff",
    *(ROWS, "{}", "%s", "package:\x00/x", "a\nb", "utf-7", "rot13", "undefined", "teacher", "..", "."),
]
VALUES: list[Any] = [*NUMBERS, *TEXTS, True, False, [], {}, [[]], [0], [""], {"kind": "custom"}, [{}], {"a": {"b": 1}}]
OVERRIDES = ["=", "a", "a.b=1", "teacher.kind=", "student.0.kind=1", "losses.²=1", "corpus.train.x=1", ".=1", "a=[[[["]


def recipes(count: int, *, seed: int = 0) -> Campaign:
    """Change and load so many recipes."""
    return campaign("recipes", recipe_trial, count, seed=seed, clean=CLEAN)


def recipe_trial(chance: random.Random, folder: Path) -> tuple[str, Trial]:
    """A changed recipe, to be loaded and written again."""
    (folder / ROWS).write_text("text,label\nfine,1\nbad,0\n", encoding="utf-8")
    text, what = changed(chance.choice(_bases()), chance)
    recipe = folder / "changed.toml"
    recipe.write_bytes(text)
    overrides = [chance.choice(OVERRIDES)] if chance.random() < 0.1 else []
    locate = chance.random() < 0.5
    return f"{what}, {overrides}", lambda: outcome_of(recipe, overrides, locate=locate)


def outcome_of(recipe: Path, overrides: list[str], *, locate: bool) -> str:
    """What comes of loading a recipe."""
    try:
        loaded = load_recipe(recipe, overrides=overrides, locate=locate)
        to_toml(loaded.recipe)
    except LimbeckError as error:
        return REFUSED if str(error) else "an error without a message"
    return LOADS


@cache
def _bases() -> list[dict[str, Any]]:
    """The recipes and methods that ship, and one with every default written out; all on rows that are there."""
    least = {"corpus": {"train": ROWS}, "teacher": {"checkpoint": "none"}}
    shipped = [tomllib.loads(one.path.read_text(encoding="utf-8")) for one in (*builtin_recipes(), *builtin_methods())]
    bases = [least, tomllib.loads(to_toml(Recipe.model_validate(least))), *shipped]
    for base in bases[2:]:
        base["corpus"] = {**base.get("corpus", {}), "train": ROWS}
        for split in ("dev", "test"):
            base["corpus"].pop(split, None)
    return bases


def changed(base: dict[str, Any], chance: random.Random) -> tuple[bytes, str]:
    """The recipe as TOML after a few changes, and what they were."""
    recipe, what = copy.deepcopy(base), []
    for _ in range(chance.choice([0, 1, 1, 2, 4])):
        what.append(_change_table(recipe, chance))
    data = "".join(f"{_key(key)} = {_value(value)}\n" for key, value in recipe.items()).encode("utf-8", "surrogatepass")
    if chance.random() < 0.3:
        data, how = _change_bytes(data, chance)
        what.append(how)
    return data, "; ".join(what)


def _change_table(recipe: dict[str, Any], chance: random.Random) -> str:
    """Change a value, a key or a type somewhere inside."""
    here, key = _place(recipe, chance)
    if here is None:
        return "nothing"
    how = chance.choice(["value", "value", "value", "remove", "rename", "wrap", "deepen", "copy"])
    match how:
        case "value":
            here[key] = chance.choice(VALUES)
        case "remove":
            del here[key]
        case "rename" if isinstance(here, dict):
            here["".join(chance.choices(string.printable, k=chance.randint(0, 20)))] = here.pop(key)
        case "deepen":
            for _ in range(chance.choice([1, 5, 40, 90])):
                here[key] = {"a": here[key]} if chance.random() < 0.5 else [here[key]]
        case "copy" if isinstance(here, dict):
            recipe[str(key)] = copy.deepcopy(here[key])
        case _:
            here[key] = [here[key]] * chance.choice([1, 2, 1000])
    return f"{how} {str(key)[:30]!r}"


def _place(recipe: dict[str, Any], chance: random.Random) -> tuple[Any, Any]:
    """A table or list somewhere inside, and one of its keys; None for one that is empty."""
    here: Any = recipe
    while keys := list(here) if isinstance(here, dict) else list(range(len(here))):
        key = chance.choice(keys)
        if not isinstance(here[key], dict | list) or chance.random() < 0.3:
            return here, key
        here = here[key]
    return None, None


def _change_bytes(data: bytes, chance: random.Random) -> tuple[bytes, str]:
    at = chance.randrange(len(data) + 1)
    nasty = [b"\0", b"\xff", b"[", b"]", b"=", b'"""', b"'", b"\n[a.b]\n", b"." * 50, b"[" * 6000, b"{a=" * 3000]
    nasty += [b"a." * 6000, b"\xef\xbb\xbf", b"1979-05-27T07:32:00Z", b"0x" + b"f" * 5000, b"1" * 5000, b"\r", b"#"]
    how = chance.choice(["insert", "insert", "cut", "flip", "encode"])
    match how:
        case "insert":
            sign = chance.choice(nasty)
            return data[:at] + sign + data[at:], f"{sign[:10]!r} at {at}"
        case "cut":
            return data[:at], f"cut at {at}"
        case "flip":
            return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :], f"flip at {at}"
        case _:
            return data.decode("utf-8", "replace").encode("utf-16"), "utf-16"


def _key(key: str) -> str:
    return json.dumps(key).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    """As TOML, on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, default=str)
