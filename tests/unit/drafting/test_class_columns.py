"""Columns that together are the label."""

import pytest

from limbeck.drafting.column_profile import ColumnProfile
from limbeck.drafting.label_role import find_class_columns


def found(**columns: list[str]) -> tuple[list[str], bool] | None:
    profiles = [ColumnProfile(position, name, cells) for position, (name, cells) in enumerate(columns.items())]
    group = find_class_columns(profiles)
    return None if group is None else ([profile.name for profile in group.columns], group.is_multi_label)


def test_marks_under_well_known_names_are_several_labels() -> None:
    assert found(said=["a b", "c d", "e f"], toxic=["0", "1", "1"], noise=["0", "1", "0"]) == (["toxic", "noise"], True)


@pytest.mark.parametrize(("one", "other"), [("1", "0"), ("True", "False"), ("1.0", "0.0")])
def test_three_columns_of_marks_are_classes_and_one_mark_a_row_is_one_label(one: str, other: str) -> None:
    hot = {"north": [one, other, other], "east": [other, one, other], "west": [other, other, one]}

    assert found(**hot) == (["north", "east", "west"], False)
    assert found(**hot | {"west": [other, one, one]}) == (["north", "east", "west"], True)


@pytest.mark.parametrize(("one", "other"), [("yes", "no"), ("Y", "N"), ("t", "f")])
def test_columns_of_words_are_several_labels(one: str, other: str) -> None:
    marks = {"north": [one, other, other], "east": [other, one, other]}

    assert found(**marks, west=[other, other, one]) == (["north", "east", "west"], True)
    assert found(**marks, toxic=[other, one, one]) == (["north", "east", "toxic"], True)
    assert found(**marks) is None


def test_exported_columns_are_recognised_as_the_label_by_their_names() -> None:
    one = {"probability_no": ["0.2", "1"], "probability_yes": ["0.8", "0"]}

    assert found(said=["a b", "c d"], **one) == (["probability_no", "probability_yes"], False)
    assert found(**one | {"probability_yes": ["0.9", "1"]}) == (["probability_no", "probability_yes"], True)
    assert found(**one | {"probability_yes": ["3.5", "1"]}) is None


def test_two_columns_of_marks_with_unknown_names_are_not_classes() -> None:
    assert found(seen=["0", "1", "1"], kept=["1", "1", "0"]) is None


def test_probabilities_that_sum_to_one_are_one_label() -> None:
    assert found(left=["0.2", "0.9"], right=["0.8", "0.1"]) == (["left", "right"], False)
    assert found(left=["0.333", "1"], mid=["0.333", "0"], right=["0.333", "0"]) is not None


def test_probabilities_that_do_not_sum_to_one_are_several_labels() -> None:
    assert found(joy=["0.2", "0.9"], fear=["0.8", "0.7"]) == (["joy", "fear"], True)
    assert found(left=["0.2", "0.9"], right=["0.8", "0.7"]) is None


@pytest.mark.parametrize("name", ["label", "user_id", "confidence"])
def test_columns_with_names_of_other_things_are_not_classes(name: str) -> None:
    assert found(**{"toxic": ["0", "1"], name: ["1", "0"]}) is None


def test_a_column_with_a_single_value_is_not_a_class() -> None:
    assert found(toxic=["0", "1"], version=["1", "1"], beta=["0", "0"]) is None
