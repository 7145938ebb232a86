"""Guesses from names and values which column is the text, which the second text, which the label."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from limbeck.drafting.column_profile import ColumnProfile, profiles_of
from limbeck.drafting.label_role import LabelRole, alike, guess_label
from limbeck.drafting.layout import Layout
from limbeck.drafting.predicted_by_texts import clearly_predicted, predicted_by_texts
from limbeck.errors import MOST_SHOWN, ColumnMissing, DataError, in_shell, shortened, some
from limbeck.recipe.corpus import Column
from limbeck.tables.raw_table import as_number

SINGLE_TEXT_NAMES = {"title", "subject", "url", "name", "author", "user", "body", "content"}
NAMED_PAIRS = {
    *(("premise", "hypothesis"), ("question", "sentence"), ("question", "answer"), ("query", "title")),
    *(
        ("query", "passage"),
        ("query", "document"),
        ("text", "text_pair"),
        ("text", "pair"),
        ("left", "right"),
        ("source", "target"),
    ),
}
SIMILAR_LENGTH = 2.0  # longer mean over shorter mean of two texts that may be a pair


class ColumnGivenTwice(DataError):
    """`limbeck init` was given one column for two purposes."""

    def __init__(self, *, path: Path, column: str, keys: Sequence[str], columns: Sequence[str]) -> None:
        self.column, self.keys = column, tuple(keys)
        super().__init__(
            f"{' and '.join(f'--{key}' for key in keys)} name the same column of '{path}', '{column}'",
            found=f"its columns: {some(columns)}",
            advice="Give each a column of its own, or omit one: it is then guessed.",
        )


def lines_of_examples(columns: Mapping[str, str]) -> list[str]:
    """A line for each of the first columns, with an example of what is in it."""
    lines = [shortened(f"  {name}: {example}") for name, example in islice(columns.items(), MOST_SHOWN)]
    return lines if len(lines) == len(columns) else [*lines, f"  … and {len(columns) - len(lines):,} more"]


class LabelUnclear(DataError):
    """`limbeck init` cannot tell which column holds the label, or the text."""

    def __init__(self, *, path: Path, what: str, columns: Mapping[str, str]) -> None:
        self.role, self.columns = what, dict(columns)
        examples = lines_of_examples(columns)
        super().__init__(
            f"cannot tell which column of '{path}' is the {what}",
            found="\n".join(["its columns, with an example of each:", *examples]),
            advice=f"Name them: limbeck init {in_shell(path.name)} --text COLUMN --label COLUMN [--pair COLUMN]",
        )


@dataclass(frozen=True)
class Roles:
    """Positions of the columns."""

    text: int
    pair: int | None
    label: LabelRole
    split: int | None = None  # says of each row whether it is of train, dev or test
    predicted: dict[int, float] = field(default_factory=dict)  # how well texts predict columns that may be the label


def find_roles(
    layout: Layout, *, path: Path, text: Column | None = None, pair: Column | None = None, label: Column | None = None
) -> Roles:
    """The columns' roles; those the user has named are not guessed. Raises LabelUnclear if a guess fails."""
    profiles = profiles_of(layout)
    given = {
        key: _position(layout, column, key=key, path=path)
        for key, column in (("text", text), ("pair", pair), ("label", label))
        if column is not None
    }
    _refuse_column_given_twice(given, layout=layout, path=path)
    free = [profile for profile in profiles if profile.position not in given.values()]
    role = LabelRole.of(profiles[given["label"]]) if "label" in given else guess_label(free, path=path)
    if role is None:
        raise LabelUnclear(path=path, what="label", columns=with_examples(layout))
    free = [profile for profile in free if profile.position not in role.positions]
    if "text" not in given:
        given |= guess_texts(free, wants_pair="pair" not in given)
    if "text" not in given:
        raise LabelUnclear(path=path, what="text", columns=with_examples(layout))
    split = next((profile.position for profile in free if profile.split_rows), None)
    free = [profile for profile in profiles if profile.position not in given.values()]
    predicted = {} if "label" in given else _predicted(role, free, [profiles[given[key]] for key in given])
    if predicted:
        role = LabelRole.of(profiles[clearly_predicted(predicted, likeliest=role.positions[0])])
    return Roles(text=given["text"], pair=given.get("pair"), label=role, split=split, predicted=predicted)


def _predicted(role: LabelRole, free: Sequence[ColumnProfile], texts: Sequence[ColumnProfile]) -> dict[int, float]:
    """How well the texts predict the guessed label and each column that could as well be it; empty if there is none."""
    rivals = alike(role, free)
    if len(rivals) < 2:
        return {}
    return predicted_by_texts([" ".join(cells) for cells in zip(*(one.cells for one in texts), strict=True)], rivals)


def _refuse_column_given_twice(given: Mapping[str, int], *, layout: Layout, path: Path) -> None:
    for position in given.values():
        keys = [key for key, at in given.items() if at == position]
        if len(keys) > 1:
            raise ColumnGivenTwice(path=path, column=layout.columns[position], keys=keys, columns=layout.columns)


def _position(layout: Layout, column: Column, *, key: str, path: Path) -> int:
    if isinstance(column, str) and column not in layout.columns:
        column = as_number(column, column)
    if isinstance(column, int) and 0 <= column < len(layout.columns):
        return column
    if column not in layout.columns:
        raise ColumnMissing(path=path, column=str(column), key=f"--{key}", columns=layout.columns, finds_header=True)
    return layout.columns.index(str(column))


def guess_texts(profiles: Sequence[ColumnProfile], *, wants_pair: bool) -> dict[str, int]:
    """The positions of "text", the column with the longest texts, and of "pair" if it is wanted; only those found."""
    texts = [profile for profile in profiles if profile.is_text and profile.mean_length > 0]
    if not texts:
        return {}
    longest = max(texts, key=lambda profile: profile.mean_length)
    partners = [profile for profile in texts if profile is not longest and _is_pair(longest, profile)]
    if not (wants_pair and partners):
        return {"text": longest.position}
    other = max(partners, key=lambda profile: (_is_named_pair(longest, profile), profile.mean_length))
    first, second = sorted([longest.position, other.position])
    return {"text": first, "pair": second}


def _is_pair(longest: ColumnProfile, other: ColumnProfile) -> bool:
    if _is_named_pair(longest, other):
        return True
    is_alike = longest.mean_length <= SIMILAR_LENGTH * other.mean_length
    is_single = {longest.name.lower(), other.name.lower()} & SINGLE_TEXT_NAMES
    return is_alike and longest.is_varied and other.is_varied and not is_single


def _is_named_pair(one: ColumnProfile, other: ColumnProfile) -> bool:
    first, second = sorted([one, other], key=lambda profile: profile.position)
    left, right = first.name.lower(), second.name.lower()
    if not left or left == right:
        return False
    by_sign = [left.replace("1", "2"), re.sub(r"a$", "b", left), left.replace("first", "second")]
    return right in by_sign or (left, right) in NAMED_PAIRS


def with_examples(layout: Layout) -> dict[str, str]:
    """The columns, each with the beginning of its first cell that is not blank."""
    return {name: _example(cells) for name, cells in zip(layout.columns, zip(*layout.rows, strict=True), strict=True)}


def _example(cells: Sequence[str]) -> str:
    cell = next((cell for cell in cells if cell.strip()), "")
    return " ".join(cell.split())[:60] + ("…" if len(cell) > 60 else "")
