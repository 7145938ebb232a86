"""The texts of a file without labels: which column they are in, and each distinct one once."""

from collections.abc import Sequence
from pathlib import Path

from limbeck.artifacts.rows import Rows, content_keys
from limbeck.drafting.column_profile import profiles_of
from limbeck.drafting.inspection import column_of
from limbeck.drafting.layout import Layout, find_layout, find_lines
from limbeck.drafting.roles import lines_of_examples, with_examples
from limbeck.drafting.unlabelled import TEXT_NAMES
from limbeck.errors import DataError, TooFewRows
from limbeck.recipe.corpus import Column
from limbeck.tables import read_table

FEWEST = 20  # texts, below which nothing can be learned


class TextUnclear(DataError):
    """It cannot be seen which column of a file has the texts."""

    def __init__(self, *, path: Path, columns: dict[str, str]) -> None:
        self.columns = columns
        super().__init__(
            f"cannot tell which column of '{path}' is the text",
            found="\n".join(["its columns, with an example of each:", *lines_of_examples(columns)]),
            advice="Name it: --text COLUMN",
        )


def read_texts(path: Path, *, text: Column | None = None, pair: Column | None = None) -> Rows:
    """The distinct texts, in the order of the file, without white space around them. Raises DataError."""
    layout = _layout(path, wanted=[name for name in (text, pair) if isinstance(name, str)])
    columns: dict[str, Column] = {"text": _text_column(layout, path) if text is None else text}
    if pair is not None:
        columns["pair"] = pair
    texts, pairs = list[str](), list[str]()
    for record in read_table(path, form=layout.form, columns=columns):
        first, *second = (cell.strip() for cell in record.values)
        if first and all(second):
            texts.append(first)
            pairs.extend(second)
    rows = _distinct(texts, pairs if pair is not None else None)
    if len(rows) < FEWEST:
        raise TooFewRows(what=f"'{path}' without repeated and empty texts", rows=len(rows), needed=FEWEST)
    return rows


def _layout(path: Path, *, wanted: Sequence[str]) -> Layout:
    if path.name.lower().removesuffix(".gz").endswith(".txt") and not wanted:
        return find_lines(path)
    return find_layout(path, wanted=wanted, least_columns=1)


def _text_column(layout: Layout, path: Path) -> Column:
    """The column with a usual name, else the only one of running text."""
    if layout.kind == "lines" or len(layout.columns) == 1:
        return column_of(layout, 0)
    names = {name.lower(): position for position, name in reversed(list(enumerate(layout.columns)))}
    if usual := [names[name] for name in TEXT_NAMES if name in names]:
        return column_of(layout, usual[0])
    running = [profile for profile in profiles_of(layout) if profile.is_text and profile.is_varied]
    if len(running) != 1:
        raise TextUnclear(path=path, columns=with_examples(layout))
    return column_of(layout, running[0].position)


def _distinct(texts: Sequence[str], pairs: Sequence[str] | None) -> Rows:
    kept: dict[bytes, int] = {}
    for place, key in enumerate(content_keys(texts, pairs) if texts else ()):
        kept.setdefault(key.tobytes(), place)
    places = list(kept.values())
    return Rows.of(
        ids=[f"text-{place}" for place in places],
        texts=[texts[place] for place in places],
        pairs=None if pairs is None else [pairs[place] for place in places],
    )
