"""Detects a file's layout by reading it: format, quoting, encoding, header."""

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from limbeck.errors import BytesUndecodable, DataError, FileEmpty, FileUnreadable, RowMalformed
from limbeck.tables.formats import (
    KnownFormat,
    TableForm,
    format_by_content,
    is_fasttext,
    is_sheet,
    known_format,
    named_format,
)
from limbeck.tables.label_cells import written_list
from limbeck.tables.opening import TextInput, opened, refuse_pipe, text_lines, wide_encoding
from limbeck.tables.parquet import starts_as_parquet
from limbeck.tables.raw_table import Cells
from limbeck.tables.table import MAY_BE_FASTTEXT, open_table, plain_text
from limbeck.text.language import detect_language

MOST_ROWS = 200_000  # rows that are read; later ones are not counted
HEAD_BYTES = 4_096  # by which UTF-16 without its mark is recognised
SAMPLE_LINES = 2_000
MOST_ACCENTED = 0.25  # of the letters; languages in Latin letters have a tenth
COMMON_LEADS = (0xB0, 0xD7)  # first bytes of the 3,755 characters of level 1 of GB 2312
QUOTED_SHARE = 0.95  # of a column's cells are enclosed in " if the file uses quoting
COLUMN_NAMES = {
    *(
        "text",
        "sentence",
        "sentence1",
        "sentence2",
        "text_a",
        "text_b",
        "review",
        "comment",
        "content",
        "title",
        "body",
    ),
    *("question", "question1", "question2", "premise", "hypothesis", "query", "id", "idx", "index", "guid", "source"),
    *("label", "labels", "class", "category", "target", "sentiment", "is_duplicate", "quality", "stars", "rating"),
    *("polarity", "intent", "topic", "emotion"),
}
# Ways to read a file of a format, most likely first: the format it may really have, and whether " encloses cells.
WAYS: dict[KnownFormat, list[tuple[KnownFormat, bool]]] = {
    "csv": [("csv", True), ("csv", False), ("tsv", False), ("tsv", True)],
    "tsv": [("tsv", False), ("tsv", True), ("csv", True)],
}

Row = tuple[str, ...]
PLAIN = (str, int, float)


@dataclass(frozen=True)
class Layout:
    """A file's form and its rows as text; nulls, missing keys and nested values are empty cells here."""

    form: TableForm
    kind: KnownFormat
    delimiter: str  # of csv
    columns: list[str]
    is_named: bool
    rows: list[Row]
    numbers: list[int]  # of the rows, as RawTable numbers them
    is_complete: bool  # whether `rows` are all rows of the file
    # By position, the columns whose cells are all lists of plain values, or null; also lists written as text.
    lists: dict[int, list[Row]]


def find_layout(
    path: Path, *, wanted: Sequence[str] = (), least_columns: int = 2, encoding: str | None = None
) -> Layout:
    """The layout with which the complete file can be read and has at least `least_columns` columns.

    `wanted` are column names the user has given: a first row that holds one is a header. The encoding is guessed unless
    it is given. If no layout works, raises the error of the most likely one.
    """
    refuse_pipe(path)
    named = named_format(path)
    kind = "parquet" if starts_as_parquet(path) else named
    if kind == "parquet" or is_sheet(path):
        encoding = "utf-8"
    encoding = encoding or find_encoding(path)
    if kind in MAY_BE_FASTTEXT:
        text = TextInput(path, form=TableForm(encoding=encoding))
        if is_fasttext(text.head):
            return _read(path, TableForm(format="fasttext", encoding=encoding), wanted=wanted)
        kind = kind or format_by_content(text.head, is_table=True)
    likeliest: Layout | DataError | None = None
    forms = _forms(kind, by_ending=kind == named, encoding=encoding)
    for form in islice(forms, 1) if is_sheet(path) else forms:
        try:
            layout = _read(path, form, wanted=wanted)
        except (RowMalformed, FileUnreadable) as fault:
            likeliest = likeliest or fault
            continue
        if len(layout.columns) >= least_columns and not _looks_quoted(layout) and not _hides_tabs(layout):
            return layout
        likeliest = likeliest or layout
    if isinstance(likeliest, Layout):
        return likeliest
    assert likeliest is not None, "every kind has a form"
    raise likeliest


