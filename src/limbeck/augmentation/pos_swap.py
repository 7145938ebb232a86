"""Swapping within a part of speech: a word becomes another with the same tag (Tang et al. 2019)."""

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from limbeck.artifacts.rows import Rows, content_key
from limbeck.augmentation.method import Bench, Dice, Source, WordMethod, pick, texts_of
from limbeck.augmentation.tag_store import tags_of_texts
from limbeck.augmentation.tagging import Tagger
from limbeck.augmentation.words import cut_words
from limbeck.recipe.augmentation import PosSwap


class Drawer(NamedTuple):
    """The words of one tag, and how often these and those before them occur in train."""

    words: list[str]
    ends: list[int]


@dataclass(frozen=True)
class SwapWithinTag(WordMethod):
    """Words are drawn as often as they occur with the tag in train; the word itself may be drawn, and then stays."""

    fraction: float
    tags: Mapping[bytes, "array[int]"]  # by content key of the text: for each word the number of its tag
    drawers: list[Drawer]  # by number of the tag
    kind: str = "pos_swap"

    def change(self, source: Source, position: int, dice: Dice) -> str | None:
        """A word of the same tag; None for a text that was not there when the words were tagged."""
        tags = self.tags.get(source.key)
        if tags is None:
            return None
        words, ends = self.drawers[tags[position]]
        return words[bisect_right(ends, pick(dice, ends[-1]))]


def pos_swap(section: PosSwap, rows: Rows, bench: Bench) -> SwapWithinTag:
    """Tag all texts of the rows, and count the words of each tag."""
    texts = {content_key(text): text for text in texts_of(rows)}
    named = tags_of_texts(texts, _tagger(section, bench.language), bench)
    numbers = {
        tag: number for number, tag in enumerate(sorted({tag for tags in named.values() for tag in tags.split()}))
    }
    counts: list[Counter[str]] = [Counter() for _ in numbers]
    tags = {key: array("H", [numbers[tag] for tag in found.split()]) for key, found in named.items()}
    for text in texts_of(rows):
        words = cut_words(text, language=bench.language).words
        for word, number in zip(words, tags[content_key(text)], strict=True):
            counts[number][word] += 1
    drawers = [Drawer(list(count), list(accumulate(count.values()))) for count in counts]
    return SwapWithinTag(section.fraction, tags, drawers)


def _tagger(section: PosSwap, language: str) -> Tagger:
    if section.tagger != "auto":
        return section.tagger
    return "jieba" if language == "zh" else "hanta"
