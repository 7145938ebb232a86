"""Every kind of teacher has a row with all that a kind must give; adding one takes the files that the guide names."""

import re
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

import pytest

import limbeck
from limbeck.artifacts.teacher_folder import TeacherFacts, TeacherFolder, save_teacher_facts
from limbeck.recipe.base import Section
from limbeck.recipe.teacher import AnyTeacher, CustomTeacher
from limbeck.recipe.traits import TeacherTraits
from limbeck.teacher.kinds import CUSTOM, ENCODER, KINDS, TeacherAdvice, TeacherKind

SRC = Path(str(limbeck.__file__)).parent
ROOT = Path(__file__).resolve().parents[2]
MAY_BE_EMPTY = {"cost_unknown"}  # of a teacher whose size and speed are known


def kind_in(section: type[Section]) -> str:
    """What `kind` is in such a table."""
    (kind,) = get_args(section.model_fields["kind"].annotation)
    return str(kind)


def lacking(rows: Mapping[str, TeacherKind[Any]], sections: tuple[type[Section], ...], docs: str) -> list[str]:
    """ "kind: what it lacks", for every kind of the recipe."""
    return [f"{kind_in(section)}: {what}" for section in sections for what in _lacks(rows, section, docs)]


def _lacks(rows: Mapping[str, TeacherKind[Any]], section: type[Section], docs: str) -> list[str]:
    can_guess = kind_in(section) != "none"
    found = [f"section.{name}" for name in ("near_chance",) if can_guess and name not in section.model_fields]
    if not isinstance(getattr(section, "traits", None), TeacherTraits):
        found.append("section.traits")
    kind = kind_in(section)
    if f'kind = "{kind}"' not in docs:
        found.append("docs/teacher.md")
    row = rows.get(kind)
    if row is None:
        return [*found, "a row in limbeck.teacher.kinds"]
    if row.section is not section:
        found.append("section")
    entries = [field.name for field in fields(TeacherKind) if field.name not in ("section", "advice")]
    found += [name for name in entries if not callable(getattr(row, name))]
    advice = [field.name for field in fields(TeacherAdvice) if field.name not in MAY_BE_EMPTY]
    return [*found, *(f"advice.{name}" for name in advice if not getattr(row.advice, name, ""))]


def docs() -> str:
    return (ROOT / "docs" / "teacher.md").read_text(encoding="utf-8") + 'kind = "encoder"'  # which is left out there


def test_no_kind_lacks_anything() -> None:
    assert lacking(KINDS, get_args(AnyTeacher), docs()) == []
    assert KINDS.keys() == {kind_in(section) for section in get_args(AnyTeacher)}


def test_what_a_kind_lacks_is_named() -> None:
    missing: Any = None
    incomplete = replace(CUSTOM, open=missing, ready=missing, advice=replace(CUSTOM.advice, better=""))

    assert lacking({"custom": incomplete}, (CustomTeacher,), docs()) == [
        *("custom: open", "custom: ready", "custom: advice.better")
    ]
    assert lacking({}, (CustomTeacher,), "") == ["custom: docs/teacher.md", "custom: a row in limbeck.teacher.kinds"]
    with pytest.raises(TypeError, match="'inputs'"):
        TeacherKind(section=CustomTeacher, prepare=CUSTOM.prepare, open=CUSTOM.open)  # type: ignore[call-arg]


def test_a_section_that_says_nothing_of_its_traits_is_named() -> None:
    class Bare(Section):
        kind: Literal["custom"]

    assert "custom: section.traits" in lacking({"custom": CUSTOM}, (Bare,), docs())


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_known_of_a_prepared_teacher_agrees_with_its_row(kind: str, tmp_path: Path) -> None:
    save_teacher_facts(tmp_path, TeacherFacts(name="it", labels=["a", "b"], dev_accuracy=None, kind=kind))
    teacher, row = TeacherFolder(tmp_path), KINDS[kind]

    assert teacher.is_encoder == row.traits.has_tokens
    assert teacher.is_runnable == (not row.advice.cost_unknown and kind != "ensemble")


def steps_of_the_guide() -> str:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return guide.partition("## Adding a teacher")[2].partition("\n## ")[0]


@pytest.mark.parametrize("kind", ["custom", "linear"])  # older kinds do more than a new one has to
def test_the_guide_names_the_files_that_a_kind_takes(kind: str) -> None:
    paths = re.findall(r"`((?:src|tests|docs)/[^`]+)`", steps_of_the_guide())
    named = [path.replace("<kind>", kind) for path in paths]
    section = re.compile(rf"\b{KINDS[kind].section.__name__}\b")

    assert [path for path in named if not (ROOT / path).is_file()] == []
    uses = [path for path in SRC.rglob("*.py") if section.search(path.read_text(encoding="utf-8"))]
    assert {path.relative_to(ROOT).as_posix() for path in uses} == {path for path in named if path.startswith("src/")}


def test_what_the_guide_says_of_a_prepared_teacher_is_there() -> None:
    named = re.findall(r"`TeacherFolder\.(\w+)`", steps_of_the_guide())

    assert named
    assert [name for name in named if not hasattr(TeacherFolder, name)] == []


def test_an_encoder_is_fine_tuned_unless_it_is_taken_as_it_is() -> None:
    section = ENCODER.section()

    assert ENCODER.is_fine_tuned(section)
    assert not ENCODER.is_fine_tuned(section.model_copy(update={"train": "none"}))
