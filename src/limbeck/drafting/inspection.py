"""Inspects a data file for `limbeck init`: its layout, what its columns hold, its labels, language and text lengths."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

from limbeck.corpus.file_rows import Dropped, read_file, refuse_mostly_empty
from limbeck.corpus.labelled import LabelledRows, name_classes
from limbeck.corpus.run import LabelUnknown
from limbeck.drafting.column_profile import profiles_of
from limbeck.drafting.label_role import LabelRole, find_scores
from limbeck.drafting.layout import Layout, find_encoding, find_layout, is_utf_8
from limbeck.drafting.roles import Roles, find_roles
from limbeck.drafting.spellings import names_of_spellings
from limbeck.errors import DataError, some
from limbeck.recipe.corpus import Column, CorpusSection
from limbeck.tables import TableForm
from limbeck.tables.formats import KnownFormat, is_sheet
from limbeck.tables.label_cells import LabelReader
from limbeck.text.language import CODES, WITHOUT_SPACES, detect_language, language_name
from limbeck.text.sentences import word_count

LANGUAGES = {"en": "English", "zh": "Chinese"}
LONG_TEXT = 100  # words (in Chinese: characters) at the 95th percentile
COUNTED_TEXTS = 5_000  # texts whose words are counted, spread over the file
KEYS = frozenset(CorpusSection.model_fields)
BESIDE_TRAIN = {"dev": ("dev", "valid", "validation", "val"), "test": ("test",)}
SURE = ("utf-8", "utf-16")  # encodings that a file's bytes leave no doubt about: valid UTF-8, or a byte order mark
LEAST_UNLABELLED, LEAST_SHARE = 200, 0.5  # rows without a label that are learned from; as a share of the labelled ones
LEAST_KNOWN = 0.5  # share of the rows of a file found beside train whose labels must be train's


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
    labels: dict[str, int]  # rows of each label, in class order; of scores none
    language: Literal["en", "zh"]  # of which the rules of a draft are; `code` is the texts' own
    rows: int
    is_complete: bool  # False: the file has more rows than were read
    median_words: int  # of a row: both texts of a pair together; in Chinese, characters
    long_words: int  # the 95th percentile
    has_quotes: bool  # " occurs somewhere in the texts
    beside: dict[str, str]  # files of the same form in the same folder that look like dev and test, by split
    label_names: dict[str, str] = field(default_factory=dict)  # of columns with a prefix, and of rarer spellings
    given: dict[str, Path] = field(default_factory=dict)  # the dev and test files that the user names
    other_language: str = ""  # the name of the texts' language, if it is neither English nor Chinese
    split: Column | None = None  # the column that says to which split a row belongs
    split_rows: dict[str, int] = field(default_factory=dict)  # by split, if there is such a column
    scores: dict[str, Column] = field(default_factory=dict)  # by class, the column of a model's number for it
    guesses_encoding: bool = False  # because it is not UTF-8
    is_score: bool = False  # the label is a number
    score_range: tuple[float, float] = (0.0, 0.0)  # the lowest and the highest
    unlabelled: int = 0  # rows with a text and without a label, which the corpus drops
    notes: tuple[str, ...] = ()  # what else the user should know, in lines for the terminal

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

    @property
    def learns_from_unlabelled(self) -> bool:
        """Whether so many rows have no label that the student learns from them: beside other text a draft makes fewer
        copies, and takes no general text."""
        enough = self.unlabelled >= max(LEAST_UNLABELLED, self.rows * LEAST_SHARE)
        return enough and not isinstance(self.label, list) and not self.multi_label and not self.scores

    @property
    def held_out(self) -> dict[str, Path]:
        """The dev and test files, given or found, by split."""
        found = {split: self.path.with_name(name) for split, name in self.beside.items()}
        return {split: file for split in BESIDE_TRAIN if (file := self.given.get(split) or found.get(split))}

    @property
    def language_name(self) -> str:
        """The language in words."""
        return self.other_language or LANGUAGES[self.language]

    @property
    def code(self) -> str:
        """The language as the recipe has it; where only the script is known, English, whose rules hold for most."""
        return CODES.get(self.other_language, self.language)

    @property
    def unit(self) -> str:
        """What the lengths of texts are counted in."""
        return "characters" if self.code in WITHOUT_SPACES else "words"

    def summary(self) -> str:
        """What was found, in a few lines for the terminal."""
        header = "" if self.delimiter is None else ", with a header" if self.form.header else ", without a header"
        language = (
            f'{self.other_language}, read by the rules of "{self.code}"' if self.other_language else self.language
        )
        kind: str = "first sheet" if is_sheet(self.path) else self.format
        if self.form.format == "fasttext":
            kind, header = "lines with labels as fastText has them", ""
        pair = "" if self.pair is None else f", second text: {self.pair}"
        columns = some(self.label, most=8) if isinstance(self.label, list) else self.label
        several = ", several a row" if self.multi_label else ""
        low, high = self.score_range
        labels = f"labels{several}: {some([f'{name} × {count:,}' for name, count in self.labels.items()], most=8)}"
        lines = [
            f"{self.path.name}: {kind}{header}, {self.rows:,} rows{'' if self.is_complete else ' or more'}",
            f"  text: {self.text}{pair}, label: {columns} (columns: {some(self.columns, most=8)})",
            f"  scores: from {low:g} to {high:g}" if self.is_score else f"  {labels}",
            f"  language: {language}; half have up to {self.median_words} {self.unit}, 95 % up to {self.long_words}",
        ]
        if self.scores:
            lines.append(f"  teacher: its answers are in {some(list(self.scores.values()), most=4)}")
        if self.split is not None:
            counts = ", ".join(f"{split} {count:,}" for split, count in self.split_rows.items())
            lines.append(f"  splits: {counts}, by the column {self.split}")
        lines += [
            f"  {split}: {file.name}{'' if split in self.given else ', in the same folder'}"
            for split, file in self.held_out.items()
        ]
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])


def inspect_file(
    path: Path,
    *,
    text: Column | None = None,
    pair: Column | None = None,
    label: Column | None = None,
    given: Mapping[str, Path] | None = None,
    encoding: str | None = None,
) -> Inspection:
    """Inspect a file of labelled rows. Columns that are given are not guessed; nor are `given` files of dev and test.

    Raises DataError also where one of these cannot be read as the file itself is.
    """
    wanted = [column for column in (text, pair, label) if isinstance(column, str)]
    layout = find_layout(path, wanted=wanted, encoding=encoding)
    roles = find_roles(layout, path=path, text=text, pair=pair, label=label)
    layout, dropped = _without_empty(layout, roles, path=path)
    texts = [_texts(row, roles) for row in layout.rows]
    language, name = detect_language(texts), language_name(texts)
    median_words, long_words = lengths_of(texts, language=CODES.get(name, language))
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
        other_language="" if name in LANGUAGES.values() else name,
        guesses_encoding=encoding is None and layout.form.encoding not in SURE,
        unlabelled=dropped.without_label if layout.kind in ("csv", "tsv") or not dropped.without_text else 0,
    )
    found = replace(found, given=dict(given or {}))
    if roles.label.is_score:
        found = replace(found, is_score=True, score_range=_score_range(layout, roles.label, path=path))
    else:
        found = _with_labels(found, layout, roles.label)
        found = replace(found, scores=_scores(layout, roles, found))
    if roles.split is not None and not given:
        column = profiles_of(layout)[roles.split]
        found = replace(found, split=column_of(layout, roles.split), split_rows=column.split_rows)
    notes = [
        *_doubts(path, encoding, texts),
        *_notes_of_columns(layout, roles, found),
        *_notes_of_form(found, dropped),
        *(note for item in found.given.items() for note in _notes_of(*item, found)),
    ]
    return replace(found, beside={} if found.split is not None else _files_beside(found), notes=tuple(notes))


def _without_empty(layout: Layout, roles: Roles, *, path: Path) -> tuple[Layout, Dropped]:
    """The layout without rows that a run drops, because they have no text or no label; and how many there are.

    Raises RowsMostlyEmpty as a run would, before a recipe is written.
    """
    dropped, kept = Dropped(), []
    texts = [at for at in (roles.text, roles.pair) if at is not None]
    needs_label = not roles.label.is_multi_label or len(roles.label.positions) > 1
    for at, (number, row) in enumerate(zip(layout.numbers, layout.rows, strict=True)):
        if not any(row[position].strip() for position in texts):
            dropped.count(number, text=True)
        elif needs_label and not any(row[position].strip() for position in roles.label.positions):
            dropped.count(number, text=False)
        else:
            kept.append(at)
    refuse_mostly_empty(dropped, kept=len(kept), path=path)
    if not dropped.rows:
        return layout, dropped
    lists = {column: [cells[at] for at in kept] for column, cells in layout.lists.items()}
    rows, numbers = [layout.rows[at] for at in kept], [layout.numbers[at] for at in kept]
    return replace(layout, rows=rows, numbers=numbers, lists=lists), dropped


def _doubts(path: Path, encoding: str | None, texts: Sequence[str]) -> list[str]:
    """That a given encoding is probably not the file's: its bytes are valid UTF-8, and hardly any others are."""
    if encoding is None or all(text.isascii() for text in texts) or is_utf_8(encoding):
        return []
    try:
        is_other = find_encoding(path) == "utf-8"
    except DataError:
        return []
    return [f"encoding: {encoding}, as given, although the file is valid UTF-8: look at its texts"] if is_other else []


