"""Errors are built from facts and say what is wrong, what was found and what to do."""

import ast
import copy
import importlib
import inspect
import pickle
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pytest

import limbeck
from limbeck import errors
from limbeck.drafting.run import RecipeInTheWay
from limbeck.errors import (
    ColumnMissing,
    FileMissing,
    LabelsDoNotCover,
    LimbeckError,
    RecipeInvalid,
    did_you_mean,
    in_shell,
    some,
)
from limbeck.recipe.load import RecipeNotFound

SRC = Path(str(limbeck.__file__)).parent
SAMPLES: dict[object, Any] = {
    str: "sample", int: 3, float: 0.5, bool: True, Path: Path("folder"), bytes: b"\xff\xfe",
}  # fmt: skip


def error_classes() -> list[type[LimbeckError]]:
    """Every error of the package, wherever it is defined: those whose base is a known error, and so on."""
    bases, homes = {}, {}
    for path in sorted(SRC.rglob("*.py")):
        module = ".".join(("limbeck", *path.relative_to(SRC).with_suffix("").parts)).removesuffix(".__init__")
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                bases[node.name] = {base.id for base in node.bases if isinstance(base, ast.Name)}
                homes[node.name] = module
    known = {"LimbeckError"}
    while more := {name for name, its_bases in bases.items() if its_bases & known} - known:
        known |= more
    return [getattr(importlib.import_module(homes[name]), name) for name in sorted(known)]


CLASSES = error_classes()
WITH_FACTS = [error for error in CLASSES if "__init__" in vars(error) and error is not LimbeckError]


def sample(annotation: object) -> Any:
    """Some value of this type."""
    if get_origin(annotation) in (Sequence, Iterable):
        return ["first", "second"]
    if get_origin(annotation) in (Mapping, dict):
        return {"first": SAMPLES[get_args(annotation)[1]]}
    if get_origin(annotation) is tuple:
        return tuple(map(sample, get_args(annotation)))
    if get_origin(annotation) is UnionType:
        return sample(get_args(annotation)[0])
    return SAMPLES[annotation]


def built(error: type[LimbeckError]) -> LimbeckError:
    """The error with made-up facts."""
    facts = {name: annotation for name, annotation in get_type_hints(error.__init__).items() if name != "return"}
    return error(**{name: sample(annotation) for name, annotation in facts.items()})


def test_there_are_errors_to_check() -> None:
    assert len(WITH_FACTS) > 15
    assert len({error.__name__ for error in CLASSES}) == len(CLASSES)


def test_a_message_is_what_is_wrong_then_what_was_found_then_what_to_do() -> None:
    error = LimbeckError("no file 'x'", found="looked in:\n  here", advice="Correct the path.")

    assert str(error) == "no file 'x'\n  looked in:\n    here\nCorrect the path."
    assert (error.what, error.found, error.advice) == ("no file 'x'", "looked in:\n  here", "Correct the path.")


def test_parts_that_are_not_given_leave_no_empty_lines() -> None:
    assert str(LimbeckError("no file 'x'")) == "no file 'x'"
    assert str(LimbeckError("no file 'x'", advice="Correct the path.")) == "no file 'x'\nCorrect the path."


def test_errors_are_built_from_keyword_facts_alone() -> None:
    kinds = {
        error.__name__: {fact.kind for fact in inspect.signature(error).parameters.values()} for error in WITH_FACTS
    }

    assert {name for name, found in kinds.items() if found != {inspect.Parameter.KEYWORD_ONLY}} == set()


def test_what_is_wrong_is_one_lower_case_line_and_every_error_has_advice() -> None:
    samples = [built(error) for error in WITH_FACTS]

    assert [error for error in samples if error.what[0].isupper() or error.what.endswith(".")] == []
    assert [error for error in samples if "\n" in error.what] == []
    assert [error for error in samples if not error.advice or error.advice.startswith(" ")] == []


def test_errors_keep_their_class_message_and_facts_when_they_are_pickled_or_copied() -> None:
    for error in map(built, WITH_FACTS):
        for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            assert type(again) is type(error)
            assert str(again) == str(error)
            assert vars(again) == vars(error)


def test_every_error_says_what_it_is_for() -> None:
    assert [error.__name__ for error in CLASSES if not vars(error).get("__doc__")] == []


def test_the_tree_at_the_top_of_the_file_names_every_error_in_it() -> None:
    words = (errors.__doc__ or "").replace("·", " ").split()
    classes = {
        name for name, thing in vars(errors).items() if inspect.isclass(thing) and issubclass(thing, LimbeckError)
    }

    assert classes - {*words} == set()


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

    assert "did you mean 'sst2-bilstm'?" in error.what
    assert error.name == "sst2-bilstn"


@pytest.mark.parametrize(("problems", "count"), [(["a"], "1 problem in"), (["a", "b"], "2 problems in")])
def test_recipe_invalid_counts_and_lists_its_problems(problems: list[str], count: str) -> None:
    error = RecipeInvalid(recipe="mine.toml", problems=problems)

    assert error.what.startswith(f"mine.toml: {count}")
    assert error.found.splitlines() == problems
    assert error.problems == tuple(problems)


def test_only_the_first_of_thousands_of_problems_are_listed() -> None:
    error = RecipeInvalid(recipe="mine.toml", problems=[f"key_{number}: {'x' * 10_000}" for number in range(5_000)])

    assert "5000 problems" in error.what
    assert len(error.problems) == 5_000
    assert len(str(error)) < 20_000
    assert "… and 4,980 more" in str(error)


def test_only_the_first_of_thousands_of_columns_are_listed() -> None:
    columns = [f"column_{number}" for number in range(50_000)]
    error = ColumnMissing(path=Path("a.csv"), column="text", key="corpus.text", columns=columns)

    assert len(error.columns) == 50_000
    assert len(str(error)) < 1_000
    assert "… and 49,980 more" in str(error)


def test_a_name_is_not_offered_for_itself() -> None:
    assert did_you_mean("pipe.toml", ["pipe.toml"]) == ""
    assert did_you_mean("pipe.toml", ["pipe.toml", "pipes.toml"]) == " (did you mean 'pipes.toml'?)"


def test_file_missing_says_where_it_looked_and_which_file_is_close() -> None:
    error = FileMissing(path="data/trian.csv", looked_in=[Path("one"), Path("two")], beside=["train.csv"])

    assert "did you mean 'train.csv'?" in error.what
    assert error.found.splitlines()[1:] == ["  one", "  two"]


def test_labels_do_not_cover_keeps_every_missing_id() -> None:
    error = LabelsDoNotCover(labels=Path("labels"), missing=[f"r{number}" for number in range(2000)], total=5000)

    assert len(error.missing) == 2000
    assert "2,000 of 5,000 rows" in error.what
    assert "r0, r1, r2 … and 1,997 more" in error.found


def test_names_in_commands_are_as_a_shell_takes_them() -> None:
    assert in_shell(Path("runs/sst2")) == "runs/sst2"
    assert in_shell("my reviews.csv") == "'my reviews.csv'"

    error = RecipeInTheWay(
        recipe="my reviews.toml", data="my reviews.csv", reason="x", options=["--transfer", "a b.txt"]
    )

    assert "limbeck run 'my reviews.toml';" in error.advice
    assert "limbeck init 'my reviews.csv' --transfer 'a b.txt' --out NAME.toml" in error.advice
