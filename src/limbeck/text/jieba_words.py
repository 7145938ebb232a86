"""jieba as functions from characters to words and tags, without its log lines and its file in the temporary folder."""

import warnings
from collections.abc import Callable, Mapping
from functools import cache
from types import ModuleType
from typing import Any

from limbeck.errors import DependencyMissing

Cut = Callable[[str], list[str]]
FIRST_HAN = "\u2e80"  # every ideograph is at or above it; every European letter, digit and mark is below


def jieba_cut() -> Cut:
    """A function that cuts Han text into words with jieba and leaves other text uncut."""
    segmenter = _segmenter(_import_jieba())

    def cut(unit: str) -> list[str]:
        if len(unit) == 1 or unit[0] < FIRST_HAN:
            return [unit]
        words: list[str] = segmenter.lcut(unit)
        return words

    return cut


def jieba_tags() -> Cut:
    """A function from a word to its part of speech, or to several if jieba splits the word."""
    segmenter = _segmenter(_import_jieba())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from jieba.posseg import POSTokenizer
    tagger = POSTokenizer(segmenter)

    def tags_of(word: str) -> list[str]:
        return [piece.flag for piece in tagger.lcut(word)]

    return tags_of


def jieba_dictionary() -> Mapping[str, int]:
    """jieba's count of each word; prefixes of words that are not words themselves have the count 0."""
    counts: Mapping[str, int] = _segmenter(_import_jieba()).FREQ
    return counts


@cache
def _segmenter(jieba: ModuleType) -> Any:
    """Does what jieba's `initialize` does, without its log lines and its shared cache file."""
    segmenter = jieba.Tokenizer()
    segmenter.FREQ, segmenter.total = segmenter.gen_pfdict(segmenter.get_dict_file())
    segmenter.initialized = True
    return segmenter


def _import_jieba() -> ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about its invalid escapes and pkg_resources
        try:
            import jieba
        except ModuleNotFoundError as error:
            if error.name != "jieba":
                raise
            raise DependencyMissing(package="jieba", purpose="cutting Chinese text into words", extra="zh") from None
    module: ModuleType = jieba
    return module
