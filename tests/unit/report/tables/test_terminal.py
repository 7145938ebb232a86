"""Columns are left out by rank, never broken; a matrix too wide for its names is numbered."""

import io

import pytest
from rich.console import Console

from limbeck.report.tables.grid import Field, Grid, grid_of, named
from limbeck.report.tables.terminal import fitting, print_grid, total_width


def grid(*widths_and_ranks: tuple[int, int]) -> Grid:
    """A table with columns of these widths and ranks."""
    fields = [
        Field(heading="x" * width, text=lambda _: "1", values={f"column{number}": lambda _: 1}, rank=rank)
        for number, (width, rank) in enumerate(widths_and_ranks)
    ]
    return grid_of("t", title="T", fields=fields, entries=[{"role": "student"}])


@pytest.mark.parametrize(
    ("width", "kept"),
    [(100, [0, 1, 2, 3]), (34, [0, 1, 2, 3]), (33, [0, 1, 3]), (22, [0, 3]), (5, [0])],
)
def test_the_lowest_ranks_are_kept_in_the_order_of_the_table(width: int, kept: list[int]) -> None:
    assert fitting(grid((10, 0), (10, 2), (1, 3), (10, 1)), width=width, gap=1) == kept


def test_a_small_column_does_not_jump_the_queue() -> None:
    assert fitting(grid((10, 0), (30, 1), (2, 2)), width=20, gap=1) == [0]


def test_chinese_takes_twice_the_room() -> None:
    fields = [Field(heading="n", text=lambda row: row["n"], values={"n": named("n")})]

    assert total_width(grid_of("t", title="T", fields=fields, entries=[{"n": "老师"}]), gap=1) == 4


def test_a_matrix_is_numbered_where_its_names_do_not_fit() -> None:
    names = ["a-rather-long-name", "another-long-name"]
    fields = [
        Field(heading="", text=lambda row: row["n"], values={"n": named("n")}, is_words=True),
        *(Field(heading=name, text=lambda _: "+1.0", values={name: lambda _: 0.01}) for name in names),
    ]
    matrix = grid_of("m", title="M", fields=fields, entries=[{"n": name} for name in names])

    lines = {}
    for width in (60, 36):
        file = io.StringIO()
        print_grid(matrix, Console(file=file, width=width), numbered=True)
        lines[width] = file.getvalue().splitlines()

    assert lines[60][1].split() == names
    assert lines[36][1].split() == ["1", "2"]
    assert lines[36][3].split() == ["1", names[0], "+1.0", "+1.0"]
