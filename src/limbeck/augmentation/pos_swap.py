"""Swapping within a part of speech: a word is replaced by another with the same tag (Tang et al. 2019)."""

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from limbeck.artifacts.rows import KEY_BYTES, Rows, content_key
from limbeck.augmentation.method import PreparationContext, Rng, SourceText, WordMethod, pick, texts_of
from limbeck.augmentation.prediction_store import keep, stored_batches
from limbeck.augmentation.processes import spread, worthwhile
from limbeck.augmentation.tagging import HANTA_MODELS, Tagger, tag_texts, tagger_id
from limbeck.augmentation.words import cut_words
from limbeck.recipe.augmentation import PosSwap


class TagWords(NamedTuple):
    """The words of one tag, and their cumulative counts."""

    words: list[str]
    ends: list[int]


@dataclass(frozen=True)
class Tags:
    """The tag numbers of all words of many texts, packed: that makes sending them to processes ten times as fast."""

    texts: Mapping[bytes, int]  # the number of a text by its content key
    starts: "array[int]"  # of each text in `numbers`, and the end of the last one
    numbers: "array[int]"

    @classmethod
    def of(cls, named: Mapping[bytes, str], numbers: Mapping[str, int]) -> "Tags":
        """From the names of the tags, separated by spaces."""
        starts, packed = array("q", [0]), array("H")
        for tags in named.values():
            packed.extend([numbers[tag] for tag in tags.split()])
            starts.append(len(packed))
        return cls({key: number for number, key in enumerate(named)}, starts, packed)

    def of_text(self, key: bytes) -> "array[int]":
        """One number for each word."""
        text = self.texts[key]
        return self.numbers[self.starts[text] : self.starts[text + 1]]

    def of_word(self, key: bytes, position: int) -> int | None:
        """The number of one word's tag; None for an unknown text."""
        text = self.texts.get(key)
        return None if text is None else self.numbers[self.starts[text] + position]


@dataclass(frozen=True)
class SwapWithinTag(WordMethod):
    """Words are drawn in proportion to their count with this tag in the rows; a word may be replaced by itself."""

    fraction: float
    tags: Tags
    words_of_tag: list[TagWords]  # by number of the tag
    kind: str = "pos_swap"

    def change(self, source: SourceText, position: int, rng: Rng) -> str | None:
        """A word with the same tag; None for a text that was not tagged."""
        tag = self.tags.of_word(source.key, position)
        if tag is None:
            return None
        words, ends = self.words_of_tag[tag]
        return words[bisect_right(ends, pick(rng, ends[-1]))]


def pos_swap(section: PosSwap, rows: Rows, context: PreparationContext) -> SwapWithinTag:
    """Tag all texts of the rows, and count the words of each tag."""
    texts, tagger = {content_key(text): text for text in texts_of(rows)}, _tagger(section, context.language)
    if tagger == "hanta" and context.language not in HANTA_MODELS:
        context.reporter.note(f"  pos_swap: HanTa has no model for '{context.language}', so its English one tags words")
    named = tags_of_texts(texts, tagger, context)
    numbers = {
        tag: number for number, tag in enumerate(sorted({tag for tags in named.values() for tag in tags.split()}))
    }
    counts: list[Counter[str]] = [Counter() for _ in numbers]
    tags = Tags.of(named, numbers)
    for text in texts_of(rows):
        words = cut_words(text, language=context.language).words
        for word, number in zip(words, tags.of_text(content_key(text)), strict=True):
            counts[number][word] += 1
    words_of_tag = [TagWords(list(count), list(accumulate(count.values()))) for count in counts]
    return SwapWithinTag(section.fraction, tags, words_of_tag)


def _tagger(section: PosSwap, language: str) -> Tagger:
    if section.tagger != "auto":
        return section.tagger
    return "jieba" if language == "zh" else "hanta"


SCHEMA = pa.schema([("key", pa.binary(KEY_BYTES)), ("tags", pa.large_string())])
TEXTS_AT_ONCE = 256  # one task
TASKS_PER_FILE = 64  # the most tasks that a killed run has to repeat
CHARACTERS_PER_SECOND = 150_000  # tagged by one process, approximately


def tags_of_texts(texts: Mapping[bytes, str], tagger: Tagger, context: PreparationContext) -> dict[bytes, str]:
    """For each text, by content key, the tags of its words; from the store if it has them."""
    folder = context.store / tagger_id(tagger, language=context.language)
    tags = dict(_stored(folder, texts))
    missing = [text for key, text in texts.items() if key not in tags]
    if not missing:
        return tags
    processes = worthwhile(context.processes, seconds=sum(map(len, missing)) / CHARACTERS_PER_SECOND)
    tasks = [missing[start : start + TEXTS_AT_ONCE] for start in range(0, len(missing), TEXTS_AT_ONCE)]
    found: dict[bytes, str] = {}
    with context.reporter.bar("tagging parts of speech", total=len(missing), unit="texts") as bar:
        results = spread(tag_texts, tasks, shared=(tagger, context.language), processes=processes)
        for number, (task, result) in enumerate(zip(tasks, results, strict=True), start=1):
            found.update(zip(map(content_key, task), result, strict=True))
            bar.advance(len(task))
            if number % TASKS_PER_FILE == 0 or number == len(tasks):
                keep(folder, pa.table([list(found), list(found.values())], schema=SCHEMA))
                tags |= found
                found = {}
    return tags


def _stored(folder: Path, wanted: Mapping[bytes, str]) -> Iterator[tuple[bytes, str]]:
    """The tags of those wanted texts that are in the store."""
    for batch in stored_batches(folder):
        keys, tags = (batch.column(name).to_pylist() for name in SCHEMA.names)
        yield from ((key, found) for key, found in zip(keys, tags, strict=True) if key in wanted)
