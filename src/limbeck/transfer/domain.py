"""How similar the domain of unlabelled text is to the corpus, measured by shared words."""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, pairwise
from typing import Any

from limbeck.artifacts.corpus import Corpus
from limbeck.transfer.held_out import pieces_of
from limbeck.transfer.shingles import Piece

FAR = 0.5  # warn if less than this share of the running words appears in train
WORD = re.compile(r"\w+")
HAN_OR_WORD = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+|[^\W\u3400-\u4dbf\u4e00-\u9fff]+")


def domain_of(pieces: Iterable[Piece], *, corpus: Corpus) -> dict[str, Any]:
    """Shares of running words and of distinct words, ignoring case.

    In Chinese, every two neighbouring characters count as a word: that needs no dictionary, and single characters
    would be known from any Chinese text.
    """
    words = _chinese_words if corpus.language == "zh" else _words
    of_train = set(chain.from_iterable(_all_words(pieces_of(corpus.splits["train"]), words)))
    known, seen = _known(_all_words(pieces, words), of_train)
    dev, _ = _known(_all_words(pieces_of(corpus.splits["dev"]), words), of_train)
    return {
        "words_in_train": known,
        "dev_words_in_train": dev,
        "train_words_found": round(len(of_train & seen) / max(1, len(of_train)), 4),
    }


def _all_words(pieces: Iterable[Piece], words: Callable[[str], list[str]]) -> Iterator[list[str]]:
    return (words(text.lower()) for piece in pieces for text in piece if text is not None)


def _known(texts: Iterable[list[str]], vocabulary: set[str]) -> tuple[float, set[str]]:
    """The share of running words that are in the vocabulary, and the distinct words."""
    total = known = 0
    seen: set[str] = set()
    for words in texts:
        total += len(words)
        known += sum(map(vocabulary.__contains__, words))
        seen.update(words)
    return round(known / max(1, total), 4), seen


def _words(text: str) -> list[str]:
    return WORD.findall(text)


def _chinese_words(text: str) -> list[str]:
    runs = HAN_OR_WORD.findall(text)
    return [word for run in runs for word in (_neighbours(run) if run[0] >= "\u3400" and len(run) > 1 else [run])]


def _neighbours(run: str) -> list[str]:
    return [first + second for first, second in pairwise(run)]
