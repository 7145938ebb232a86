"""Masked language model: a word is replaced by one that the model predicts there (TinyBERT, Jiao et al. 2020)."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from limbeck.artifacts.rows import Rows, content_key
from limbeck.augmentation.method import PreparationContext, Rng, SourceText, WordMethod, pick, texts_of
from limbeck.augmentation.piece_words import kind_of, written_like
from limbeck.augmentation.prediction_store import TextPredictions, answers_to_texts
from limbeck.augmentation.word_vectors import NearestWords, nearest_words
from limbeck.augmentation.words import cut_words, is_han
from limbeck.recipe.augmentation import MaskedLm
from limbeck.text.jieba_words import jieba_dictionary


class Column(NamedTuple):
    """The characters that a model predicts at one position, and their logits."""

    characters: Sequence[str]
    logits: Sequence[float]


class HanWords:
    """The words of a dictionary, in which prefixes of words have the count 0, and words that were seen."""

    def __init__(self, dictionary: Mapping[str, int], seen: Iterable[str]) -> None:
        self._dictionary = dictionary
        self._seen: dict[str, bool] = {}
        for word in seen:
            for length in range(1, len(word)):
                self._seen.setdefault(word[:length], False)
            self._seen[word] = True

    def __contains__(self, word: str) -> bool:
        return self._dictionary.get(word, 0) > 0 or self._seen.get(word, False)

    def combined(self, columns: Sequence[Column], *, most: int) -> list[str]:
        """Words with one character of each column, those with the highest sum of logits first.

        The sum differs from that of the log-probabilities by a constant.
        """
        starts = {"": 0.0}
        for column in columns:
            starts = {
                longer: total + logit
                for start, total in starts.items()
                for character, logit in zip(column.characters, column.logits, strict=True)
                if (longer := start + character) in self._dictionary or longer in self._seen
            }
        words = [word for word in starts if word in self]
        return sorted(words, key=lambda word: (-starts[word], word))[:most]


@dataclass
class Candidates:
    """For words of texts the words that may replace them, packed: some hundred bytes per text."""

    texts: dict[bytes, int] = field(default_factory=dict)  # the number of a text by its content key
    text_starts: "array[int]" = field(default_factory=lambda: array("q", [0]))  # in `words`
    words: "array[int]" = field(default_factory=lambda: array("i"))  # positions in their texts
    word_starts: "array[int]" = field(default_factory=lambda: array("q", [0]))  # in `found`
    found: "array[int]" = field(default_factory=lambda: array("i"))  # positions in `pool`, the most probable first
    pool: list[str] = field(default_factory=list)

    def of(self, key: bytes, position: int) -> "array[int] | None":
        """The candidates for a word, as positions in `pool`; None for a word that the model was not asked about."""
        text = self.texts.get(key)
        if text is None:
            return None
        start, end = self.text_starts[text], self.text_starts[text + 1]
        word = bisect_left(self.words, position, start, end)
        if word == end or self.words[word] != position:
            return None
        return self.found[self.word_starts[word] : self.word_starts[word + 1]]


class Packer:
    """Packs answers into candidates, at most `most` per word; `known` are the words that Han characters may form."""

    def __init__(self, known: HanWords, *, most: int, allows_itself: bool = False) -> None:
        self.packed = Candidates()
        self._known, self._most, self._allows_itself = known, most, allows_itself
        self._positions: dict[str, int] = {}

    def add(self, key: bytes, words: Sequence[str], answer: TextPredictions) -> None:
        """Add the model's predictions for the words of a text."""
        packed = self.packed
        packed.texts[key] = len(packed.texts)
        for position, found in self._candidates(words, answer):
            packed.words.append(position)
            packed.found.extend([self._position(word) for word in found])
            packed.word_starts.append(len(packed.found))
        packed.text_starts.append(len(packed.words))

    def _candidates(self, words: Sequence[str], answer: TextPredictions) -> Iterator[tuple[int, list[str]]]:
        pieces = zip(answer.words, answer.found, answer.logits, strict=True)
        for position, group in groupby(pieces, key=lambda piece: piece[0]):
            word = words[position]
            columns = [Column(found.split(), logits) for _, found, logits in group]
            if not is_han(word):
                yield position, [written_like(word, other) for other in columns[0].characters]
            else:
                found = self._known.combined(columns, most=self._most + 1)
                yield position, [other for other in found if self._allows_itself or other != word][: self._most]

    def _position(self, word: str) -> int:
        position = self._positions.setdefault(word, len(self._positions))
        if position == len(self.packed.pool):
            self.packed.pool.append(word)
        return position


@dataclass(frozen=True)
class FillInWords(WordMethod):
    """Replaces a word by one of the most probable words, each equally likely.

    A word that is several pieces to the model is replaced by a neighbour among word vectors, if they are given; other
    words stay.

    As in TinyBERT, function words, numbers and marks stay. The new word has the case of the word it replaces.
    """

    fraction: float
    candidates: Candidates
    neighbours: NearestWords | None
    kind: str = "masked_lm"

    def change(self, source: SourceText, position: int, rng: Rng) -> str | None:
        """A word from the model or the vectors."""
        found = self.candidates.of(source.key, position)
        if found:
            return self.candidates.pool[found[pick(rng, len(found))]]
        if found is not None or self.neighbours is None:
            return None
        near = self.neighbours.change(source, position, rng)
        return None if near is None else written_like(source.cut.words[position], near)


def masked_lm(section: MaskedLm, rows: Rows, context: PreparationContext) -> FillInWords:
    """Ask the model about every word of the rows that is not in the store yet."""
    texts = {content_key(text): text for text in texts_of(rows)}
    packer = Packer(_known_words(texts, context), most=section.candidates, allows_itself=section.beside == "original")
    unasked: set[str] = set()
    for key, answer in answers_to_texts(texts, section, context):
        words = cut_words(texts[key], language=context.language).words
        packer.add(key, words, answer)
        asked = set(answer.words)
        unasked.update(word for position, word in enumerate(words) if position not in asked)
    of_several_pieces = sorted(word for word in unasked if kind_of(word, language=context.language) == "word")
    return FillInWords(section.fraction, packer.packed, _neighbours(section, of_several_pieces, context))


def _neighbours(section: MaskedLm, words: list[str], context: PreparationContext) -> NearestWords | None:
    if section.word_vectors is None:
        return None
    return nearest_words(
        section.word_vectors,
        words,
        fraction=section.fraction,
        most=section.candidates,
        reporter=context.reporter,
    )


def _known_words(texts: Mapping[bytes, str], context: PreparationContext) -> HanWords:
    """The words that may replace a Chinese word: jieba's dictionary, and the words of the rows."""
    if context.language != "zh":
        return HanWords({}, ())
    seen: set[str] = set()
    for text in texts.values():
        seen.update(word for word in cut_words(text, language=context.language).words if is_han(word))
    return HanWords(jieba_dictionary(), seen)
