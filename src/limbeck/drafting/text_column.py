"""Which column of an unlabelled file is the text: the corpus's own name for it, a usual one, or what it holds."""

from collections.abc import Sequence
from pathlib import Path

from limbeck.drafting.inspection import Inspection
from limbeck.drafting.layout import Layout
from limbeck.drafting.roles import guess_texts, with_examples
from limbeck.drafting.sketch import Sketch, sketches_of
from limbeck.errors import TransferTextUnclear
from limbeck.recipe.corpus import Column

TEXT_NAMES = (  # the first that is there is taken
    *("text", "sentence", "review", "reviews", "comment", "content", "body", "document", "message", "tweet", "post"),
    *("review_text", "review_body", "text_a", "sentence1", "title", "headline", "question", "query"),
)


def find_texts(layout: Layout, *, path: Path, corpus: Inspection) -> tuple[int, int | None]:
    """The positions of the text and, where the corpus is about pairs, of the second text.

    Raises TransferTextUnclear where there is none.
    """
    sketches = [sketch for sketch in sketches_of(layout) if sketch.is_text and any(map(str.strip, sketch.cells))]
    wanted = [corpus.text] if corpus.pair is None else [corpus.text, corpus.pair]
    positions = _same(wanted, sketches) or _guessed(layout, sketches, wants_pair=corpus.pair is not None)
    if positions is None:
        raise TransferTextUnclear(path=path, wanted=[str(name) for name in wanted], columns=with_examples(layout))
    return positions[0], positions[1] if corpus.pair is not None else None


def _same(wanted: Sequence[Column], sketches: Sequence[Sketch]) -> list[int] | None:
    """The columns that the corpus has: by their names or, where neither file has names, by their places."""
    sure = [sketch for sketch in sketches if sketch.name or _is_running_text(sketch)]
    by_key: dict[Column, int] = {sketch.name or sketch.position: sketch.position for sketch in sure}
    return [by_key[column] for column in wanted] if all(column in by_key for column in wanted) else None


def _guessed(layout: Layout, sketches: Sequence[Sketch], *, wants_pair: bool) -> list[int] | None:
    names = {sketch.name.lower(): sketch.position for sketch in reversed(sketches)}
    if not wants_pair and (usual := [names[name] for name in TEXT_NAMES if name in names]):
        return usual[:1]
    running = [sketch for sketch in sketches if len(layout.columns) == 1 or _is_running_text(sketch)]
    found = guess_texts(running, wants_pair=wants_pair)
    return list(found.values()) if len(found) == 1 + wants_pair else None


def _is_running_text(sketch: Sketch) -> bool:
    """Whether it is a text of its own in each row, and no label."""
    return sketch.is_varied and not sketch.is_named_label and not sketch.is_split
