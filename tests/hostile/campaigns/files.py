"""Data files that somebody has damaged, each read as training reads it and as `limbeck predict` does.

Both must give the same texts, or both refuse with a LimbeckError, in bounded memory and time. One thing may differ:
half a character in JSON, which `predict` answers and training refuses.
"""

import random
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path

from limbeck.corpus.file_rows import read_file
from limbeck.errors import FileEmpty, LimbeckError
from limbeck.recipe.corpus import CorpusSection
from limbeck.runtime.entries import Wanted, opened_rows
from limbeck.tables import TableForm, read_table
from limbeck.tables.table import open_table
from tests.hostile.campaigns.campaign import Campaign
from tests.hostile.campaigns.file_changes import damaged
from tests.hostile.campaigns.trials import Trial, campaign

SAME, REFUSED, HALF = CLEAN = "read, with the same texts", "refused by both", "half a character, only answered"
Texts = list[str] | LimbeckError


def files(count: int, *, seed: int = 0) -> Campaign:
    """Damage and read so many files."""
    return campaign("files", file_trial, count, seed=seed, clean=CLEAN)


def file_trial(chance: random.Random, folder: Path) -> tuple[str, Trial]:
    """A damaged file, to be read in both ways."""
    name, data, changes = damaged(chance)
    path = folder / name
    path.write_bytes(data)
    return f"{name}: {changes}", lambda: compared(path)


def compared(path: Path) -> str:
    """What comes of reading the file in both ways."""
    texts_or_error(lambda: _of_corpus(path))
    trained, asked = texts_or_error(lambda: _of_table(path)), texts_or_error(lambda: _of_predict(path))
    if isinstance(trained, LimbeckError) and isinstance(asked, LimbeckError):
        return REFUSED
    if isinstance(trained, LimbeckError) and "half a surrogate pair" in str(trained):
        return HALF  # JSON can say it and training cannot keep it; `predict` has an answer for every row
    if isinstance(trained, LimbeckError) or isinstance(asked, LimbeckError):
        return f"training: {_in_words(trained)}; predict: {_in_words(asked)}"
    return SAME if trained == asked else f"other texts: {_first_difference(trained, asked)}"


def texts_or_error(read: Callable[[], list[str]]) -> Texts:
    """The texts that are not empty; a file without rows has none."""
    try:
        texts = [text.strip() for text in read()]
        return [text for text in texts if text]
    except FileEmpty:
        return []
    except LimbeckError as error:
        str(error).encode()  # a message must be fit for a terminal
        return error


def _of_corpus(path: Path) -> list[str]:
    """As a run does, with labels; rows without one are dropped, so that texts cannot be compared."""
    rows, _, _ = read_file(CorpusSection(train=str(path)), path, split="train")
    return list(rows.texts)


def _of_table(path: Path) -> list[str]:
    """By training's reader, one column."""
    form = TableForm(txt_holds="lines")
    table = open_table(path, form=form)
    if table.batches is not None:  # predict reads all columns, so that damage in others counts here too
        for _ in table.batches(64):
            pass
    table.close()
    return [record.values[0] for record in read_table(path, form=form, columns={"text": "text"})]


def _of_predict(path: Path) -> list[str]:
    """With the column asked for, as in training; where a file has no columns, without."""
    wanted = Wanted() if path.name.removesuffix(".gz").endswith(".txt") else Wanted(text="text")
    with opened_rows(path, wanted) as rows:
        return [str(entry.row) for chunk in rows.chunks(64) for entry in chunk.entries]


def _in_words(found: Texts) -> str:
    return f"{len(found)} texts" if isinstance(found, list) else f"{type(found).__name__}: {str(found)[:200]}"


def _first_difference(some: list[str], others: list[str]) -> str:
    for at, (one, other) in enumerate(zip_longest(some, others)):
        if one != other:
            return f"{at} of {len(some)} and {len(others)}: {str(one)[:80]!r} and {str(other)[:80]!r}"
    return "none"
