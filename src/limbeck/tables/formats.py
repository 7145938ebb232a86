"""Which kind of file it is, by its ending or its first lines, and what is between the cells of a csv file."""

import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from limbeck.errors import FileUnreadable

Column = str | int
FileFormat = Literal["auto", "csv", "tsv", "jsonl", "parquet", "lines", "fasttext"]
KnownFormat = Literal["csv", "tsv", "jsonl", "parquet", "lines"]
Quoting = Literal["auto"] | bool

ENDINGS: dict[str, KnownFormat] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
SHEETS = (".xlsx", ".xlsm")  # read as csv is, by openpyxl
SPREADSHEET = "Save the sheet as csv (UTF-8) and give that file."
TO_PARQUET = "Save the table as parquet, jsonl or csv and give that file."
NOT_READ: dict[str, str] = {  # by ending, what to do instead
    **dict.fromkeys((".xls", ".ods"), SPREADSHEET),
    **dict.fromkeys((".arrow", ".feather", ".orc", ".avro", ".pkl", ".pickle"), TO_PARQUET),
}
COLUMN_NAME = re.compile(r"[^\W\d]\w{0,29}")
LEAST_LINES = 3  # by which plain lines are suspected to be a table
FIRST_LINES = 20  # of a file, by which its format and delimiter are found
DECLARED = re.compile(r'"?sep=(.)"?', re.IGNORECASE)
FASTTEXT_LABEL = "__label__"
SIGNS = (",", ";", "|", "\t")
JSON_ROWS = re.compile(r"\s*(\{|\[\s*(\{|\]|$))")  # an object, or an array of objects, maybe an empty one


class SaysForm(Protocol):
    """What a section of a recipe says about its files."""

    @property
    def format(self) -> FileFormat: ...
    @property
    def header(self) -> bool: ...
    @property
    def quoting(self) -> Quoting: ...
    @property
    def encoding(self) -> str: ...


@dataclass(frozen=True)
class TableForm:
    """How a file is to be read; the first four fields mean what they mean in the recipe."""

    format: FileFormat = "auto"
    header: bool = True
    quoting: Quoting = "auto"
    encoding: str = "utf-8"
    txt_holds: Literal["tsv", "lines"] = "tsv"  # what "auto" takes a .txt file for
    by_options: bool = False  # options of a command say all this, so that advice names them and not a recipe's keys
    # Every row comes out again, so none is dropped and none is refused for what only training cannot keep: blank lines
    # of plain text are rows, with the white space around texts, and half a surrogate pair passes.
    is_echoed: bool = False

    @classmethod
    def of(cls, section: SaysForm, *, txt_holds: Literal["tsv", "lines"] = "tsv") -> "TableForm":
        """As a section of the recipe says."""
        return cls(
            format=section.format,
            header=section.header,
            quoting=section.quoting,
            encoding=section.encoding,
            txt_holds=txt_holds,
        )

    def say(self, key: str, value: str) -> str:
        """A setting as the user would write it: as an option, or as a line of the recipe."""
        if not self.by_options:
            written = value if value in ("true", "false") else f'"{value}"'
            return f"say {key} = {written} in the recipe"
        switches = {"true": f"add --{key}", "false": f"add --no-{key}"}
        return switches.get(value, f"add --{key} {value}")


DEFAULT = TableForm()


