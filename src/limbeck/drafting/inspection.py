"""Inspects a data file for `limbeck init`: its layout, what its columns hold, its labels, language and text lengths."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

from limbeck.corpus.file_rows import read_file
from limbeck.corpus.label_cells import LabelReader
from limbeck.corpus.labelled import name_classes
from limbeck.drafting.label_role import LabelRole
from limbeck.drafting.layout import Layout, find_layout
from limbeck.drafting.roles import Roles, find_roles
from limbeck.errors import DataError, some
from limbeck.recipe.corpus import Column, CorpusSection
from limbeck.tables import TableForm
from limbeck.tables.formats import KnownFormat
from limbeck.text.language import detect_language
from limbeck.text.sentences import word_count

LONG_TEXT = 100  # words (in Chinese: characters) at the 95th percentile
COUNTED_TEXTS = 5_000  # texts whose words are counted, spread over the file
KEYS = frozenset(CorpusSection.model_fields)
BESIDE_TRAIN = {"dev": ("dev", "valid", "validation", "val"), "test": ("test",)}


@dataclass(frozen=True)
class Inspection:
    """What was found in a file; `form` and the columns are written as in a recipe."""

    path: Path
    form: TableForm
    format: KnownFormat
    columns: list[str]
    text: Column
    pair: Column | None
    label: Column | list[Column]
    multi_label: bool
    label_separator: str | None  # if one column holds several labels of a row as text
    labels: dict[str, int]  # rows of each label, in class order
    language: Literal["en", "zh"]
    rows: int
    is_complete: bool  # False: the file has more rows than were read
    median_words: int  # of a row: both texts of a pair together; in Chinese, characters
    long_words: int  # the 95th percentile
    has_quotes: bool  # " occurs somewhere in the texts
    beside: dict[str, str]  # files of the same form in the same folder that look like dev and test, by split
    label_names: dict[str, str] = field(default_factory=dict)  # for classes whose column names have a prefix

    @property
    def delimiter(self) -> str | None:
        """The separator of cells, if the format has one."""
        return {"csv": ",", "tsv": "\t"}.get(self.format)

    @property
    def is_long(self) -> bool:
        """Whether some of the texts are documents, not only sentences."""
        return self.long_words > LONG_TEXT

    @property
    def is_mostly_long(self) -> bool:
        """Whether at least half of the texts are documents."""
        return self.median_words > LONG_TEXT

    def summary(self) -> str:
        """What was found, in a few lines for the terminal."""
        header = "" if self.delimiter is None else ", with a header" if self.form.header else ", without a header"
        pair = "" if self.pair is None else f", second text: {self.pair}"
        unit = "characters" if self.language == "zh" else "words"
        columns = some(self.label, most=8) if isinstance(self.label, list) else self.label
        several = ", several a row" if self.multi_label else ""
        lines = [
            f"{self.path.name}: {self.format}{header}, {self.rows:,} rows{'' if self.is_complete else ' or more'}",
            f"  text: {self.text}{pair}, label: {columns} (columns: {some(self.columns, most=8)})",
            f"  labels{several}: {some([f'{name} × {count:,}' for name, count in self.labels.items()], most=8)}",
            f"  language: {self.language}; half have up to {self.median_words} {unit}, 95 % up to {self.long_words}",
        ]
        return "\n".join([*lines, *(f"  {split}: {name}, in the same folder" for split, name in self.beside.items())])


def inspect_file(
    path: Path, *, text: Column | None = None, pair: Column | None = None, label: Column | None = None
) -> Inspection:
    """Inspect a file of labelled rows. Columns that are given are not guessed."""
    wanted = [column for column in (text, pair, label) if isinstance(column, str)]
    layout = find_layout(path, wanted=wanted)
    roles = find_roles(layout, path=path, text=text, pair=pair, label=label)
    texts = [_texts(row, roles) for row in layout.rows]
    language = detect_language(texts)
    median_words, long_words = lengths_of(texts, language=language)
    labels = [column_of(layout, at) for at in roles.label.positions]
    found = Inspection(
        path=path,
        form=layout.form,
        format=layout.kind,
        columns=layout.columns,
        text=column_of(layout, roles.text),
        pair=None if roles.pair is None else column_of(layout, roles.pair),
        label=labels if len(labels) > 1 else labels[0],
        multi_label=roles.label.is_multi_label,
        label_separator=roles.label.separator,
        labels={},
        language=language,
        rows=len(layout.rows),
        is_complete=layout.is_complete,
        median_words=median_words,
        long_words=long_words,
        has_quotes=any('"' in text for text in texts),
        beside={},
    )
    _refuse_blank_labels(layout, roles.label, found)
    found = replace(found, label_names=_label_names(layout, roles.label))
    found = replace(found, labels=_labels(layout, roles.label, found))
    return replace(found, beside=_files_beside(found))


def _refuse_blank_labels(layout: Layout, role: LabelRole, found: Inspection) -> None:
    """Raises the error that a run would raise, with the row's number, before a recipe is written."""
    if role.is_multi_label or len(role.positions) > 1:
        return
    if not all(row[role.positions[0]].strip() for row in layout.rows):
        read_file(_section(found, found.path), found.path, split="train")


