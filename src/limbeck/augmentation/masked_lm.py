"""Masked language model: a word becomes what a model would put in its place (TinyBERT, Jiao et al. 2020)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from limbeck.artifacts.rows import Rows, content_key
from limbeck.augmentation.asked_words import kind_of, written_like
from limbeck.augmentation.candidates import Candidates, Packer
from limbeck.augmentation.han_words import HanWords
from limbeck.augmentation.method import Bench, Dice, Source, WordMethod, pick, texts_of
from limbeck.augmentation.prediction_store import answers_to_texts
from limbeck.augmentation.word_vectors import NearestWords, nearest_words
from limbeck.augmentation.words import cut_words, is_han
from limbeck.recipe.augmentation import MaskedLm
from limbeck.text.jieba_words import jieba_dictionary


@dataclass(frozen=True)
class FillInWords(WordMethod):
    """One of the most probable words, each as likely. For words that are several pieces to the model, a neighbour among
    word vectors, if there are any; words that neither knows anything for stay as they are.

    As in TinyBERT, function words, numbers and marks stay. Words are written in the case of the word they replace.
    """

    fraction: float
    candidates: Candidates
    neighbours: NearestWords | None
    kind: str = "masked_lm"

    def change(self, source: Source, position: int, dice: Dice) -> str | None:
        """A word that the model or the vectors would put here."""
        found = self.candidates.of(source.key, position)
        if found:
            return self.candidates.pool[found[pick(dice, len(found))]]
        if found is not None or self.neighbours is None:
            return None
        near = self.neighbours.change(source, position, dice)
        return None if near is None else written_like(source.cut.words[position], near)


def masked_lm(section: MaskedLm, rows: Rows, bench: Bench) -> FillInWords:
    """Ask the model about every word of the rows, as far as the store does not know already."""
    texts = {content_key(text): text for text in texts_of(rows)}
    packer = Packer(_known_words(texts, bench), most=section.candidates)
    unasked: set[str] = set()
    for key, answer in answers_to_texts(texts, section, bench):
        words = cut_words(texts[key], language=bench.language).words
        packer.add(key, words, answer)
        asked = set(answer.words)
        unasked.update(word for position, word in enumerate(words) if position not in asked)
    of_several_pieces = sorted(word for word in unasked if kind_of(word, language=bench.language) == "word")
    return FillInWords(section.fraction, packer.packed, _neighbours(section, of_several_pieces, bench))


def _neighbours(section: MaskedLm, words: list[str], bench: Bench) -> NearestWords | None:
    if section.word_vectors is None:
        return None
    return nearest_words(
        Path(section.word_vectors),
        words,
        fraction=section.fraction,
        most=section.candidates,
        reporter=bench.reporter,
    )


def _known_words(texts: Mapping[bytes, str], bench: Bench) -> HanWords:
    """What may stand for a Chinese word: jieba's dictionary, and the words of the rows."""
    if bench.language != "zh":
        return HanWords({}, ())
    seen: set[str] = set()
    for text in texts.values():
        seen.update(word for word in cut_words(text, language=bench.language).words if is_han(word))
    return HanWords(jieba_dictionary(), seen)
