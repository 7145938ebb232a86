"""Rows of jsonl files: one JSON object a line; the first row's keys are the columns."""

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from limbeck.errors import FileEmpty, RowMalformed
from limbeck.tables.opening import text_lines
from limbeck.tables.raw_table import ABSENT, NumberedCells, RawTable, Watch

ONE_OBJECT = 'Every line must hold one JSON object, e.g. {"text": "fine", "label": "positive"}.'
NumberedObject = tuple[int, dict[str, Any]]


def json_table(path: Path, *, encoding: str, watch: Watch) -> RawTable:
    """A jsonl file."""
    objects = _objects(path, encoding=encoding, watch=watch)
    first = next(objects, None)
    if first is None:
        raise FileEmpty(path=path)
    columns = list(first[1])

    def rows(positions: Sequence[int]) -> Iterator[NumberedCells]:
        keys = [columns[position] for position in positions]
        for number, row in chain([first], objects):
            yield number, tuple(row.get(key, ABSENT) for key in keys)

    return RawTable(path=path, columns=columns, is_named=True, rows=rows)


def _objects(path: Path, *, encoding: str, watch: Watch) -> Iterator[NumberedObject]:
    for number, line in enumerate(text_lines(path, encoding=encoding, newline="\n", watch=watch), start=1):
        if line.strip():
            yield number, _object(line, path=path, number=number)


def _object(line: str, *, path: Path, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
        if "\\u" in line:  # half of a surrogate pair is valid JSON, but no text
            json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise RowMalformed(path=path, row=number, reason="half a surrogate pair (\\ud8…)", advice=_BROKEN) from None
    except (ValueError, RecursionError) as error:
        raise RowMalformed(path=path, row=number, reason=f"not valid JSON: {error}", advice=ONE_OBJECT) from None
    if not isinstance(row, dict):
        found = f"JSON, but a {type(row).__name__} and no object"
        raise RowMalformed(path=path, row=number, reason=found, advice=ONE_OBJECT)
    return row


_BROKEN = "Write the text again without cutting characters in two."