def _notes_of_columns(layout: Layout, roles: Roles, found: Inspection) -> list[str]:
    """Texts that are not read, other columns that may be the label, and labels that are probably the same."""
    taken = {roles.text, roles.pair, roles.split, *roles.label.positions}
    free = [profile for profile in profiles_of(layout) if profile.position not in taken and profile.name]
    texts = [profile.name for profile in free if profile.is_text and profile.is_varied]
    others = [profile.name for profile in free if profile.may_be_label() and not profile.is_split and profile.is_words]
    notes = []
    if texts:
        notes.append(f"not read: {some(texts)}; one column is the text, --text names another")
    if roles.predicted:
        notes.append(_predictions_in_words(layout, roles))
    elif others and len(roles.label.positions) == 1 and not found.scores:
        notes.append(f"other columns that could be the label: {some(others)}; --label names one")
    if found.label_names and not isinstance(found.label, list):
        same = [f"{label} → {name}" for label, name in found.label_names.items()]
        notes.append(f"labels that differ only in case or spaces are one: {some(same, most=4)}; see label_names")
    return notes


def _predictions_in_words(layout: Layout, roles: Roles) -> str:
    """What was measured of the columns that could be the label, the one that is taken first."""
    ordered = sorted(
        roles.predicted, key=lambda position: (position not in roles.label.positions, -roles.predicted[position])
    )
    names = [f"{column_of(layout, position)} {roles.predicted[position]:.2f}" for position in ordered]
    return (
        f"columns that could be the label, and how well the texts predict them (1: always, 0: by chance):\n"
        f"    {some(names, most=6)}; the first is taken, --label names another"
    )


