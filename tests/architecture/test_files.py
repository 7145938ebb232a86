"""Files stay readable: short, named for what is in them, and each says in one line what it is for."""

import ast
from pathlib import Path

import pytest

import limbeck

SRC = Path(str(limbeck.__file__)).parent
PATHS = sorted(SRC.rglob("*.py"))
MODULES = [pytest.param(path, id=path.relative_to(SRC).as_posix()) for path in PATHS]
ROOMS = sorted(path.parent for path in SRC.glob("*/__init__.py"))
NOT_STAGES = {
    "checks",
    "pipeline",
    "recipe",
    "artifacts",
    "text",
    "models",
    "training",
    "runtime",
    "tables",
    "demo",
    "cli",
    "errors",
    "serving",
    "bench",
}
STAGE_ROOMS = [pytest.param(room, id=room.name) for room in ROOMS if room.name not in NOT_STAGES]

MOST_LINES = 400
NAMES_THAT_SAY_NOTHING = {"util", "utils", "helper", "helpers", "common", "misc", "base"}
ONE_EXCEPTION = SRC / "recipe" / "base.py"  # holds one class, the base of all sections


@pytest.mark.parametrize("path", MODULES)
def test_no_file_is_too_long_to_read(path: Path) -> None:
    line_count = len(path.read_text(encoding="utf-8").splitlines())

    assert line_count <= MOST_LINES


@pytest.mark.parametrize("path", MODULES)
def test_every_module_says_in_its_first_line_what_it_is_for(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""

    assert docstring.partition("\n")[0].strip(), "the first line of the docstring becomes the tree in the README"


@pytest.mark.parametrize("path", MODULES)
def test_names_say_what_is_inside(path: Path) -> None:
    steps = {*path.relative_to(SRC).with_suffix("").parts}

    assert path == ONE_EXCEPTION or not steps & NAMES_THAT_SAY_NOTHING


@pytest.mark.parametrize("room", STAGE_ROOMS)
def test_a_stage_room_says_what_it_reads_and_writes(room: Path) -> None:
    docstring = ast.get_docstring(ast.parse((room / "__init__.py").read_text(encoding="utf-8"))) or ""

    assert "Reads:" in docstring
    assert "Writes:" in docstring


@pytest.mark.parametrize("room", STAGE_ROOMS)
def test_a_stage_room_has_its_front_door_in_run_py(room: Path) -> None:
    assert (room / "run.py").is_file()


def test_every_folder_of_modules_is_a_package() -> None:
    folders = {path.parent for path in PATHS}

    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []
