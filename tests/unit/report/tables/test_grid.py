"""Columns know what they hold, and those that nobody knows anything of are left out."""

from limbeck.report.tables.grid import Field, grid_of, named

NAME = Field(heading="name", text=lambda row: row["name"], values={"name": named("name")})
SIZE = Field(heading="size", text=lambda row: str(row.get("size")), values={"size": named("size")}, rank=1, legend="MB")


def test_a_path_of_keys_leads_as_far_as_there_is_something() -> None:
    assert named("a.b")({"a": {"b": 3}}) == 3
    assert named("a.b")({"a": None}) is None
    assert named("a.b")({}) is None


def test_a_column_that_no_entry_knows_is_left_out() -> None:
    unknown = grid_of("t", title="T", fields=[NAME, SIZE], entries=[{"name": "x", "size": None}, {"name": "y"}])
    known = grid_of("t", title="T", fields=[NAME, SIZE], entries=[{"name": "x", "size": 0}, {"name": "y"}])

    assert [field.heading for field in unknown.fields] == ["name"]
    assert [line.cells for line in known.lines] == [("x", "0"), ("y", "None")]
    assert known.lines[1].values == {"name": "y", "size": None}


def test_a_selection_of_columns_keeps_their_legends_alone() -> None:
    grid = grid_of("t", title="T", fields=[NAME, SIZE], entries=[{"name": "x", "size": 1}], caption="what it is")

    assert grid.explained == "what it is; MB"
    assert grid.at([0]).explained == "what it is"
    assert grid.at([1]).lines[0].cells == ("1",)
