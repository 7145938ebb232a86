"""Files stay readable: short, named for what is in them, and each says in one line what it is for."""

import ast
from collections import defaultdict
from pathlib import Path

import limbeck

SRC = Path(str(limbeck.__file__)).parent
PATHS = sorted(SRC.rglob("*.py"))
TREES = {path.relative_to(SRC).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in PATHS}
STAGE_ROOMS = {
    *("corpus", "transfer", "augmentation", "pretraining", "teacher", "labeling", "distillation", "export", "judging"),
}

MOST_LINES = 400
NAMES_THAT_SAY_NOTHING = {"util", "utils", "helper", "helpers", "common", "misc", "base"}
ONE_EXCEPTION = "recipe/base.py"  # holds one class, the base of all sections


def test_no_file_is_too_long_to_read() -> None:
    lengths = {str(path.relative_to(SRC)): len(path.read_text(encoding="utf-8").splitlines()) for path in PATHS}

    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def test_every_module_says_in_its_first_line_what_it_is_for() -> None:
    silent = [place for place, tree in TREES.items() if not (ast.get_docstring(tree) or "").partition("\n")[0].strip()]

    assert silent == [], "the first line of the docstring becomes the list in docs/files.md"


def test_names_say_what_is_inside() -> None:
    vague = [place for place in TREES if {*Path(place).with_suffix("").parts} & NAMES_THAT_SAY_NOTHING]

    assert vague == [ONE_EXCEPTION]


def test_a_stage_room_says_what_it_reads_and_writes() -> None:
    front_doors = {room: ast.get_docstring(TREES[f"{room}/__init__.py"]) or "" for room in STAGE_ROOMS}

    assert [room for room, text in front_doors.items() if "Reads:" not in text or "Writes:" not in text] == []


def test_a_stage_room_has_its_front_door_in_run_py() -> None:
    assert [room for room in STAGE_ROOMS if f"{room}/run.py" not in TREES] == []


def test_every_folder_of_modules_is_a_package() -> None:
    folders = {path.parent for path in PATHS}

    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_a_class_name_has_one_meaning() -> None:
    places = defaultdict(list)
    for place, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(place)

    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_text_on_terminals_is_plain() -> None:
    """Markup in one line would be read in every name and file name that the line shows."""
    reading_markup = [place for place in TREES if "rich.markup" in (SRC / place).read_text(encoding="utf-8")]
    own_consoles = [
        place
        for place, tree in TREES.items()
        if any(
            isinstance(node, ast.Call) and getattr(node.func, "id", "").endswith("Console") for node in ast.walk(tree)
        )
    ]

    assert reading_markup == []
    assert own_consoles == ["progress.py"], "others take limbeck.progress.plain_console"
