"""General text as sentences: long texts are cut, not truncated, and some sentences are cut to a few words."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import Protocol

from limbeck.errors import DataError, some
from limbeck.general.processes import in_processes
from limbeck.progress import Bar
from limbeck.recipe.general import General
from limbeck.recipe.transfer import Transfer
from limbeck.text.sentences import split_sentences, word_count

TEXTS_AT_ONCE = 2_000


class Source(Protocol):
    """A file, or a split of a data set."""

    @property
    def name(self) -> str: ...
    @property
    def size(self) -> int: ...
    def texts(self, watch: Callable[[int], None]) -> Iterable[tuple[str, str | None]]:
        """Its texts; calls `watch` with the bytes that were read."""


class NoSentences(DataError):
    """The text has too few sentences to learn from."""

    def __init__(self, *, files: Sequence[str], counts: Mapping[str, int]) -> None:
        super().__init__(
            f"there are too few sentences in {some(files)}",
            found=", ".join(f"{name} {count:,}" for name, count in counts.items()),
            advice="Check split_sentences, `text`, `where`, min_words and max_words in [transfer], or give more text.",
        )


def sentences_of(
    section: General, text: Transfer, sources: Sequence[Source], *, bar: Bar
) -> tuple[list[str], Counter[str]]:
    """Different sentences in an order that depends on the seed, and how many texts and sentences there were.

    With `rows` in the section of the text, so many of them.
    """
    counts: Counter[str] = Counter()
    found: dict[bytes, str] = {}
    cut = partial(cut_texts, section, text)
    blocks = text_blocks(text, sources, bar, counts)
    for sentences in in_processes(cut, blocks, size=sum(source.size for source in sources)):
        counts["sentences"] += len(sentences)
        for sentence in sentences:
            found.setdefault(order_of(sentence, section.seed), sentence)
        bar.advance(0, note=f"{len(found):,} sentences")
    counts["different"] = len(found)
    kept = [found[key] for key in sorted(found)]  # by a hash with the seed: any order of the files gives the same
    if len(kept) < 2:
        raise NoSentences(files=[source.name for source in sources], counts=counts)
    return kept[: text.rows], counts


def cut_texts(section: General, text: Transfer, texts: Sequence[str]) -> list[str]:
    """Their sentences of suitable length; some, by the seed and the sentence itself, are cut to a fragment."""
    found = []
    for whole in texts:
        sentences = split_sentences(whole, language=section.language) if text.split_sentences else [whole]
        for sentence in sentences:
            if text.min_words <= word_count(sentence, language=section.language) <= text.max_words:
                found.append(_fragment(section, sentence))
    return found


def _fragment(section: General, sentence: str) -> str:
    """The sentence, or a few words of it that follow each other."""
    chance = random.Random(order_of(sentence, section.seed))
    shortest, longest = section.fragment_words
    joint = "" if section.language == "zh" else " "
    words = list(sentence) if section.language == "zh" else sentence.split()
    if chance.random() >= section.fragments or len(words) <= shortest:
        return sentence
    length = chance.randint(shortest, min(longest, len(words)))
    first = chance.randint(0, len(words) - length)
    return joint.join(words[first : first + length])


def text_blocks(text: Transfer, sources: Sequence[Source], bar: Bar, counts: Counter[str]) -> Iterator[list[str]]:
    """The share of all texts that is used, some thousand at a time."""
    block: list[str] = []
    for source in sources:
        for whole, _ in source.texts(bar.advance):
            if text.share < 1 and int.from_bytes(order_of(whole, text.seed)[:8]) / 2**64 >= text.share:
                continue
            counts["texts"] += 1
            block.append(whole)
            if len(block) == TEXTS_AT_ONCE:
                yield block
                block = []
    yield block


def order_of(sentence: str, seed: int) -> bytes:
    """A number for each text, that it is ordered and drawn by."""
    return blake2b(f"{seed}:{sentence}".encode(errors="surrogatepass"), digest_size=16).digest()
