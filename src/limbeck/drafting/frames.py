"""Data frames as files of rows, for `limbeck.run(frame)`: kept beside the run, where a recipe can name them."""

import re
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from limbeck.errors import DataError, PathUnusable

NAME = re.compile(r"[\w-]+")


class DataFrame(Protocol):
    """A table in memory, such as a DataFrame of pandas or polars, or a table of pyarrow."""

    @property
    def columns(self) -> Any: ...


class FrameUnreadable(DataError):
    """An object that was given as data is neither a path nor a table."""

    def __init__(self, *, found: str, reason: str) -> None:
        super().__init__(
            f"cannot read a {found} as rows",
            found=reason,
            advice="Give a path, or a DataFrame in which every column is of one type; or save it as csv and give that.",
        )


def keep_frame(frame: DataFrame, *, name: str, folder: Path) -> Path:
    """Write the table to NAME.parquet in this folder; the path. The same table gives the same file."""
    if not NAME.fullmatch(name):
        advice = "Give a name of letters, digits, - and _: it names the recipe and the run."
        raise PathUnusable(path=name, reason="a run of a data frame cannot have that name", advice=advice)
    table = _table_of(frame)
    path = folder / f"{name}.parquet"
    folder.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f"{path.name}.partial")
    pq.write_table(table.replace_schema_metadata(None), scratch)
    scratch.replace(path)
    return path


def _table_of(frame: Any) -> pa.Table:
    """By what pandas, polars and others offer; an index of pandas is no column."""
    try:
        if hasattr(frame, "iloc"):
            return pa.Table.from_pandas(frame, preserve_index=False)
        if hasattr(frame, "to_arrow"):
            return frame.to_arrow()
        return pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise FrameUnreadable(found=type(frame).__name__, reason=reason) from None
