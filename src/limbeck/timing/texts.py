"""The texts of a bench: from a file, or built in; ordered so that any first few have all lengths."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from math import gcd
from pathlib import Path

from limbeck.errors import FileEmpty, NothingToPredict
from limbeck.runtime.entries import Wanted, opened_rows
from limbeck.runtime.row import Row, characters, stripped
from limbeck.timing.sample_texts import CHINESE, ENGLISH

MOST_ROWS = 4_096
GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True)
class TextFile:
    """A file of texts, as `limbeck predict` reads it."""

    path: Path
    text: str | None = None
    pair: str | None = None
    header: bool = True


def own_rows(language: str, *, pair: bool) -> list[Row]:
    """The built-in texts: Chinese for Chinese models, English for all others."""
    texts = CHINESE if language == "zh" else ENGLISH
    if not pair:
        return list(texts)
    return list(zip(texts, [*texts[1:], texts[0]], strict=True))


def file_rows(file: TextFile, *, pair: bool) -> list[Row]:
    """The rows of a file, at most the first MOST_ROWS that are not empty. Raises if all are empty."""
    if file.pair is not None and not pair:
        raise NothingToPredict(reason="the models read one text per row, not two", advice="Remove `--pair`.")
    wanted = Wanted(text=file.text, pair=file.pair, is_pair=pair)
    with opened_rows(file.path, wanted, header=file.header) as found:
        texts = (stripped(entry.row) for entry in found.entries())
        rows = list(islice((row for row in texts if characters(row)), MOST_ROWS))
    if not rows:
        raise FileEmpty(path=file.path)
    return rows


def mixed(rows: Sequence[Row]) -> list[Row]:
    """All rows, short and long ones evenly mixed: a slow model that sees only the first few sees the same lengths.

    Goes through the rows sorted by length in golden-ratio steps.
    """
    by_length = sorted(rows, key=characters)
    step = max(1, round(GOLDEN * len(rows)))
    while gcd(step, len(rows)) > 1:
        step += 1
    return [by_length[number * step % len(rows)] for number in range(len(rows))]
