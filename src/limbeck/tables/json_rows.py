"""Rows of JSON files: one object a line, or an array of objects; the first row's keys are the columns."""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from limbeck.errors import FileEmpty, RowMalformed
from limbeck.tables.formats import TableForm
from limbeck.tables.opening import LONGEST_ROW, TextInput, row_too_long
from limbeck.tables.raw_table import ABSENT, NumberedCells, NumberedObject, RawTable

ONE_OBJECT = 'Every line must hold one JSON object, e.g. {"text": "fine", "label": "positive"}.'
IN_ARRAY = 'The array must hold objects, e.g. [{"text": "fine", "label": "positive"}].'
WHOLE_CHARACTERS = "Write the text again without cutting characters in two."
LONGEST_TOKEN = 16  # characters of what JSON may be cut within, other than a string: a number's sign, \ud83d, -Infinity
GAP = re.compile(r"\s*")
DECODER = json.JSONDecoder()


def json_table(text: TextInput, *, form: TableForm) -> RawTable:
    """A file of JSON objects: an array if it starts as one, else one a line."""
    is_array = text.head(0).lstrip().startswith("[")
    objects = _array_objects(text, form=form) if is_array else _line_objects(text, form=form)
    first = next(objects, None)
    if first is None:
        raise FileEmpty(path=text.path)
    columns = list(first[1])
    whole = chain([first], objects)

    def rows(positions: Sequence[int]) -> Iterator[NumberedCells]:
        keys = [columns[position] for position in positions]
        for number, row in whole:
            yield number, tuple(row.get(key, ABSENT) for key in keys)

    return RawTable(
        path=text.path,
        columns=columns,
        is_named=True,
        rows=rows,
        format="jsonl",
        objects=lambda: whole,
        is_drained=lambda: text.drained,
        close=text.close,
    )


def _line_objects(text: TextInput, *, form: TableForm) -> Iterator[NumberedObject]:
    for number, line in enumerate(text.lines(), start=1):
        if line and not line.isspace():
            try:
                row = DECODER.decode(line)
            except (ValueError, RecursionError) as error:
                raise _malformed(text, number, f"not valid JSON: {error}", advice=ONE_OBJECT) from None
            if not isinstance(row, dict):
                raise _no_object(text, number, row, advice=ONE_OBJECT)
            if "\\u" in line and not form.is_echoed:
                _refuse_halves(row, text, number)
            yield number, row


def _array_objects(text: TextInput, *, form: TableForm) -> Iterator[NumberedObject]:
    """The elements of an array, in the memory that the longest of them takes."""
    array = _ArrayText(text)
    number, sign = 0, array.sign()
    if not array.ends_here():
        while sign != "]":
            number += 1
            row, written = array.element(number)
            if not isinstance(row, dict):
                raise _no_object(text, number, row, advice=IN_ARRAY)
            if "\\u" in written and not form.is_echoed:
                _refuse_halves(row, text, number)
            yield number, row
            if (sign := array.sign()) not in (",", "]"):
                found = f"not valid JSON: {sign!r} behind it" if sign else "the array is not closed behind it"
                raise _malformed(text, number, found, advice=IN_ARRAY)
    if sign := array.sign():
        raise _malformed(text, number, f"not valid JSON: {sign!r} behind the array", advice=IN_ARRAY)


class _ArrayText:
    """The text of a JSON array, of which no more is kept than the element that is read."""

    def __init__(self, text: TextInput) -> None:
        self._source, self._blocks = text, text.blocks()
        self._text, self._at = "", 0

    def sign(self) -> str:
        """The next character that is no white space; "" at the end."""
        if self._skip_blanks():
            self._at += 1
            return self._text[self._at - 1]
        return ""

    def ends_here(self) -> bool:
        """Whether the array's end comes next, which is then taken."""
        if self._skip_blanks() and self._text[self._at] == "]":
            self._at += 1
            return True
        return False

    def element(self, number: int) -> tuple[Any, str]:
        """The next element, and how it is written."""
        self._skip_blanks()
        while True:
            start = self._at
            try:
                row, self._at = DECODER.raw_decode(self._text, start)
                break
            except json.JSONDecodeError as error:
                unread = len(self._text) - start
                if unread > LONGEST_ROW:  # a fault that looks like an object's end to come is found out here
                    raise row_too_long(self._source.path, number) from None
                # A pipe may have no more to give than this element; a file is asked for more each time.
                if not self._goes_on(error) or not self._more(1 if self._source.is_live else unread):
                    raise _malformed(self._source, number, f"not valid JSON: {error.msg}", advice=IN_ARRAY) from None
            except (ValueError, RecursionError) as error:  # a number of thousands of digits, or nested too deeply
                raise _malformed(self._source, number, f"not valid JSON: {error}", advice=IN_ARRAY) from None
        # What goes on behind it and has no } holds no other object.
        self._source.drained = self._source.is_live and self._text.find("}", self._at) < 0
        return row, self._text[start : self._at]

    def _goes_on(self, error: json.JSONDecodeError) -> bool:
        """Whether the element may be valid once more of the text is there."""
        return error.msg.startswith("Unterminated string") or error.pos > len(self._text) - LONGEST_TOKEN

    def _skip_blanks(self) -> bool:
        """Go to the next character that is no white space; False where none comes."""
        while True:
            self._at = GAP.match(self._text, self._at).end()  # type: ignore[union-attr]  # matches always
            if self._at < len(self._text):
                return True
            if not self._more(1):
                return False

    def _more(self, least: int) -> bool:
        """Read at least this many characters, if there are any; what was taken is dropped."""
        pieces, added = [self._text[self._at :]], 0
        while added < least and (block := next(self._blocks, None)) is not None:
            pieces.append(block)
            added += len(block)
        self._text, self._at = "".join(pieces), 0
        return added > 0


def _refuse_halves(row: dict[str, Any], text: TextInput, number: int) -> None:
    """Half of a surrogate pair is valid JSON, but no text that could be kept."""
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise _malformed(text, number, "half a surrogate pair (\\ud8…)", advice=WHOLE_CHARACTERS) from None


def _no_object(text: TextInput, number: int, found: object, *, advice: str) -> RowMalformed:
    return _malformed(text, number, f"JSON, but a {type(found).__name__} and no object", advice=advice)


def _malformed(text: TextInput, number: int, reason: str, *, advice: str) -> RowMalformed:
    return RowMalformed(path=text.path, row=number, reason=reason, advice=advice)
