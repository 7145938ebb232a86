"""A text as its words and the gaps between them; joined without changes, they give exactly the same text."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from limbeck.text.jieba_words import FIRST_HAN, Cut, jieba_cut

FORMAT = 1  # increase it when the splitting into words changes: stored tags and predictions are then rebuilt
DELETED = ""  # instead of a word: it is removed, together with the narrower of the gaps around it

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u3005\u3007"
LETTER = rf"[^\W_{HAN}][\u0300-\u036f]*"  # a combining accent may follow its letter
WORD = re.compile(
    rf"""
    \[MASK\]
  | (?<!\S) -[lr][crs]b- (?!\S)                               # how the Penn treebank writes brackets
  | (?<![\w'’]) ['’] (?: [smdtn] | ll | re | ve | em | \d\ds? ) (?!\w)
  | (?<!\w) (?: (?:[^\W\d_{HAN}]\.){{2,}} | (?:mr|mrs|ms|dr|jr|sr|vs|etc)\. ) (?!\w)
  | (?:{LETTER})+ (?: (?: [-'’&/@_] | \*+ | (?<=\d)[.,:](?=\d) ) (?:{LETTER})+ )*
  | [{HAN}]+
  | ([^\w\s]) (?: \1 | [\ufe0f\u200d\U0001f3fb-\U0001f3ff] )*  # one mark, also repeated; an emoji with its colour
  | _+
    """,
    re.VERBOSE | re.IGNORECASE,
)
HAN_RUN = re.compile(f"[{HAN}]+")


@dataclass(frozen=True, slots=True)
class CutText:
    """Words, and gaps: one before each word and one after the last. Neither list is ever modified."""

    words: list[str]
    gaps: list[str]

    @property
    def text(self) -> str:
        """The words and gaps, joined."""
        return "".join([part for both in zip(self.gaps, self.words, strict=False) for part in both]) + self.gaps[-1]

    def with_changes(self, changes: Mapping[int, str]) -> "CutText":
        """With other words at these positions; a word whose replacement is DELETED is removed."""
        words = [changes.get(at, word) for at, word in enumerate(self.words)]
        if DELETED not in changes.values():
            return CutText(words, self.gaps)
        kept: list[str] = []
        gaps = [self.gaps[0]]
        for word, after in zip(words, self.gaps[1:], strict=True):
            if word == DELETED:
                # At the start of the text the gap before it stays; elsewhere the wider one.
                gaps[-1] = max(gaps[-1], after, key=len) if kept else gaps[-1]
            else:
                kept.append(word)
                gaps.append(after)
        gaps[-1] = self.gaps[-1] if kept else gaps[-1]
        return CutText(kept, gaps)

    def window(self, start: int, count: int) -> "CutText":
        """`count` words from a position on, without the gaps around them."""
        end = start + count
        return CutText(self.words[start:end], ["", *self.gaps[start + 1 : end], ""])


def cut_words(text: str, *, language: str) -> CutText:
    """Splits a text into words and marks, as Tang et al. do; in SST-2 nearly every token between spaces is one.

    "don't", "well-made" and "3,000.50" are one word each. Han characters are segmented by jieba in a Chinese corpus; in
    others each is a word.
    """
    words: list[str] = []
    gaps: list[str] = []
    end = 0
    for match in WORD.finditer(text):
        gaps.append(text[end : match.start()])
        end = match.end()
        found = match.group()
        if found[0] < FIRST_HAN or not is_han(found):
            words.append(found)
            continue
        parts = _jieba()(found) if language == "zh" else list(found)
        words += parts
        gaps += [""] * (len(parts) - 1)
    gaps.append(text[end:])
    return CutText(words, gaps)


def is_han(word: str) -> bool:
    """Whether all characters are ideographs."""
    return HAN_RUN.fullmatch(word) is not None


def load_words(language: str) -> None:
    """Load what `cut_words` needs; raises DependencyMissing if it is not installed."""
    if language == "zh":
        _jieba()


@cache
def _jieba() -> Cut:
    return jieba_cut()
