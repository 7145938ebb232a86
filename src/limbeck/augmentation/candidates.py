"""The words that may take the place of a word, made of what a language model said, and packed."""

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from limbeck.augmentation.asked_words import written_like
from limbeck.augmentation.han_words import Column, HanWords
from limbeck.augmentation.prediction_store import Answer
from limbeck.augmentation.words import is_han


@dataclass
class Candidates:
    """For words of texts the words that may take their place, packed: some hundred bytes a text."""

    texts: dict[bytes, int] = field(default_factory=dict)  # by content key: which text this is
    text_starts: "array[int]" = field(default_factory=lambda: array("q", [0]))  # in `words`
    words: "array[int]" = field(default_factory=lambda: array("i"))  # positions in their texts
    word_starts: "array[int]" = field(default_factory=lambda: array("q", [0]))  # in `found`
    found: "array[int]" = field(default_factory=lambda: array("i"))  # places in `pool`, the most probable first
    pool: list[str] = field(default_factory=list)

    def of(self, key: bytes, position: int) -> "array[int] | None":
        """None for a word that the model was not asked about."""
        text = self.texts.get(key)
        if text is None:
            return None
        start, end = self.text_starts[text], self.text_starts[text + 1]
        word = bisect_left(self.words, position, start, end)
        if word == end or self.words[word] != position:
            return None
        return self.found[self.word_starts[word] : self.word_starts[word + 1]]


class Packer:
    """Makes candidates of answers, at most so many a word; `known` are the words that Han characters may make up."""

    def __init__(self, known: HanWords, *, most: int) -> None:
        self.packed = Candidates()
        self._known, self._most = known, most
        self._places: dict[str, int] = {}

    def add(self, key: bytes, words: Sequence[str], answer: Answer) -> None:
        """What the model said about the words of a text."""
        packed = self.packed
        packed.texts[key] = len(packed.texts)
        for position, found in self._candidates(words, answer):
            packed.words.append(position)
            packed.found.extend([self._place(word) for word in found])
            packed.word_starts.append(len(packed.found))
        packed.text_starts.append(len(packed.words))

    def _candidates(self, words: Sequence[str], answer: Answer) -> Iterator[tuple[int, list[str]]]:
        pieces = zip(answer.words, answer.found, answer.logits, strict=True)
        for position, group in groupby(pieces, key=lambda piece: piece[0]):
            word = words[position]
            columns = [Column(found.split(), logits) for _, found, logits in group]
            if not is_han(word):
                yield position, [written_like(word, other) for other in columns[0].characters]
            else:
                found = self._known.combined(columns, most=self._most + 1)
                yield position, [other for other in found if other != word][: self._most]

    def _place(self, word: str) -> int:
        place = self._places.setdefault(word, len(self._places))
        if place == len(self.packed.pool):
            self.packed.pool.append(word)
        return place
