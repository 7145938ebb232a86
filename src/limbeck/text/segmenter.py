"""A tokenizer.json whose text is segmented by jieba before its words are looked up."""

import json
from typing import Literal, cast

from tokenizers import NormalizedString, PreTokenizedString, Tokenizer
from tokenizers.pre_tokenizers import PreTokenizer, Sequence

from limbeck.text.jieba_words import jieba_cut

Segmenter = Literal["longest_match", "jieba"]
MARK = "segmenter"  # a key in addition to the library's own, at the top of the JSON


def marked_jieba(json_text: str) -> str:
    """The tokenizer.json with the mark that its text is segmented by jieba. Without us, the library refuses to read it,
    which is better than giving other words."""
    return json.dumps({MARK: "jieba", **json.loads(json_text)}, ensure_ascii=False)


def opened(json_text: str) -> Tokenizer:
    """The tokenizer of a tokenizer.json, with jieba and its dictionary loaded if the file has the mark.

    Raises DependencyMissing if jieba is needed and not installed.
    """
    if f'"{MARK}"' not in json_text:  # avoids parsing a large JSON twice
        return Tokenizer.from_str(json_text)
    state = json.loads(json_text)
    asked = state.pop(MARK, None)
    if asked is None:
        return Tokenizer.from_str(json_text)
    if asked != "jieba":
        raise ValueError(f"a student's text is segmented by jieba or by its vocabulary, not by {asked!r}")
    tokenizer = Tokenizer.from_str(json.dumps(state))
    tokenizer.pre_tokenizer = Sequence([tokenizer.pre_tokenizer, PreTokenizer.custom(JiebaWords())])
    return tokenizer


class JiebaWords:
    """A pre-tokenizer that the library calls after its own normalising and splitting, so that jieba gets the same runs
    of characters as when words were counted. It has no state, so threads may share it."""

    def __init__(self) -> None:
        self._cut = jieba_cut()

    def pre_tokenize(self, units: PreTokenizedString) -> None:
        """Cut every unit into words."""
        units.split(self._words)

    def _words(self, _number: int, unit: NormalizedString) -> list[NormalizedString]:
        words = self._cut(unit.normalized)
        if len(words) == 1:
            return [unit]
        parts, end = [], 0
        for word in words:
            start, end = end, end + len(word)
            parts.append(cast(NormalizedString, unit[start:end]))  # None only for positions outside of the unit
        return parts
