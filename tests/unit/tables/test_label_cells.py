"""Reading the label cells of a row."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from limbeck.errors import RowMalformed
from limbeck.recipe.corpus import CorpusSection
from limbeck.tables.label_cells import LabelReader

PATH = Path("rows.jsonl")


def reader(**section: Any) -> LabelReader:
    options = CorpusSection.model_validate({"train": "rows.jsonl", **section})
    columns = options.label if isinstance(options.label, list) else [options.label]
    return LabelReader(options, path=PATH, columns=[str(column) for column in columns])


@pytest.mark.parametrize(
    ("cell", "labels"),
    [
        ("food|price", ("food", "price")),
        (" price | food|| price ", ("food", "price")),
        ("food", ("food",)),
        ("", ()),
        (" | ", ()),
        (None, ()),
        (3, ("3",)),
        (["price", "food", "price"], ("food", "price")),
        (["a|b"], ("a|b",)),
        ([4.0, 2], ("2", "4")),
        ([" ", "x "], ("x",)),
        ([], ()),
    ],
)
def test_several_labels_of_a_cell_are_a_set(cell: object, labels: tuple[str, ...]) -> None:
    assert reader(multi_label=True).read([cell], number=1) == labels


@pytest.mark.parametrize(("separator", "cell"), [(";", "a; b"), (", ", "a, b"), (" ", "b  a"), ("||", "a||b")])
def test_the_separator_is_that_of_the_recipe(separator: str, cell: str) -> None:
    assert reader(multi_label=True, label_separator=separator).read([cell], number=1) == ("a", "b")


@pytest.mark.parametrize("cell", [["a", None], [["a"]], {"a": 1}])
def test_an_item_of_a_list_that_is_not_a_label_is_reported_with_its_row(cell: object) -> None:
    with pytest.raises(RowMalformed) as caught:
        reader(multi_label=True).read([cell], number=7)

    assert caught.value.row == 7


def test_a_list_of_zeros_and_ones_is_not_taken_for_class_names() -> None:
    with pytest.raises(RowMalformed, match="columns"):
        reader(multi_label=True).read([[0, 1, 0, 0]], number=1)

    assert reader(multi_label=True).read([[0, 1]], number=1) == ("0", "1")


def test_a_list_without_multi_label_is_reported_with_the_key_to_set() -> None:
    with pytest.raises(RowMalformed, match="multi_label = true"):
        reader().read([["a", "b"]], number=1)


@pytest.mark.parametrize(
    ("cells", "label"),
    [
        ((0.2, 0.5, 0.3), "b"),
        (("0.2", " 0.1 ", "7e-1"), "c"),
        ((False, True, False), "b"),
        (("True", "false", "FALSE"), "a"),
        ((-3, -2.5, -9), "b"),
        ((Decimal("0.1"), 0, 0), "a"),
    ],
)
def test_the_column_with_the_largest_value_is_the_label(cells: tuple[object, ...], label: str) -> None:
    columns = reader(label=["a", "b", "c"])

    assert columns.read(cells, number=1) == label
    assert columns.ties == 0


def test_the_first_of_equal_values_is_taken_and_counted() -> None:
    columns = reader(label=["a", "b", "c"])

    assert [columns.read(cells, number=1) for cells in ((0, 0, 0), (0.1, 0.4, 0.4), (1, 0, 0))] == ["a", "b", "a"]
    assert columns.ties == 2


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        ((1, 0, 1), ("a", "c")),
        (("0", "0", "0"), ()),
        ((0.5, 0.49, "0.51"), ("a", "c")),
        ((True, "true", False), ("a", "b")),
    ],
)
def test_with_several_labels_half_or_more_counts(cells: tuple[object, ...], labels: tuple[str, ...]) -> None:
    assert reader(label=["a", "b", "c"], multi_label=True).read(cells, number=1) == labels


@pytest.mark.parametrize("cell", ["", "maybe", None, "nan", "inf", float("nan"), [1], 10**400])
@pytest.mark.parametrize("multi_label", [False, True])
def test_a_value_that_is_not_a_finite_number_is_reported_with_row_and_column(cell: object, multi_label: bool) -> None:
    with pytest.raises(RowMalformed, match="'b'") as caught:
        reader(label=["a", "b"], multi_label=multi_label).read([0.5, cell], number=12)

    assert caught.value.row == 12
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(("yes", "no"), [("yes", "no"), (" Y", "N "), ("T", "f"), ("TRUE", "False")])
def test_words_are_marks_if_a_row_may_have_several_labels(yes: str, no: str) -> None:
    assert reader(label=["a", "b", "c"], multi_label=True).read([yes, no, yes], number=1) == ("a", "c")


def test_yes_is_not_a_value_that_can_be_compared() -> None:
    with pytest.raises(RowMalformed, match="'b' holds 'yes'"):
        reader(label=["a", "b"]).read([0.5, "yes"], number=12)


@pytest.mark.parametrize(
    ("cell", "labels"),
    [
        ('["price", "food"]', ("food", "price")),
        (" ['price', 'food'] ", ("food", "price")),
        ("['price','food']", ("food", "price")),
        ("[3, 12.0]", ("12", "3")),
        ('["a|b"]', ("a|b",)),
        ("[]", ()),
        ("[food]|[price]", ("[food]", "[price]")),
        ("['food' 'price']", ("['food' 'price']",)),
        ("[x", ("[x",)),
    ],
)
def test_a_list_written_as_text_is_a_list(cell: str, labels: tuple[str, ...]) -> None:
    assert reader(multi_label=True).read([cell], number=1) == labels


@pytest.mark.parametrize("cell", ['["a", null]', "[0, 1, 0]"])
def test_a_list_written_as_text_follows_the_rules_of_lists(cell: str) -> None:
    with pytest.raises(RowMalformed):
        reader(multi_label=True).read([cell], number=1)


def test_an_empty_label_is_reported_with_the_key_that_allows_it() -> None:
    with pytest.raises(RowMalformed, match=r"(?s)the label is empty.*multi_label = true") as caught:
        reader().read([" "], number=3)

    assert caught.value.row == 3


def test_a_column_name_becomes_a_class_name_unchanged() -> None:
    assert reader(label=[" a", "b"], multi_label=True).read([1, 1], number=1) == (" a", "b")