def _section(found: Inspection, path: Path) -> CorpusSection:
    """The section of a recipe for a file of this form."""
    names = ("text", "pair", "label", "multi_label", "label_separator")
    keys = {"train": str(path), **{name: getattr(found, name) for name in names}, **asdict(found.form)}
    return CorpusSection.model_validate(
        {key: value for key, value in keys.items() if key in KEYS and value is not None}
    )


def _label_names(layout: Layout, role: LabelRole) -> dict[str, str]:
    names = [layout.columns[at] for at in role.positions if role.prefix]
    return {name: name.removeprefix(role.prefix) for name in names}


def _labels(layout: Layout, role: LabelRole, found: Inspection) -> dict[str, int]:
    """The classes and the number of rows of each."""
    columns = [layout.columns[at] for at in role.positions] if len(role.positions) > 1 else []
    counts = Counter(label for labels in _label_sets(layout, role, found) for label in labels)
    ordered = name_classes([*counts, *columns], label_names={}, order=columns).names
    return {found.label_names.get(name, name): counts[name] for name in ordered}


def _label_sets(layout: Layout, role: LabelRole, found: Inspection) -> Iterator[Sequence[str]]:
    """The labels of every row, read as a run reads them."""
    if not role.is_multi_label and len(role.positions) == 1:
        yield from ([row[role.positions[0]].strip()] for row in layout.rows)
        return
    reader = LabelReader(
        _section(found, found.path), path=found.path, columns=[layout.columns[at] for at in role.positions]
    )
    lists = layout.lists.get(role.positions[0])
    for at, row in enumerate(layout.rows):
        cells = [row[position] for position in role.positions] if lists is None else [lists[at]]
        labels = reader.read(cells, number=at)
        yield [labels] if isinstance(labels, str) else labels


def _texts(row: Sequence[str], roles: Roles) -> str:
    return row[roles.text] if roles.pair is None else f"{row[roles.text]} {row[roles.pair]}"


def column_of(layout: Layout, position: int) -> Column:
    """The column by name if it has a unique one, else by position."""
    name = layout.columns[position]
    return name if layout.is_named and name and layout.columns.count(name) == 1 else position


def lengths_of(texts: Sequence[str], *, language: str) -> tuple[int, int]:
    """The median and the 95th percentile of words in a text; in Chinese, of characters."""
    step = max(1, len(texts) // COUNTED_TEXTS)
    counts = sorted(word_count(text, language=language) for text in texts[::step])
    return counts[len(counts) // 2], counts[min(len(counts) - 1, len(counts) * 95 // 100)]


def _files_beside(found: Inspection) -> dict[str, str]:
    """Files in the same folder whose names match train's as dev or test, and whose labels are train's."""
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
    try:
        rows, _ = read_file(_section(found, path), path, split="dev")
    except DataError:
        return False
    labels = {found.label_names.get(label, label) for label in rows.label_counts}
    return bool(labels) and labels <= set(found.labels)
