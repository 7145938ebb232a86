"""Which copy ships, and which candidate people will use."""

from collections.abc import Callable
from pathlib import Path

from limbeck.artifacts.candidate import Candidate, main_place
from limbeck.artifacts.model_folder import ModelFolder

NOWHERE = ModelFolder(Path("nowhere"))


def candidates(*roles: str) -> list[Candidate]:
    """One of each role."""
    return [Candidate(role, role, exports={}, shipped=NOWHERE, students={}) for role in roles]


def test_the_copy_that_ships_is_known_by_its_graph_whatever_seeds_are_called(
    make_model: Callable[..., ModelFolder],
) -> None:
    exports = {7: make_model("seven", weight=1.0), 3: make_model("three", weight=2.0)}

    shipped = Candidate("bilstm", "student", exports, shipped=make_model("copy", weight=2.0), students={})
    foreign = Candidate("bilstm", "student", exports, shipped=make_model("other", weight=9.0), students={})

    assert (shipped.shipped_place, foreign.shipped_place) == (1, None)


def test_people_use_the_int8_file_or_else_the_student() -> None:
    assert main_place(candidates("baseline", "student", "export")) == 2
    assert main_place(candidates("baseline", "student")) == 1
    assert main_place(candidates("baseline")) is None
