"""The recipes that come with the package: complete ones for a data set, and methods for other recipes to extend."""

from dataclasses import dataclass
from importlib import resources
from pathlib import Path

METHODS, GENERAL = "methods", "general"  # folders next to the recipes


@dataclass(frozen=True)
class BuiltinRecipe:
    """A recipe file of the package; its first comment line describes it, its second has the command that runs it."""

    name: str
    summary: str
    command: str
    path: Path


def builtin_recipes() -> list[BuiltinRecipe]:
    """The recipes that can be run, sorted by name."""
    return [_describe(path) for path in sorted(_folder().glob("*.toml"))]


def builtin_methods() -> list[BuiltinRecipe]:
    """Student and objective without data: `extends = "spkd"` in a recipe, or `limbeck run sst2-spkd`."""
    return [_describe(path) for path in sorted((_folder() / METHODS).glob("*.toml"))]


def builtin_general() -> list[BuiltinRecipe]:
    """Those of `limbeck pretrain`, which made the students that come with the package."""
    return [_describe(path) for path in sorted((_folder() / GENERAL).glob("*.toml"))]


def data_and_method(name: str) -> tuple[BuiltinRecipe, BuiltinRecipe] | None:
    """The recipe and the method that a name such as "sst2-small-tang" combines."""
    recipes = {recipe.name: recipe for recipe in builtin_recipes()}
    for method in builtin_methods():
        data = recipes.get(name.removesuffix(f"-{method.name}"))
        if data is not None and data.name != name:
            return data, method
    return None


def _folder() -> Path:
    return Path(str(resources.files("limbeck.recipe"))) / "builtin"


def _describe(path: Path) -> BuiltinRecipe:
    lines = path.read_text(encoding="utf-8").splitlines()
    comments = [line.lstrip("# ").strip() for line in lines[:2] if line.startswith("#")]
    summary, command = (*comments, "", "")[:2]
    return BuiltinRecipe(name=path.stem, summary=summary, command=command, path=path)
