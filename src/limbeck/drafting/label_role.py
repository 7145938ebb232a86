"""Which column is the label, or which columns are, and how labels are written there: guessed from names and values."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from limbeck.corpus.label_cells import MARK_WORDS, WORDS
from limbeck.drafting.sketch import ID_NAME, Sketch
from limbeck.errors import OneClassOnly

KNOWN_CLASSES = {
    *("toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate", "identity_attack", "hate", "offensive"),
    *("anger", "disgust", "fear", "joy", "sadness", "surprise", "love", "optimism", "pessimism", "trust", "neutral"),
    *("positive", "negative", "spam", "profanity", "sexual", "violence", "sarcasm"),
}
NOT_CLASSES = {"confidence", "score", "weight", "probability", "length"}
MARKS = ({"0", "1"}, {"0.0", "1.0"}, {"true", "false"}, {"yes", "no"}, {"y", "n"}, {"t", "f"})
EXPORT_PREFIX = "probability_"  # of the columns that `limbeck labels --export` and `predict` write
MOST_SPELLINGS = 12  # "true", " True" …
ROUNDING = 0.02  # by which the probabilities of a row may miss the sum 1


@dataclass(frozen=True)
class ClassColumns:
    """Columns that are the label together."""

    columns: list[Sketch]
    is_multi_label: bool
    is_certain: bool  # probabilities that sum to one in every row are nothing else
    prefix: str = ""  # which the names of all columns have before the name of the class


def find_class_columns(sketches: Sequence[Sketch]) -> ClassColumns | None:
    """The columns, if there are three or more, or two with well-known names or whose values sum to one."""
    if exported := _exported(sketches):
        is_multi_label = not _sum_to_one(exported)
        return ClassColumns(exported, is_multi_label=is_multi_label, is_certain=True, prefix=EXPORT_PREFIX)
    fitting = [sketch for sketch in sketches if _may_be_class(sketch)]
    shares = [sketch for sketch in fitting if _holds_shares(sketch)]
    if len(shares) > 1 and _sum_to_one(shares):
        return ClassColumns(shares, is_multi_label=False, is_certain=True)
    groups = [*([sketch for sketch in fitting if _holds(sketch, marks)] for marks in MARKS), shares]
    largest = max(groups, key=len)
    if len(largest) < (2 if any(sketch.name.lower() in KNOWN_CLASSES for sketch in largest) else 3):
        return None
    is_multi_label = _needs_several(largest) or not _sum_to_one(largest)
    return ClassColumns(largest, is_multi_label=is_multi_label, is_certain=False)


def _exported(sketches: Sequence[Sketch]) -> list[Sketch]:
    """The columns of probabilities that Limbeck itself writes; none unless all by such names hold them."""
    named = [sketch for sketch in sketches if sketch.name.removeprefix(EXPORT_PREFIX) not in ("", sketch.name)]
    return named if len(named) > 1 and all(_numbers(sketch) is not None for sketch in named) else []


def _needs_several(columns: Sequence[Sketch]) -> bool:
    """Whether the cells are words that are read as marks only where a row may have several labels."""
    words = {cell.strip().lower() for sketch in columns for cell in sketch.distinct}
    return bool(words & (MARK_WORDS.keys() - WORDS.keys()))


def _may_be_class(sketch: Sketch) -> bool:
    """A column by the name of a label is the label alone."""
    return not (sketch.is_named_label or ID_NAME.search(sketch.name) or sketch.name.lower() in NOT_CLASSES)


def _holds(sketch: Sketch, marks: set[str]) -> bool:
    """Whether these two and nothing else are its values; a column where all are the same tells no class."""
    return len(sketch.distinct) < MOST_SPELLINGS and {cell.strip().lower() for cell in sketch.distinct} == marks


def _holds_shares(sketch: Sketch) -> bool:
    """Whether its cells are numbers from 0 to 1 and not only these two."""
    numbers = _numbers(sketch)
    return numbers is not None and any(0 < number < 1 for number in numbers)


def _numbers(sketch: Sketch) -> list[float] | None:
    """Its values, if all are numbers from 0 to 1."""
    try:
        numbers = [float(cell) for cell in sketch.distinct]
    except ValueError:
        return None
    return numbers if all(0 <= number <= 1 for number in numbers) else None


def _sum_to_one(columns: Sequence[Sketch]) -> bool:
    numbers = [[_number(cell) for cell in sketch.cells] for sketch in columns]
    return all(abs(sum(row) - 1) <= ROUNDING for row in zip(*numbers, strict=True))


def _number(cell: str) -> float:
    value = MARK_WORDS.get(cell.strip().lower())
    return float(cell) if value is None else value


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