def find_lines(path: Path) -> Layout:
    """The layout of a file with one text per line."""
    return _read(path, TableForm(format="lines", encoding=find_encoding(path)), wanted=())


def has_header(first: Row, rest: Sequence[Row], *, wanted: Sequence[str] = ()) -> bool:
    """Whether the first row names the columns: by known names, else by how it differs from the rows below."""
    names = [cell.strip() for cell in first]
    below = [(name, {row[at].strip() for row in rest}) for at, name in enumerate(names)]
    if any(name in wanted or (name.lower() in COLUMN_NAMES and name not in column) for name, column in below):
        return True
    if any(_is_long(name) for name in names):
        return False
    if any(name and name in column and 2 * len(column) < len(rest) for name, column in below):
        return False  # a value like the others of its column
    if any(_all_numbers(column) and not _all_numbers({name}) for name, column in below):
        return True
    given = [name for name in names if name]  # spreadsheets write empty columns, without a name
    if len(given) < min(2, len(names)) or len(set(given)) < len(given):
        return False
    return not any(_all_numbers({name}) for name in given)


def _forms(kind: KnownFormat, *, by_ending: bool, encoding: str) -> Iterator[TableForm]:
    """The forms in which to try to read the file, most likely first."""
    for way, quoting in WAYS.get(kind, [(kind, False)]):
        yield TableForm(
            format="auto" if by_ending and way == kind else way,
            header=False,
            quoting="auto" if quoting == (way == "csv") else quoting,
            encoding=encoding,
        )


def is_utf_8(encoding: str) -> bool:
    """Whether this is one of the names of UTF-8."""
    try:
        return codecs.lookup(encoding).name.startswith("utf-8")
    except LookupError:
        return False


def find_encoding(path: Path) -> str:
    """UTF-8 or UTF-16, else gb18030 if the text is then Chinese, else what Windows writes in western Europe.

    Raises BytesUndecodable where none of them is likely.
    """
    with opened(path) as stream:
        head = stream.read(HEAD_BYTES)
    assert isinstance(head, bytes), "a path is opened as bytes"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if wide := wide_encoding(head):
        return wide
    try:
        for _ in islice(text_lines(path, encoding="utf-8"), MOST_ROWS):
            pass
    except BytesUndecodable as fault:
        for encoding, is_likely in (
            ("gb18030", _is_chinese),
            ("cp1252", _is_western),
            ("latin-1", _is_western),
        ):
            try:
                if is_likely(_lines(path, encoding)):  # most bytes are valid in all of these
                    return encoding
            except BytesUndecodable:
                continue
        raise fault from None
    return "utf-8"


def _lines(path: Path, encoding: str) -> list[str]:
    return list(islice(text_lines(path, encoding=encoding), MOST_ROWS))


def _is_chinese(lines: Sequence[str]) -> bool:
    """Whether it is Chinese, and mostly in common characters: Cyrillic or Greek bytes read so are in rare ones."""
    leads = [character.encode("gb18030")[0] for character in "".join(lines[:SAMPLE_LINES]) if ord(character) > 0x2E7F]
    common = sum(COMMON_LEADS[0] <= lead <= COMMON_LEADS[1] for lead in leads)
    return detect_language(lines) == "zh" and 2 * common >= len(leads)


def _is_western(lines: Sequence[str]) -> bool:
    """Whether it looks like text in Latin letters: no control characters, and letters that are mostly unaccented."""
    text = "".join(lines[:SAMPLE_LINES])
    letters = [character for character in text if character.isalpha()]
    accented = sum(not character.isascii() for character in letters)
    has_controls = any(ord(character) < 32 and character not in "\t\r\n\f" for character in text)
    return not has_controls and len(letters) > 0 and accented <= MOST_ACCENTED * len(letters)


