"""The names that `import limbeck` offers: few, all of them real, all of them documented."""

import inspect

import pytest

import limbeck

MOST_NAMES = 14


def test_there_are_few_public_names() -> None:
    assert 1 <= len(limbeck.__all__) <= MOST_NAMES
    assert len(set(limbeck.__all__)) == len(limbeck.__all__)


@pytest.mark.parametrize("name", getattr(limbeck, "__all__", []))
def test_a_public_name_is_there_and_documented(name: str) -> None:
    thing = getattr(limbeck, name)

    if callable(thing):
        assert (inspect.getdoc(thing) or "").strip(), f"limbeck.{name} has no docstring"


def test_public_names_are_shown_by_dir() -> None:
    assert set(limbeck.__all__) <= set(dir(limbeck))


def test_an_unknown_name_is_an_attribute_error() -> None:
    name = "no_such_name"

    with pytest.raises(AttributeError, match=name):
        getattr(limbeck, name)
