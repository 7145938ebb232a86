"""Columns and tables of pandas, Polars and Arrow as rows, and answers as columns and tables of the same library."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from limbeck.errors import NothingToPredict, some
from limbeck.runtime.probabilities import Floats
from limbeck.runtime.row import Row

Library = Literal["pandas", "polars", "pyarrow"]
TYPES: dict[Library, dict[str, bool]] = {  # of each library: what is read, and whether it is a table
    "pandas": {"Series": False, "DataFrame": True},
    "polars": {"Series": False, "DataFrame": True},
    "pyarrow": {"Array": False, "ChunkedArray": False, "Table": True, "RecordBatch": True},
}
NAME = "label"  # of a column of answers


class Table(Protocol):
    """A DataFrame of pandas or Polars."""

    @property
    def columns(self) -> Any: ...


@dataclass(frozen=True)
class GivenFrame:
    """A column or a table that was given in place of a list of rows."""

    data: Any
    library: Library
    is_table: bool

    def rows(self, *, pair: bool, folder: Path) -> Iterable[Row]:
        """Its texts, or pairs of texts. Raises NothingToPredict if a table does not say which columns these are."""
        if not self.is_table:
            return _cells(self.data)
        names = _names_of_texts(self._columns(), pair=pair, folder=folder, type=type(self.data).__name__)
        texts = [_cells(self._column(name)) for name in names]
        return zip(*texts, strict=True) if pair else texts[0]

    def labels(self, found: Sequence[Any], *, name: str = NAME) -> Any:
        """A column of answers; one of pandas has the index of what was given."""
        module: Any = sys.modules[self.library]
        match self.library:
            case "pandas":
                return module.Series(found, index=self.data.index, name=name, dtype=None if len(found) else object)
            case "polars":
                return module.Series(name, found, dtype=None if len(found) else module.String)
            case "pyarrow":
                return module.array(found, None if len(found) else module.string())

    def probabilities(self, found: Floats, labels: Sequence[str]) -> Any:
        """A table with a column for each class."""
        module: Any = sys.modules[self.library]
        match self.library:
            case "pandas":
                return module.DataFrame(found, index=self.data.index, columns=list(labels))
            case "polars":
                return module.DataFrame(found, schema=list(labels))
            case "pyarrow":
                return module.table(dict(zip(labels, map(module.array, found.T.copy()), strict=True)))

    def _columns(self) -> list[Any]:
        return list(self.data.schema.names if self.library == "pyarrow" else self.data.columns)

    def _column(self, name: Any) -> Any:
        return self.data.column(name) if self.library == "pyarrow" else self.data[name]


def frame_of(rows: object) -> GivenFrame | None:
    """What was given, if it is a column or a table of one of these libraries; None for any other iterable."""
    for kind in type(rows).__mro__:
        library = kind.__module__.partition(".")[0]
        if library in TYPES:
            known: Library = library
            if kind.__name__ in TYPES[known]:
                return GivenFrame(rows, known, TYPES[known][kind.__name__])
            if kind.__name__ == "LazyFrame":
                reason = "predict takes a table in memory, not a LazyFrame"
                raise NothingToPredict(reason=reason, advice="Give it what its collect() gives.")
    return None


def _cells(column: Any) -> Iterable[Any]:
    """Python's own values: pandas has `tolist`, Polars `to_list`, Arrow `to_pylist`."""
    convert = getattr(column, "tolist", None) or getattr(column, "to_list", None)
    cells: Iterable[Any] = convert() if convert else column.to_pylist()
    return cells


def _names_of_texts(columns: list[Any], *, pair: bool, folder: Path, type: str) -> list[Any]:
    """The columns that the model reads: text and pair, or those of its training, or all if there are just so many."""
    from limbeck.runtime.run_recipe import as_in_training

    trained = as_in_training(folder)
    usual: list[list[Any]] = [["text", "pair"], [trained.text, trained.pair]]
    for names in [wanted[: 1 + pair] for wanted in usual]:
        if all(name is not None and columns.count(name) == 1 for name in names):
            return names
    if len(columns) == 1 + pair and len(set(columns)) == len(columns):
        return columns
    by_name = "table[['question', 'answer']]" if pair else "table['review']"
    reads = "two columns" if pair else "one column"
    raise NothingToPredict(
        reason=f"this {type} has the columns {some(columns, most=5)}, and the model reads {reads} of texts",
        advice=f"Give it the column{'s' if pair else ''} to read: predict({by_name}).",
    )
