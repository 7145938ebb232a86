"""Guesses from names and values which column is the label, or which columns are, and how the labels are written."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from limbeck.drafting.column_profile import ID_NAME, ColumnProfile
from limbeck.errors import OneClassOnly
from limbeck.tables.label_cells import MARK_WORDS, WORDS

KNOWN_CLASSES = {
    *("toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate", "identity_attack", "hate", "offensive"),
    *("anger", "disgust", "fear", "joy", "sadness", "surprise", "love", "optimism", "pessimism", "trust", "neutral"),
    *("positive", "negative", "spam", "profanity", "sexual", "violence", "sarcasm"),
}
NOT_CLASSES = {"confidence", "score", "weight", "probability", "length"}
MARKS = ({"0", "1"}, {"0.0", "1.0"}, {"true", "false"}, {"yes", "no"}, {"y", "n"}, {"t", "f"})
EXPORT_PREFIX = "probability_"  # of the columns that `limbeck labels --export` and `predict` write
LEAST_ROWS_OF_MANY = 4  # rows of a label in the mean, where the name of its column says nothing
MOST_SPELLINGS = 12  # "true", " True" …
ROUNDING = 0.02  # by which the probabilities of a row may differ from the sum 1


@dataclass(frozen=True)
class ClassColumns:
    """Columns that together are the label."""

    columns: list[ColumnProfile]
    is_multi_label: bool
    is_certain: bool  # e.g. probabilities that sum to one in every row
    prefix: str = ""  # of all column names, before the name of the class


def find_class_columns(profiles: Sequence[ColumnProfile]) -> ClassColumns | None:
    """The class columns, if there are three or more, or two with well-known names or whose values sum to one."""
    if exported := _exported(profiles):
        is_multi_label = not _sum_to_one(exported)
        return ClassColumns(exported, is_multi_label=is_multi_label, is_certain=True, prefix=EXPORT_PREFIX)
    fitting = [profile for profile in profiles if _may_be_class(profile)]
    shares = [profile for profile in fitting if _holds_shares(profile)]
    if len(shares) > 1 and _sum_to_one(shares):
        return ClassColumns(shares, is_multi_label=False, is_certain=True)
    groups = [*([profile for profile in fitting if _holds(profile, marks)] for marks in MARKS), shares]
    largest = max(groups, key=len)
    if len(largest) < (2 if any(profile.name.lower() in KNOWN_CLASSES for profile in largest) else 3):
        return None
    is_multi_label = _needs_several(largest) or not _sum_to_one(largest)
    return ClassColumns(largest, is_multi_label=is_multi_label, is_certain=False)


def _exported(profiles: Sequence[ColumnProfile]) -> list[ColumnProfile]:
    """The columns of probabilities that Limbeck itself writes; empty unless all columns with such names hold them."""
    named = [profile for profile in profiles if profile.name.removeprefix(EXPORT_PREFIX) not in ("", profile.name)]
    return named if len(named) > 1 and all(_numbers(profile) is not None for profile in named) else []


def _needs_several(columns: Sequence[ColumnProfile]) -> bool:
    """Whether the cells are words that are read as marks only if a row may have several labels."""
    words = {cell.strip().lower() for profile in columns for cell in profile.distinct}
    return bool(words & (MARK_WORDS.keys() - WORDS.keys()))


def _may_be_class(profile: ColumnProfile) -> bool:
    """A column with the name of a label is the complete label, not one class of it."""
    return not (profile.is_named_label or ID_NAME.search(profile.name) or profile.name.lower() in NOT_CLASSES)


def _holds(profile: ColumnProfile, marks: set[str]) -> bool:
    """Whether its values are exactly these two; a column with a single value is not a class."""
    return len(profile.distinct) < MOST_SPELLINGS and {cell.strip().lower() for cell in profile.distinct} == marks


def _holds_shares(profile: ColumnProfile) -> bool:
    """Whether its cells are numbers from 0 to 1, not only 0 and 1."""
    numbers = _numbers(profile)
    return numbers is not None and any(0 < number < 1 for number in numbers)


def _numbers(profile: ColumnProfile) -> list[float] | None:
    """Its values, if all are numbers from 0 to 1."""
    try:
        numbers = [float(cell) for cell in profile.distinct]
    except ValueError:
        return None
    return numbers if all(0 <= number <= 1 for number in numbers) else None


def _sum_to_one(columns: Sequence[ColumnProfile]) -> bool:
    numbers = [[_number(cell) for cell in profile.cells] for profile in columns]
    return all(abs(sum(row) - 1) <= ROUNDING for row in zip(*numbers, strict=True))


def _number(cell: str) -> float:
    value = MARK_WORDS.get(cell.strip().lower())
    return float(cell) if value is None else value


def find_scores(classes: Sequence[str], profiles: Sequence[ColumnProfile]) -> dict[str, ColumnProfile]:
    """The column of numbers that each class has: p_neg and p_pos, or neg_score and pos_score; empty if one has none.

    All have the same words before and after the class, and hold finite numbers, not only 0 and 1: those are labels.
    """
    names = {profile.name.casefold(): profile for profile in profiles if profile.name}
    folded = [name.strip().casefold() for name in classes]
    if len(set(folded)) < 2:
        return {}
    for name in (name for name in names if folded[0] in name):
        at = name.rindex(folded[0])
        before, after = name[:at], name[at + len(folded[0]) :]
        found = [names.get(before + one + after) for one in folded]
        columns = [column for column in found if column is not None and _are_scores(column)]
        if len(columns) == len(classes) and any(not _is_whole(cell) for column in columns for cell in column.distinct):
            return dict(zip(classes, columns, strict=True))
    return {}


def _are_scores(profile: ColumnProfile) -> bool:
    try:
        return all(math.isfinite(float(cell)) for cell in profile.distinct)
    except ValueError:
        return False


def _is_whole(cell: str) -> bool:
    return float(cell).is_integer()


@dataclass(frozen=True)
class LabelRole:
    """Positions of the label column, or of one column for each class."""

    positions: tuple[int, ...]
    is_multi_label: bool = False
    separator: str | None = None  # if one column holds several labels as text
    prefix: str = ""  # of the names of several columns, before the name of the class
    is_score: bool = False  # it holds numbers

    @classmethod
    def of(cls, profile: ColumnProfile) -> "LabelRole":
        """A single column, with several labels a row, or with scores, if its cells look like it."""
        if profile.is_score:
            return cls((profile.position,), is_score=True)
        return cls((profile.position,), profile.has_several_labels, profile.separator)


def guess_label(profiles: Sequence[ColumnProfile], *, path: Path) -> LabelRole | None:
    """The most likely label among the columns; None if no column can be it."""
    profiles = [profile for profile in profiles if not profile.is_split]
    possible = [
        profile
        for profile in profiles
        if profile.may_be_label() or profile.has_several_labels or profile in _named_scores(profiles)
    ]
    named = [profile for profile in profiles if profile.is_named_label and profile.lists is None]
    if named and not any(profile in possible for profile in named) and len(named[0].values) == 1:
        (only,) = named[0].values
        raise OneClassOnly(path=path.name, label=only, rows=len(named[0].cells))
    likeliest = min(possible, key=ColumnProfile.label_rank, default=None) or _only_repeated(profiles)
    likeliest = likeliest or _only_score(profiles)
    group = find_class_columns(profiles)
    if group is not None and _is_likelier(group, likeliest):
        positions = tuple(profile.position for profile in group.columns)
        return LabelRole(positions, group.is_multi_label, prefix=group.prefix)
    return None if likeliest is None else LabelRole.of(likeliest)


def alike(role: LabelRole, profiles: Sequence[ColumnProfile]) -> list[ColumnProfile]:
    """The label, if it was guessed by its values alone, and the columns that could by theirs be it as well."""
    found = [one for one in profiles if one.may_be_label() and not (one.is_split or one.has_several_labels)]
    unnamed = [one for one in found if not one.has_label_name]
    is_among = len(role.positions) == 1 and any(one.position in role.positions for one in unnamed)
    return unnamed if is_among else []


def _only_repeated(profiles: Sequence[ColumnProfile]) -> ColumnProfile | None:
    """Of columns with unknown names the one whose values are repeated, as labels of very many classes are; if there is
    one, and only one, beside a column of texts."""
    repeated = [column for column in profiles if column.may_be_label(most=len(column.cells) // LEAST_ROWS_OF_MANY)]
    texts = [column for column in profiles if column.is_text and column.is_varied]
    return repeated[0] if len(repeated) == 1 and texts and repeated != texts else None


def _named_scores(profiles: Sequence[ColumnProfile]) -> list[ColumnProfile]:
    """Columns of many different numbers with the name of a label; or with that of a score, if only one has it: several
    are a model's scores for the classes."""
    scores = [profile for profile in profiles if profile.is_score and profile.is_named_score]
    return scores if len(scores) == 1 else [profile for profile in scores if profile.is_named_label]


def _only_score(profiles: Sequence[ColumnProfile]) -> ColumnProfile | None:
    """The only column of many different numbers, whatever its name is, if there is one."""
    scores = [profile for profile in profiles if profile.is_score]
    return scores[0] if len(scores) == 1 else None


def _is_likelier(group: ClassColumns, likeliest: ColumnProfile | None) -> bool:
    """Whether the class columns are the label rather than the most likely single column."""
    if likeliest is None or likeliest in group.columns:
        return True
    if find_scores(list(likeliest.values), group.columns):
        return False  # a number for each of its values: what a model said about them
    return group.is_certain and not likeliest.is_named_label and "label" not in likeliest.name.lower()
