"""What stands between the cells of a csv file: commas, or what some spreadsheets write in their place."""

import csv
from collections.abc import Sequence

SIGNS = (",", ";", "|")


def csv_delimiter(lines: Sequence[str]) -> str:
    """By the first lines of a file. A comma, unless the first row has none and all rows have as many of another."""
    for sign in SIGNS:
        widths = _widths(lines, sign)
        if widths and widths[0] > 1 and (sign == "," or len(set(widths)) == 1):
            return sign
    return ","


def _widths(lines: Sequence[str], sign: str) -> list[int]:
    try:
        widths = [len(cells) for cells in csv.reader(lines, delimiter=sign) if cells]
    except csv.Error:  # a cell longer than the module takes: the reader of the file will say so
        return []
    return widths[:-1] if len(widths) > 2 else widths  # the last row may go on behind these lines