def _read(path: Path, form: TableForm, *, wanted: Sequence[str]) -> Layout:
    table = open_table(path, form=form)
    numbered = table.rows(range(len(table.columns)))
    read = list(islice(numbered, MOST_ROWS + 1))
    numbers, raw = [number for number, _ in read], [cells for _, cells in read]
    rows = [tuple(_cell(cell, path) for cell in cells) for cells in raw]
    columns, named = list(table.columns), table.is_named
    if not table.is_named and (named := has_header(rows[0], rows[1:], wanted=wanted)):
        columns, rows, numbers = [cell.strip() for cell in rows[0]], rows[1:], numbers[1:]
    if not rows:
        raise FileEmpty(path=path)
    return Layout(
        form=replace(form, header=named),
        kind=table.format or known_format(path, form=form),
        delimiter=table.delimiter,
        columns=columns,
        is_named=named,
        rows=rows[:MOST_ROWS],
        numbers=numbers[:MOST_ROWS],
        is_complete=len(rows) <= MOST_ROWS,
        lists=_lists(raw[:MOST_ROWS], path) | _written_lists(rows[:MOST_ROWS], path),
    )


def _lists(raw: Sequence[Cells], path: Path) -> dict[int, list[Row]]:
    found = {}
    for at in {at for cells in raw for at, cell in enumerate(cells) if isinstance(cell, list)}:
        column = [[] if cells[at] is None else cells[at] for cells in raw]
        lists = [cell for cell in column if isinstance(cell, list) and all(isinstance(item, PLAIN) for item in cell)]
        if len(lists) == len(column):
            found[at] = [tuple(_cell(item, path) for item in cell) for cell in lists]
    return found


def _written_lists(rows: Sequence[Row], path: Path) -> dict[int, list[Row]]:
    """The columns whose cells are lists written as text, or empty."""
    found = {}
    for at in range(len(rows[0])):
        lists: list[Row] = []
        for row in rows:
            items = written_list(row[at]) if row[at].strip() else ()
            if items is None or not all(isinstance(item, PLAIN) for item in items):
                break
            lists.append(tuple(_cell(item, path) for item in items))
        if len(lists) == len(rows) and any(lists):
            found[at] = lists
    return found


def _cell(cell: object, path: Path) -> str:
    if isinstance(cell, str):
        return cell
    try:
        return plain_text(cell, key="", path=path, number=0)
    except RowMalformed:
        return ""


def _looks_quoted(layout: Layout) -> bool:
    """Whether " was read as a plain character although it encloses the cells of some column."""
    if layout.kind not in ("csv", "tsv") or layout.form.quoting is True:
        return False
    if layout.kind == "csv" and layout.form.quoting == "auto":
        return False
    enclosed = [
        sum(len(cell) > 1 and cell[0] == cell[-1] == '"' for cell in column) / len(layout.rows)
        for column in zip(*layout.rows, strict=True)
    ]
    return any(share >= QUOTED_SHARE for share in enclosed)


def _hides_tabs(layout: Layout) -> bool:
    """Whether a file named csv is really tsv."""
    if layout.kind == "csv" and layout.delimiter == "\t":  # in such files, " rarely encloses cells
        return True
    return layout.kind == "csv" and len(layout.columns) == 1 and all("\t" in cell for (cell,) in layout.rows)


def _is_long(cell: str) -> bool:
    """Whether the cell is longer than column names are; Chinese has no spaces, so characters are counted."""
    return len(cell) > 60 or len(cell.split()) > 6 or (not cell.isascii() and len(cell) > 12)


def _all_numbers(cells: set[str]) -> bool:
    return bool(cells) and all(_is_number(cell) for cell in cells)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
