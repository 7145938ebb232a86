"""General text as windows of equal length: long documents are cut, not truncated, and short ones share a window."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from limbeck.errors import DataError, some
from limbeck.general.processes import Rows, in_processes, pieces_of
from limbeck.general.sentences import Source, order_of, text_blocks
from limbeck.progress import Bar
from limbeck.recipe.general_layers import GeneralLayers
from limbeck.recipe.transfer import Transfer
from limbeck.text.framed_tokenizer import Frame

SHORTEST_TAIL = 8  # tokens of the last window, which is shorter than the others
Windows = list[npt.NDArray[np.int32]]


class NoWindows(DataError):
    """The text has too few tokens to learn from."""

    def __init__(self, *, files: Sequence[str], windows: int) -> None:
        super().__init__(
            f"there is too little text in {some(files)}",
            found=f"windows: {windows}; there must be two or more, to learn from and to hold back",
            advice="Check `text`, `where` and `share` in [transfer], or give more text.",
        )


def windows_of(
    section: GeneralLayers, text: Transfer, sources: Sequence[Source], *, tokenizer: Path, bar: Bar
) -> tuple[Windows, Counter[str], list[str]]:
    """Windows in an order that depends on the seed, how many texts and tokens there were, and the first texts.

    With `rows` in the section of the text, so many of them. A document that occurs again is left out.
    """
    counts: Counter[str] = Counter()
    beginning: list[str] = []
    blocks = _different(text_blocks(text, sources, bar, counts), beginning, counts)
    found = in_processes(partial(pieces_of, tokenizer), blocks, size=sum(source.size for source in sources))
    before, after = frame_of(tokenizer)
    windows = [
        np.concatenate([before, content, after])
        for content in packed(found, size=section.window - len(before) - len(after), between=int(after[0]))
    ]
    order = np.random.default_rng(section.seed).permutation(len(windows))[: text.rows]
    kept = [windows[place] for place in order]
    if len(kept) < 2:
        raise NoWindows(files=[source.name for source in sources], windows=len(kept))
    counts["windows"], counts["tokens"] = len(kept), sum(map(len, kept))
    return kept, counts, beginning


def _different(blocks: Iterable[Sequence[str]], beginning: list[str], counts: Counter[str]) -> Iterator[list[str]]:
    """The texts that were not there before; the first ones are put into `beginning`."""
    seen: set[bytes] = set()
    for block in blocks:
        new = []
        for text in block:
            if text and (key := order_of(text, 0)) not in seen:
                seen.add(key)
                new.append(text)
        counts["different"] += len(new)
        beginning.extend(new[: max(0, 2_000 - len(beginning))])
        yield new


def frame_of(tokenizer: Path) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """The special tokens before and after a text; the first of the latter also stands between two documents."""
    gaps = Frame.read_off(Tokenizer.from_file(str(tokenizer)), texts=1).gaps
    before, after = (np.array([number for number, _ in gap], dtype=np.int32) for gap in gaps)
    if not len(after):
        raise DataError(
            "the teacher's tokenizer puts no special token after a text",
            found="none that could stand between two documents of a window",
            advice="Name another encoder in general.teacher, such as bert-base-uncased.",
        )
    return before, after


def packed(blocks: Iterable[Rows], *, size: int, between: int) -> Iterator[npt.NDArray[np.int32]]:
    """The documents one after the other, with a token in between, cut into pieces of `size` tokens.

    Every token of every document is in one piece. The last one is shorter, and left out if it is very short and not
    the only one.
    """
    rest, count = np.zeros(0, dtype=np.int32), 0
    for ids, lengths in blocks:
        lengths = lengths[lengths > 0]
        stream = np.insert(ids, np.cumsum(lengths), between).astype(np.int32)
        stream = np.concatenate([rest, stream])
        whole = len(stream) // size
        yield from stream[: whole * size].reshape(whole, size)
        rest, count = stream[whole * size :], count + whole
    rest = rest[:-1]  # no document follows
    if len(rest) >= SHORTEST_TAIL or (len(rest) and not count):
        yield rest
