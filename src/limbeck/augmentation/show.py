"""Prints example copies: a file's texts before and after, with changed words in colour."""

import tempfile
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from rich.console import Console
from rich.text import Text

from limbeck.artifacts.rows import Rows
from limbeck.augmentation.copies import CopyMaker, Tally
from limbeck.augmentation.method import PreparationContext
from limbeck.augmentation.run import prepare_methods
from limbeck.augmentation.words import CutText, cut_words
from limbeck.errors import RecipeInvalid
from limbeck.progress import Reporter
from limbeck.recipe.augmentation import Augmentation
from limbeck.recipe.problems import problems_of
from limbeck.recipe.toml import apply_overrides
from limbeck.tables import TableForm
from limbeck.tables.formats import Column
from limbeck.tables.raw_table import find_column_as_text
from limbeck.tables.table import open_table, table_records
from limbeck.text.language import detect_language

ROWS_READ = 2_000  # parts of speech and word vectors are prepared for these
ROWS_PER_EXAMPLE = 4  # with a language model, which is slow because it is asked about every word
TRIES = 20  # copies of a row that are made until one differs from it
OLD, NEW = "red strike", "bold green"


def show_copies(
    path: Path,
    *,
    methods: Sequence[str],
    show: int,
    text: str | None,
    pair: str | None,
    header: bool,
    seed: int,
    console: Console,
    reporter: Reporter,
) -> None:
    """Print `show` rows of a file, each with a copy. A method is "kind" or "kind:key=value,key=value"."""
    section = methods_asked(methods, seed=seed)
    most = ROWS_PER_EXAMPLE * show if any(method.kind == "masked_lm" for method in section.methods) else ROWS_READ
    rows = _rows(path, text=text, pair=pair, header=header, most=most)
    language = detect_language(rows.texts)
    with tempfile.TemporaryDirectory() as store:
        copy_maker, _ = prepare_methods(section, rows, PreparationContext(language, 1, Path(store), reporter))
    for before, after in islice(_examples(copy_maker, rows), show):
        for old, new in zip(before, after, strict=True):
            for line in before_after(old, new):
                console.print(line, soft_wrap=True)
        console.print()


def methods_asked(methods: Sequence[str], *, seed: int) -> Augmentation:
    """The section for the options of the command line. Raises RecipeInvalid if they are not valid."""
    kinds, options = zip(*(method.partition(":")[::2] for method in methods), strict=True)
    raw: dict[str, Any] = {"methods": [{"kind": kind} for kind in kinds], "seed": seed}
    changes = [
        f"methods.{number}.{option}"
        for number, found in enumerate(options)
        for option in found.split(",")
        if option.strip()
    ]
    raw = apply_overrides(raw, changes, recipe="--method")
    try:
        return Augmentation.model_validate(raw)
    except ValidationError as error:
        problems = problems_of(error, raw=raw, root=Augmentation)
        raise RecipeInvalid(recipe="--method", problems=problems) from None


def before_after(before: str, after: str) -> tuple[Text, Text]:
    """Both texts, with removed words in one colour and added words in another.

    In Chinese, characters are compared: segmented again, a changed text may have other word boundaries.
    """
    old, new = cut_words(before, language="en"), cut_words(after, language="en")
    removed, added = Text(), Text()
    removed.append("- ", style="dim")
    added.append("+ ", style="dim")
    differences = SequenceMatcher(None, old.words, new.words, autojunk=False).get_opcodes()
    for kind, start, end, new_start, new_end in differences:
        _append(removed, old, start, end, style="" if kind == "equal" else OLD)
        _append(added, new, new_start, new_end, style="" if kind == "equal" else NEW)
    return removed, added


def _append(line: Text, cut: CutText, start: int, end: int, *, style: str) -> None:
    """Words with the gaps before them; gaps have no style, so that only words are struck through."""
    for gap, word in zip(cut.gaps[start:end], cut.words[start:end], strict=True):
        line.append(gap)
        line.append(word, style=style)


def _examples(copy_maker: CopyMaker, rows: Rows) -> Iterator[tuple[list[str], list[str]]]:
    """For each row with a copy that differs from it: the row and the first such copy."""
    tally = Tally.of(copy_maker.methods)
    for row_id, *texts in zip(rows.ids, rows.texts, *([] if rows.pairs is None else [rows.pairs]), strict=True):
        changed = (
            copy.sides for copy in copy_maker.copies_of(row_id, texts, tally, copies=TRIES) if copy.sides != texts
        )
        if first := next(changed, None):
            yield texts, first


def _rows(path: Path, *, text: str | None, pair: str | None, header: bool, most: int) -> Rows:
    """The first rows of the file; the text is the named column, the only one, or the one called "text"."""
    form = TableForm(header=header, txt_holds="lines", by_options=True)
    table = open_table(path, form=form)
    wanted: dict[str, Column] = {"text": 0}
    if text is not None or len(table.columns) > 1:
        wanted["text"] = find_column_as_text(table, text or "text", key="--text")
    if pair is not None:
        wanted["pair"] = find_column_as_text(table, pair, key="--pair")
    values = [record.values for record in islice(table_records(table, columns=wanted, where={}), most)]
    return Rows.of(
        ids=[f"row-{number}" for number in range(len(values))],
        texts=[value[0].strip() for value in values],
        pairs=None if pair is None else [value[1].strip() for value in values],
    )
