"""A look at a data file, for `limbeck init`: how it is laid out, what its columns are, what the rows are like."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from limbeck.corpus.labels import name_classes
from limbeck.corpus.layout import Layout, find_layout
from limbeck.corpus.readers import TableForm, read_table
from limbeck.corpus.readers.table import KnownFormat
from limbeck.corpus.roles import Roles, find_roles
from limbeck.errors import DataError, some
from limbeck.recipe.corpus import Column
from limbeck.text.language import detect_language
from limbeck.text.sentences import word_count

LONG_TEXT = 100  # words (in Chinese: characters) at the 95th percentile
COUNTED_TEXTS = 5_000  # whose words are counted, spread over the file
BESIDE_TRAIN = {"dev": ("dev", "valid", "validation", "val"), "test": ("test",)}


@dataclass(frozen=True)
class Inspection:
    """What was found in a file; `form` and the columns are as a recipe would say them."""

    path: Path
    form: TableForm
    format: KnownFormat
    columns: list[str]
    text: Column
    pair: Column | None
    label: Column
    labels: dict[str, int]  # in class order, with their rows
    language: Literal["en", "zh"]
    rows: int
    is_complete: bool  # False: the file goes on beyond the rows that were looked at
    median_words: int  # of a row: both texts of a pair together; in Chinese, characters
    long_words: int  # the 95th percentile
    has_quotes: bool  # " stands somewhere in the texts
    beside: dict[str, str]  # files of the same form that look like dev and test, by split

    @property
    def delimiter(self) -> str | None:
        """What stands between cells, if anything does."""
        return {"csv": ",", "tsv": "\t"}.get(self.format)

    @property
    def is_long(self) -> bool:
        """Whether the texts are documents rather than sentences."""
        return self.long_words > LONG_TEXT

    def summary(self) -> str:
        """What was seen, in a few lines for the terminal."""
        header = "" if self.delimiter is None else ", with a header" if self.form.header else ", without a header"
        pair = "" if self.pair is None else f", second text: {self.pair}"
        unit = "characters" if self.language == "zh" else "words"
        lines = [
            f"{self.path.name}: {self.format}{header}, {self.rows:,} rows{'' if self.is_complete else ' or more'}",
            f"  text: {self.text}{pair}, label: {self.label} (columns: {some(self.columns, most=8)})",
            f"  labels: {some([f'{name} × {count:,}' for name, count in self.labels.items()], most=8)}",
            f"  language: {self.language}; half have up to {self.median_words} {unit}, 95 % up to {self.long_words}",
        ]
        return "\n".join([*lines, *(f"  {split}: {name}, beside it" for split, name in self.beside.items())])


def inspect_file(
    path: Path, *, text: Column | None = None, pair: Column | None = None, label: Column | None = None
) -> Inspection:
    """Look at a file of labelled rows. Columns that are given are not guessed."""
    wanted = [column for column in (text, pair, label) if isinstance(column, str)]
    layout = find_layout(path, wanted=wanted)
    roles = find_roles(layout, path=path, text=text, pair=pair, label=label)
    texts = [_texts(row, roles) for row in layout.rows]
    language = detect_language(texts)
    median_words, long_words = _lengths(texts, language=language)
    labels = Counter(row[roles.label].strip() for row in layout.rows)
    ordered = name_classes(labels, label_names={}).names
    found = Inspection(
        path=path,
        form=layout.form,
        format=layout.kind,
        columns=layout.columns,
        text=_column(layout, roles.text),
        pair=None if roles.pair is None else _column(layout, roles.pair),
        label=_column(layout, roles.label),
        labels={name: labels[name] for name in ordered},
        language=language,
        rows=len(layout.rows),
        is_complete=layout.is_complete,
        median_words=median_words,
        long_words=long_words,
        has_quotes=any('"' in text for text in texts),
        beside={},
    )
    return replace(found, beside=_files_beside(found))


def _texts(row: Sequence[str], roles: Roles) -> str:
    return row[roles.text] if roles.pair is None else f"{row[roles.text]} {row[roles.pair]}"


def _column(layout: Layout, position: int) -> Column:
    """By name where names are there and tell columns apart."""
    name = layout.columns[position]
    return name if layout.is_named and name and layout.columns.count(name) == 1 else position


def _lengths(texts: Sequence[str], *, language: str) -> tuple[int, int]:
    step = max(1, len(texts) // COUNTED_TEXTS)
    counts = sorted(word_count(text, language=language) for text in texts[::step])
    return counts[len(counts) // 2], counts[min(len(counts) - 1, len(counts) * 95 // 100)]


def _files_beside(found: Inspection) -> dict[str, str]:
    """Files in the same folder that are named like train's dev and test, and whose labels are train's."""
    beside: dict[str, str] = {}
    for split, words in BESIDE_TRAIN.items():
        names = [re.sub(pattern, word, found.path.name) for word in words for pattern in (r"train", r"train[^.]*")]
        for name in dict.fromkeys(names):
            if name != found.path.name and _fits(found.path.with_name(name), found):
                beside.setdefault(split, name)
    return beside


def _fits(path: Path, found: Inspection) -> bool:
    if not path.is_file():
        return False
    columns = {"text": found.text, "label": found.label} | ({} if found.pair is None else {"pair": found.pair})
    try:
        labels = {record.values[1] for record in read_table(path, form=found.form, columns=columns)}
    except DataError:
        return False
    return labels <= set(found.labels)
