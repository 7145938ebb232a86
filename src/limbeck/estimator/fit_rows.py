"""What `fit` is given, as the rows of a run: texts or pairs, classes of any type, and texts without labels."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.errors import NothingToPredict
from limbeck.runtime.data_frames import frame_of
from limbeck.runtime.row import Row, checked_rows, refuse_no_list

PLAIN_NAME = re.compile(r"\w[\w .+-]*\w|\w")  # no class of such a name could be taken for several
NOWHERE = Path("nowhere")  # no run's recipe says which columns of a table these are


@dataclass(frozen=True)
class FitRows:
    """Texts, or pairs of texts, with the number of the class of each, or with a mark for each class that it has."""

    rows: list[Row]
    numbers: npt.NDArray[np.int64]  # (rows), or of several labels a row (rows, classes): 1 or 0
    classes: npt.NDArray[Any]  # sorted, as scikit-learn has them; of several labels, in the order of the columns

    @property
    def is_multi_label(self) -> bool:
        """Whether a row may have several labels, or none."""
        return self.numbers.ndim == 2

    @property
    def targets(self) -> npt.NDArray[Any]:
        """As other estimators take them."""
        return self.numbers if self.is_multi_label else np.asarray(self.classes[self.numbers])

    @property
    def is_pair(self) -> bool:
        """Whether a row has two texts."""
        return not isinstance(self.rows[0], str)

    @property
    def names(self) -> list[str]:
        """What a run calls the classes: as they are, or by number where that could be misread."""
        names = [str(name) for name in self.classes.tolist()]
        if len({name.casefold() for name in names}) == len(names) and all(map(PLAIN_NAME.fullmatch, names)):
            return names
        return [f"class {number}" for number in range(len(names))]

    def columns(self) -> dict[str, list[Any]]:
        """The table of a run."""
        names = self.names
        if self.is_multi_label:
            labels: list[Any] = [[names[place] for place in np.flatnonzero(marks)] for marks in self.numbers]
        else:
            labels = [names[number] for number in self.numbers.tolist()]
        return {**columns_of_rows(self.rows), "label": labels}


def fit_rows(X: Any, y: Any) -> FitRows:
    """Raises ValueError for rows and labels that do not fit together, and NothingToPredict for what is no text."""
    rows = rows_of(X)
    labels = y.toarray() if hasattr(y, "toarray") else np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim not in (1, 2):
        raise ValueError(f"y must have a class, or a row of marks, for each row, and has the shape {labels.shape}")
    if len(labels) != len(rows):
        raise ValueError(f"X has {len(rows):,} rows, and y {len(labels):,}")
    if labels.ndim == 2:
        return _several(rows, labels, names=getattr(y, "columns", None))
    if labels.dtype.kind == "f" and not (np.isfinite(labels) & (labels == np.floor(labels))).all():
        raise ValueError("Unknown label type: continuous values in y; a classifier takes classes")
    if labels.dtype.kind == "O" and any(label is None or label != label for label in labels.tolist()):
        raise ValueError("y has missing values")
    classes, numbers = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y has {len(classes)} class, and a classifier needs two")
    return FitRows(rows, numbers, classes)


def _several(rows: list[Row], marks: npt.NDArray[Any], *, names: Any) -> FitRows:
    """Rows with any number of labels; the columns of a table name the classes."""
    if not np.isin(marks, (0, 1)).all():
        raise ValueError("Unknown label type: y has several columns, so each must hold 0 and 1, or False and True")
    numbers = marks.astype(np.int64)
    classes = np.arange(marks.shape[1]) if names is None else np.asarray(list(names))
    if without := classes[numbers.sum(axis=0) == 0].tolist():
        raise ValueError(f"no row of y has the class {without[0]!r}")
    return FitRows(rows, numbers, classes)


def rows_of(X: Any) -> list[Row]:
    """Texts or pairs: whatever the first row is, all are."""
    frame = frame_of(X)
    if frame is not None:
        shape = getattr(X, "shape", None) or (0, getattr(X, "num_columns", 1))
        is_pair = frame.is_table and shape[-1] == 2
        found: list[Any] = list(frame.rows(pair=is_pair, folder=NOWHERE))
    else:
        refuse_no_list(X, pair=False)
        found = list(X)
        if getattr(X, "ndim", 1) == 2 and X.shape[1] == 1:  # a column, as transformers of scikit-learn give it
            found = [cell for (cell,) in found]
        is_pair = bool(found) and not isinstance(found[0], str)
    if not found:
        raise ValueError("X has no rows")
    return checked_rows(found, pair=is_pair)


def transfer_of(transfer: Any, *, is_pair: bool) -> tuple[list[Path], list[Row]]:
    """Files and texts without labels: a path, a column of texts, or a list of paths and texts.

    In a list a str is a text and a Path a file; a single str is the path of a file.
    """
    if transfer is None:
        return [], []
    if isinstance(transfer, str | Path):
        return [Path(transfer)], []
    frame = frame_of(transfer)
    given: Iterable[Any] = frame.rows(pair=is_pair, folder=NOWHERE) if frame else transfer
    if isinstance(given, Mapping | bytes) or not isinstance(given, Iterable):
        advice = "Give a list of texts, or the path of a file."
        raise NothingToPredict(reason=f"transfer is a {type(given).__name__}", advice=advice)
    each = list(given)
    files = [one for one in each if isinstance(one, Path)]
    return files, checked_rows([one for one in each if not isinstance(one, Path)], pair=is_pair)


def columns_of_rows(rows: Sequence[Row]) -> dict[str, list[str]]:
    """`text`, and for pairs `pair`."""
    if isinstance(rows[0], str):
        return {"text": [str(row) for row in rows]}
    return {"text": [row[0] for row in rows], "pair": [row[1] for row in rows]}