def ending_of(path: Path) -> str:
    """What a file's name says about its contents, in lower case; that they are packed does not count."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def is_sheet(path: Path, *, form: TableForm = DEFAULT) -> bool:
    """Whether it is a spreadsheet, by its ending."""
    return form.format == "auto" and ending_of(path) in SHEETS


def named_format(path: Path, *, form: TableForm = DEFAULT) -> KnownFormat | None:
    """The format that was asked for, else the one that the ending names; None where it names none.

    Raises FileUnreadable for the endings of formats that are never read.
    """
    if form.format == "fasttext":
        return "csv"  # which is what it becomes
    if form.format != "auto":
        return form.format
    ending = ending_of(path)
    if ending in SHEETS:
        return "csv"
    if ending in NOT_READ:
        reason = f"{ending} files are not supported"
        raise FileUnreadable(path=path, kind="rows", reason=reason, advice=NOT_READ[ending])
    return form.txt_holds if ending == ".txt" else ENDINGS.get(ending)


def known_format(path: Path, *, form: TableForm = DEFAULT) -> KnownFormat:
    """As `named_format`; raises where nothing names it."""
    found = named_format(path, form=form)
    if found is None:
        known = ", ".join([*ENDINGS, ".txt"])
        reason = f"its ending '{ending_of(path)}' names no format; known endings: {known}, each also with .gz"
        raise FileUnreadable(path=path, kind="rows", reason=reason)
    return found


def format_by_content(
    head: Callable[[int], str], *, is_table: bool, names: Sequence[str] = ()
) -> Literal["csv", "tsv", "jsonl", "lines"]:
    """By the first lines of a text file. What is not JSON is csv or tsv if `is_table`, else plain lines.

    A first line in which one of several cells is one of the `names` makes it a table too. `head` gives the first lines.
    An array may be one line of any length, so none is asked for before that is known.
    """
    if JSON_ROWS.match(head(0)):
        return "jsonl"
    first = head(1).partition("\n")[0]
    if not is_table and not any(name in cells for cells in _split(first) if len(cells) > 1 for name in names):
        return "lines"
    return "tsv" if "\t" in first else "csv"


def is_fasttext(head: Callable[[int], str]) -> bool:
    """Whether every one of the first lines begins with a label as fastText has them; `head` as above."""
    if not head(0).lstrip().startswith(FASTTEXT_LABEL[0]):
        return False
    lines = [line for line in head(FIRST_LINES).split("\n")[:FIRST_LINES] if line.strip()]
    return bool(lines) and all(line.startswith(FASTTEXT_LABEL) for line in lines)


def unread_columns(head: str) -> list[str]:
    """The columns that plain lines seem to have: names in the first line, and as many cells in those below."""
    lines = [line.rstrip("\r") for line in head.split("\n")[:FIRST_LINES] if line.strip()]
    if len(lines) < LEAST_LINES:
        return []
    for sign in SIGNS:
        names = [cell.strip('"') for cell in lines[0].split(sign)]  # a blank after a comma is one of a sentence
        widths = set(_widths(lines, sign))
        if len(names) > 1 and widths == {len(names)} and all(COLUMN_NAME.fullmatch(name) for name in names):
            return names
    return []


def _split(line: str) -> list[list[str]]:
    """The cells of a line, without blanks and quotes around them, for each of SIGNS."""
    return [[cell.strip().strip('"') for cell in line.split(sign)] for sign in SIGNS]


class CsvSigns(NamedTuple):
    """What is between the cells of a csv file."""

    delimiter: str
    skips_blanks: bool = False  # after the delimiter, so that a quote behind them encloses a cell
    is_declared: bool = False  # by a first line `sep=;`, as Excel writes it, which is no row


def csv_signs(head: str, *, header: bool) -> CsvSigns:
    """By the first lines of a file: the first of SIGNS that all rows have as many of, else a comma.

    One row alone without a header above it does not tell anything but a comma: a text may have a ; in it.
    """
    lines = list(io.StringIO(head, newline=""))[:FIRST_LINES]
    if lines and (declared := DECLARED.fullmatch(lines[0].strip())):
        sign = declared[1]
        return CsvSigns(sign, skips_blanks=_has_blank_quotes(lines[1:], sign), is_declared=True)
    for skips_blanks in (False, True):
        for sign in SIGNS:
            if skips_blanks and not _has_blank_quotes(lines, sign):
                continue
            widths = _widths(lines, sign, skips_blanks=skips_blanks)
            if widths and widths[0] > 1 and len(set(widths)) == 1 and (header or len(widths) > 1):
                return CsvSigns(sign, skips_blanks=_has_blank_quotes(lines, sign))
    return CsvSigns(",")


def _has_blank_quotes(lines: Sequence[str], sign: str) -> bool:
    """Whether quotes behind blanks enclose cells: `2, "bread, and butter"`; so that all rows are as wide as the first.

    Where a cell goes on after its closing quote, they do not.
    """
    if not any(re.search(rf'{re.escape(sign)} +"', line) for line in lines):
        return False
    widths = _widths(lines, sign, skips_blanks=True)
    return bool(widths) and len(set(widths)) == 1


def _widths(lines: Sequence[str], sign: str, *, skips_blanks: bool = False) -> list[int]:
    try:
        reader = csv.reader(lines, delimiter=sign, skipinitialspace=skips_blanks, strict=skips_blanks)
        widths = [len(cells) for cells in reader if cells and (cells[1:] or cells[0].strip())]
    except csv.Error:  # a cell longer than the module takes: the reader of the file will say so
        return []
    return widths[:-1] if len(widths) > 2 else widths  # the last row may go on behind these lines
