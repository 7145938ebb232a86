"""Which column is the label, or which columns are, and how labels are written there: guessed from names and values."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from limbeck.drafting.class_columns import ClassColumns, find_class_columns
from limbeck.drafting.sketch import Sketch
from limbeck.errors import OneClassOnly


@dataclass(frozen=True)
class LabelRole:
    """Positions of the label column, or of one column for each class."""

    positions: tuple[int, ...]
    is_multi_label: bool = False
    separator: str | None = None  # where one column holds several labels as text
    prefix: str = ""  # of the names of several columns; what follows it is the name of the class

    @classmethod
    def of(cls, sketch: Sketch) -> "LabelRole":
        """The column alone, with several labels a row if its cells look like it."""
        return cls((sketch.position,), sketch.has_several_labels, sketch.separator)


def guess_label(sketches: Sequence[Sketch], *, path: Path) -> LabelRole | None:
    """The likeliest label among the columns; None if there is none."""
    sketches = [sketch for sketch in sketches if not sketch.is_split]
    possible = [sketch for sketch in sketches if sketch.may_be_label() or sketch.has_several_labels]
    named = [sketch for sketch in sketches if sketch.is_named_label and sketch.lists is None]
    if named and not any(sketch in possible for sketch in named) and len(named[0].values) == 1:
        (only,) = named[0].values
        raise OneClassOnly(path=path.name, label=only, rows=len(named[0].cells))
    likeliest = min(possible, key=Sketch.label_rank, default=None)
    group = find_class_columns(sketches)
    if group is not None and _outdoes(group, likeliest):
        positions = tuple(sketch.position for sketch in group.columns)
        return LabelRole(positions, group.is_multi_label, prefix=group.prefix)
    return None if likeliest is None else LabelRole.of(likeliest)


def _outdoes(group: ClassColumns, likeliest: Sketch | None) -> bool:
    """Whether the columns are the label rather than the one column that would be."""
    if likeliest is None or likeliest in group.columns:
        return True
    return group.is_certain and not likeliest.is_named_label and "label" not in likeliest.name.lower()
