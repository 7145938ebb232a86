"""`[teacher]`: three kinds, an encoder where none is said; and what must fit the rest of the recipe."""

from typing import Any

import pytest

from limbeck.errors import RecipeInvalid
from limbeck.recipe.load import parse_recipe
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.teacher import EncoderTeacher, EnsembleTeacher, FileTeacher
from limbeck.recipe.toml import to_toml

FILE = {"kind": "file", "path": "said.csv"}
ENSEMBLE = {"kind": "ensemble", "members": [{"checkpoint": "a"}, FILE]}


def recipe(teacher: dict[str, Any], **sections: Any) -> Recipe:
    return parse_recipe({"corpus": {"train": "rows.csv"}, "teacher": teacher, **sections}, recipe="r.toml")


def test_a_teacher_without_a_kind_is_an_encoder() -> None:
    assert isinstance(recipe({"checkpoint": "a"}).teacher, EncoderTeacher)
    assert isinstance(recipe({}).teacher, EncoderTeacher)


def test_a_file_and_an_ensemble_are_told_by_their_kind() -> None:
    teacher = recipe(ENSEMBLE).teacher

    assert isinstance(recipe(FILE).teacher, FileTeacher)
    assert isinstance(teacher, EnsembleTeacher)
    assert [member.kind for member in teacher.members] == ["encoder", "file"]


@pytest.mark.parametrize("teacher", [{"checkpoint": "a"}, FILE, ENSEMBLE])
def test_a_written_recipe_is_read_back_the_same(teacher: dict[str, Any]) -> None:
    import tomllib

    before = recipe(teacher)

    assert parse_recipe(tomllib.loads(to_toml(before)), recipe="r.toml") == before


@pytest.mark.parametrize(
    ("teacher", "complaint"),
    [
        ({"kind": "fle", "path": "x"}, "teacher.kind: unknown kind 'fle' (did you mean 'file'?)"),
        ({"epocs": 3}, "teacher.epocs: unknown key (did you mean 'epochs'?)"),
        ({"kind": "file"}, "teacher.path: missing"),
        ({"kind": "ensemble", "members": [{}]}, "teacher.members"),
        ({"kind": "ensemble", "members": [{"epocs": 1}, {}]}, "teacher.members.0.epocs: unknown key"),
        ({"kind": "ensemble", "members": [{"kind": "ensemble"}, {}]}, "teacher.members.0.kind: unknown kind"),
        (
            {"kind": "ensemble", "members": [FILE, {**FILE, "uncovered": "skip"}]},
            "must agree on `uncovered`",
        ),
    ],
)
def test_a_wrong_teacher_is_told_where_and_what(teacher: dict[str, Any], complaint: str) -> None:
    with pytest.raises(RecipeInvalid) as raised:
        recipe(teacher)

    assert complaint in str(raised.value)


@pytest.mark.parametrize(
    ("sections", "complaint"),
    [
        ({"corpus": {"train": "rows.csv", "pair": "b"}}, "`pair` of a teacher that is a file"),
        ({"student": {"vocabulary": {"kind": "pieces"}}}, "pieces"),
        ({"labeling": {"features": "mean"}}, "labeling.features"),
    ],
)
def test_what_a_file_cannot_give_is_refused_before_anything_runs(sections: dict[str, Any], complaint: str) -> None:
    with pytest.raises(RecipeInvalid, match=complaint):
        parse_recipe({"corpus": {"train": "rows.csv"}, "teacher": FILE, **sections}, recipe="r.toml")


def test_an_encoder_among_the_members_lends_its_pieces() -> None:
    assert recipe(ENSEMBLE, student={"vocabulary": {"kind": "pieces"}}).student.vocabulary.kind == "pieces"


def test_the_paths_of_all_members_are_made_absolute() -> None:
    located = recipe(ENSEMBLE).located(lambda path, required=True: f"/there/{path}" if required else path)

    assert isinstance(located.teacher, EnsembleTeacher)
    assert located.teacher.members[1].path == "/there/said.csv"  # type: ignore[union-attr]  # the second is the file
