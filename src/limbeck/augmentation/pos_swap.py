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
    """The words of one tag, and how often these and those before them occur."""

    words: list[str]
    ends: list[int]


@dataclass(frozen=True)
class Tags:
    """The numbers of the tags of all words of many texts, packed: every process gets them, ten times as soon."""

    texts: Mapping[bytes, int]  # by content key: which text this is
    starts: "array[int]"  # of each text in `numbers`, and the end of the last one
    numbers: "array[int]"

    @classmethod
    def of(cls, named: Mapping[bytes, str], numbers: Mapping[str, int]) -> "Tags":
        """From the tags by name, with a space between them."""
        starts, packed = array("q", [0]), array("H")
        for tags in named.values():
            packed.extend([numbers[tag] for tag in tags.split()])
            starts.append(len(packed))
        return cls({key: place for place, key in enumerate(named)}, starts, packed)

    def of_text(self, key: bytes) -> "array[int]":
        """One number for each word."""
        place = self.texts[key]
        return self.numbers[self.starts[place] : self.starts[place + 1]]

    def of_word(self, key: bytes, position: int) -> int | None:
        """The number of one word's tag; None for a text that is not among these."""
        place = self.texts.get(key)
        return None if place is None else self.numbers[self.starts[place] + position]


@dataclass(frozen=True)
class SwapWithinTag(WordMethod):
    """Words are drawn as often as they occur with the tag in the rows; the word itself may be drawn, and then stays."""

    fraction: float
    tags: Tags
    drawers: list[Drawer]  # by number of the tag
    kind: str = "pos_swap"

    def change(self, source: Source, position: int, dice: Dice) -> str | None:
        """A word of the same tag; None for a text that was not there when the words were tagged."""
        tag = self.tags.of_word(source.key, position)
        if tag is None:
            return None
        words, ends = self.drawers[tag]
        return words[bisect_right(ends, pick(dice, ends[-1]))]


def pos_swap(section: PosSwap, rows: Rows, bench: Bench) -> SwapWithinTag:
    """Tag all texts of the rows, and count the words of each tag."""
    texts = {content_key(text): text for text in texts_of(rows)}
    named = tags_of_texts(texts, _tagger(section, bench.language), bench)
    numbers = {
        tag: number for number, tag in enumerate(sorted({tag for tags in named.values() for tag in tags.split()}))
    }
    counts: list[Counter[str]] = [Counter() for _ in numbers]
    tags = Tags.of(named, numbers)
    for text in texts_of(rows):
        words = cut_words(text, language=bench.language).words
        for word, number in zip(words, tags.of_text(content_key(text)), strict=True):
            counts[number][word] += 1
    drawers = [Drawer(list(count), list(accumulate(count.values()))) for count in counts]
    return SwapWithinTag(section.fraction, tags, drawers)


def _tagger(section: PosSwap, language: str) -> Tagger:
    if section.tagger != "auto":
        return section.tagger
    return "jieba" if language == "zh" else "hanta"
