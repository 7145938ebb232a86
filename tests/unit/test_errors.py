"""Errors are built from facts and say what is wrong, what was found and what to do."""

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from limbeck import errors
from limbeck.errors import (
    FileMissing,
    LabelsDoNotCover,
    LimbeckError,
    RecipeInTheWay,
    RecipeInvalid,
    RecipeNotFound,
    did_you_mean,
    in_shell,
    some,
)

CLASSES = [thing for thing in vars(errors).values() if inspect.isclass(thing) and issubclass(thing, LimbeckError)]
WITH_FACTS = [error for error in CLASSES if "__init__" in vars(error)]
SAMPLES: dict[object, Any] = {
    str: "sample", int: 3, float: 0.5, bool: True, Path: Path("folder"), bytes: b"\xff\xfe",
}  # fmt: skip


def sample(annotation: object) -> Any:
    """Some value of this type."""
    if get_origin(annotation) is Sequence:
        return ["first", "second"]
    if get_origin(annotation) is Mapping:
        return {"first": SAMPLES[get_args(annotation)[1]]}
    return SAMPLES[annotation]


def built(error: type[LimbeckError]) -> LimbeckError:
    """The error with made-up facts."""
    facts = {name: annotation for name, annotation in get_type_hints(error.__init__).items() if name != "return"}
    return error(**{name: sample(annotation) for name, annotation in facts.items()})


def test_there_are_errors_to_check() -> None:
    assert len(WITH_FACTS) > 15


@pytest.mark.parametrize("error", WITH_FACTS)
def test_an_error_is_built_from_keyword_facts_alone(error: type[LimbeckError]) -> None:
    facts = list(inspect.signature(error).parameters.values())

    assert {fact.kind for fact in facts} == {inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize("error", WITH_FACTS)
def test_a_message_starts_with_what_is_wrong_and_ends_with_what_to_do(error: type[LimbeckError]) -> None:
    first, *rest = str(built(error)).splitlines()

    assert not first[0].isupper()
    assert not first.endswith(".")
    assert rest, "the last line says what to do next"
    assert not rest[-1].startswith(" ")


@pytest.mark.parametrize("error", CLASSES)
def test_the_tree_at_the_top_of_the_file_names_every_error(error: type[LimbeckError]) -> None:
    words = (errors.__doc__ or "").replace("·", " ").split()

    assert error.__name__ in words
    assert error.__doc__


def test_a_close_name_is_offered() -> None:
    assert did_you_mean("epoch", ["epochs", "seeds"]) == " (did you mean 'epochs'?)"


def test_nothing_is_offered_when_nothing_is_close() -> None:
    assert did_you_mean("zebra", ["epochs", "seeds"]) == ""
    assert did_you_mean("zebra", []) == ""


def test_some_shows_the_first_three_and_counts_the_rest() -> None:
    assert some(["a", "b", "c"]) == "a, b, c"
    assert some([str(number) for number in range(1003)]) == "0, 1, 2 … and 1,000 more"
    assert some([1, 2, 3], most=1) == "1 … and 2 more"
    assert some([]) == ""


def test_recipe_not_found_offers_a_close_builtin_recipe() -> None:
    error = RecipeNotFound(name="sst2-bilstn", builtin=["sst2-bilstm", "demo"])

    assert "did you mean 'sst2-bilstm'?" in str(error)
    assert error.name == "sst2-bilstn"


@pytest.mark.parametrize(("problems", "count"), [(["a"], "1 problem in"), (["a", "b"], "2 problems in")])
def test_recipe_invalid_counts_and_lists_its_problems(problems: list[str], count: str) -> None:
    error = RecipeInvalid(recipe="mine.toml", problems=problems)

    assert str(error).startswith(f"mine.toml: {count} the recipe\n  a\n")
    assert error.problems == tuple(problems)


def test_file_missing_says_where_it_looked_and_what_stands_there() -> None:
    error = FileMissing(path="data/trian.csv", looked_in=[Path("one"), Path("two")], beside=["train.csv"])

    assert "did you mean 'train.csv'?" in str(error)
    assert "    one\n    two\n" in str(error)


def test_labels_do_not_cover_keeps_every_missing_id() -> None:
    error = LabelsDoNotCover(labels=Path("labels"), missing=[f"r{number}" for number in range(2000)], total=5000)

    assert len(error.missing) == 2000
    assert str(error).startswith("2,000 of 5,000 rows")
    assert "r0, r1, r2 … and 1,997 more" in str(error)


def test_names_in_commands_are_as_a_shell_takes_them() -> None:
    assert in_shell(Path("runs/sst2")) == "runs/sst2"
    assert in_shell("my reviews.csv") == "'my reviews.csv'"

    message = str(RecipeInTheWay(recipe="my reviews.toml", data="my reviews.csv", reason="x", transfer=["a b.txt"]))

    assert "limbeck run 'my reviews.toml';" in message
    assert "limbeck init 'my reviews.csv' --transfer 'a b.txt' --out NAME.toml" in message
