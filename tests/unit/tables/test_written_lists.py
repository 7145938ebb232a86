"""Lists written as text in a cell."""

import pytest

from limbeck.tables.label_cells import LONGEST_WRITTEN, written_list


@pytest.mark.parametrize(
    ("cell", "items"),
    [
        ('["food", "price"]', ("food", "price")),
        ("""['food', "chef's"]""", ("food", "chef's")),
        ("[1, 2.5]", (1, 2.5)),
        (" [] ", ()),
    ],
)
def test_lists_of_json_and_of_python_are_read(cell: str, items: tuple[object, ...]) -> None:
    assert written_list(cell) == items


@pytest.mark.parametrize(
    "cell",
    [
        *("", "food", "[", "[food]", "['food' 'price']", "['a'], ['b']", "[print()]", "['\\d']", "[\x00]"),
        "[" * 5_000 + "]" * 5_000,
        f"[{'1, ' * LONGEST_WRITTEN}1]",
    ],
)
def test_a_cell_that_is_not_a_list_stays_text(cell: str) -> None:
    assert written_list(cell) is None