def _notes_of_form(found: Inspection, dropped: Dropped) -> list[str]:
    encoding = f"encoding: {found.form.encoding}, which is a guess, as it is not UTF-8; --encoding names another"
    lost = replace(dropped, without_label=0) if found.learns_from_unlabelled else dropped
    rows = f"rows that are dropped: {lost.in_words()}"
    return [*([encoding] if found.guesses_encoding else []), *([rows] if lost.rows else [])]


def _notes_of(split: str, path: Path, found: Inspection) -> list[str]:
    """What is to be said about a file that the user gives as dev or test; raises DataError if it cannot be read."""
    rows, _, _ = read_file(_section(found, path), path, split=split)
    if not (unknown := _unknown_in(rows, found)):
        return []
    if len(unknown) == len(rows.label_counts):
        raise LabelUnknown(split=split, unknown=list(unknown), known=list(found.labels), file=path.name)
    names = some([f"{name} × {count:,}" for name, count in unknown.items()], most=6)
    return [f"labels of {path.name} that {found.path.name} does not have: {names}"]


def _score_range(layout: Layout, role: LabelRole, *, path: Path) -> tuple[float, float]:
    """The lowest and the highest score; raises RowMalformed for a cell that is no number, as a run would."""
    (position,) = role.positions
    section = CorpusSection(train=str(path), label=position, task="regression")
    reader = LabelReader(section, path=path, columns=[layout.columns[position]])
    cells = zip(layout.numbers, layout.rows, strict=True)
    scores = [float(str(reader.read([row[position]], number=number))) for number, row in cells]
    return min(scores), max(scores)


