"""The recipes that come with the package."""

from dataclasses import dataclass
from importlib import resources
from pathlib import Path


@dataclass(frozen=True)
class BuiltinRecipe:
    """A recipe file of the package; its first comment line says what it is, its second the command that runs it."""

    name: str
    summary: str
    command: str
    path: Path


def builtin_recipes() -> list[BuiltinRecipe]:
    """All of them, by name."""
    folder = Path(str(resources.files("limbeck.recipe"))) / "builtin"
    return [_describe(path) for path in sorted(folder.glob("*.toml"))]


def _describe(path: Path) -> BuiltinRecipe:
    lines = path.read_text(encoding="utf-8").splitlines()
    comments = [line.lstrip("# ").strip() for line in lines[:2] if line.startswith("#")]
    summary, command = (*comments, "", "")[:2]
    return BuiltinRecipe(name=path.stem, summary=summary, command=command, path=path)