def _unknown_in(rows: LabelledRows, found: Inspection) -> dict[str, int]:
    """The labels that the inspected file lacks, with the number of their rows."""
    if found.is_score:
        return {}
    counts = rows.label_counts.items()
    return {label: count for label, count in counts if found.label_names.get(label, label) not in found.labels}


def _section(found: Inspection, path: Path) -> CorpusSection:
    """The section of a recipe for a file of this form."""
    names = ("text", "pair", "label", "multi_label", "label_separator")
    task = {"task": "regression"} if found.is_score else {}
    keys = {"train": str(path), **task, **{name: getattr(found, name) for name in names}, **asdict(found.form)}
    return CorpusSection.model_validate(
        {key: value for key, value in keys.items() if key in KEYS and value is not None}
    )


def _with_labels(found: Inspection, layout: Layout, role: LabelRole) -> Inspection:
    """With the classes, the number of rows of each, and the names that labels get."""
    columns = [layout.columns[at] for at in role.positions] if len(role.positions) > 1 else []
    counts = Counter(label for labels in _label_sets(layout, role, found) for label in labels)
    if columns:
        names = {name: name.removeprefix(role.prefix) for name in columns if role.prefix}
    else:
        names = names_of_spellings(counts)
    labels: Counter[str] = Counter()
    for label in name_classes([*counts, *columns], label_names={}, order=columns).names:
        labels[names.get(label, label)] += counts[label]
    return replace(found, label_names=names, labels=dict(labels))


def _scores(layout: Layout, roles: Roles, found: Inspection) -> dict[str, Column]:
    """The columns that hold a model's probability or logit of each class, beside a column with the label itself."""
    if isinstance(found.label, list) or found.multi_label:
        return {}
    taken = {roles.text, roles.pair, *roles.label.positions}
    free = [profile for profile in profiles_of(layout) if profile.position not in taken]
    columns = find_scores(list(found.labels), free)
    return {name: column_of(layout, profile.position) for name, profile in columns.items()}


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
        labels = reader.read(cells, number=layout.numbers[at])
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
    """Files in the same folder whose names match train's as dev or test, and most of whose labels are train's."""
    beside: dict[str, str] = {}
    for split, words in BESIDE_TRAIN.items():
        names = [name for word in words for name in _names_beside(found.path.name, word)]
        for name in dict.fromkeys(names):
            if split not in found.given and name != found.path.name and _fits(found.path.with_name(name), found):
                beside.setdefault(split, name)
    return beside


def _names_beside(name: str, word: str) -> Iterator[str]:
    """What the file for `word` may be called: train.csv → test.csv; reviews.csv → reviews-test.csv, test.csv …"""
    yield from (re.sub(pattern, word, name) for pattern in (r"train", r"train[^.]*"))
    stem, dot, ending = name.partition(".")
    yield from (f"{stem}{sign}{word}{dot}{ending}" for sign in "-_.")
    yield from (f"{word}{sign}{stem}{dot}{ending}" for sign in "-_")
    yield f"{word}{dot}{ending}"


def _fits(path: Path, found: Inspection) -> bool:
    if not path.is_file():
        return False
    try:
        rows, _, _ = read_file(_section(found, path), path, split="dev")
    except DataError:
        return False
    unknown = sum(_unknown_in(rows, found).values())
    return bool(rows.label_counts) and unknown <= (1 - LEAST_KNOWN) * rows.label_counts.total()
