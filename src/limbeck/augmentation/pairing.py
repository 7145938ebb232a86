"""New pairs: a text with another one that is like it (Thakur et al. 2021, arXiv:2010.08240), or the texts exchanged."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from limbeck.artifacts.rows import Rows, content_key
from limbeck.augmentation.method import PairMethod, PreparationContext, Rng, SourceText, pick, texts_of
from limbeck.augmentation.words import cut_words
from limbeck.recipe.augmentation import Exchange, Pairing
from limbeck.text.folding import folded
from limbeck.text.nearest_texts import nearest_texts, nearest_vectors


@dataclass(frozen=True)
class NewPairs(PairMethod):
    """Partners are drawn from the nearest texts, each equally likely. A text without near texts keeps its partner."""

    probability: float
    texts: list[str]
    nearest: Mapping[bytes, "array[int]"]  # by content key of the text: positions in `texts`
    kind: str = "pairing"

    def new_pair(self, sources: Sequence[SourceText], texts: Sequence[str], stays: int, rng: Rng) -> list[str] | None:
        """One text stays, and one of its nearest texts takes the place of the other."""
        if rng.random() >= self.probability:
            return None
        near = self.nearest.get(sources[stays].key)
        if not near:
            return None
        partner = self.texts[near[pick(rng, len(near))]]
        return [texts[0], partner] if stays == 0 else [partner, texts[1]]


def pairing(section: Pairing, rows: Rows, context: PreparationContext) -> NewPairs:
    """Find the nearest texts of each text of the rows, on either side of a pair."""
    texts = list({folded(text): text for text in texts_of(rows)}.values())  # spellings of one text are merged
    near = _near(section, texts, context)
    positions = {folded(text): position for position, text in enumerate(texts)}
    found = {content_key(text): array("i", near[positions[folded(text)]]) for text in texts_of(rows)}
    return NewPairs(section.probability, texts, found)


def _near(section: Pairing, texts: list[str], context: PreparationContext) -> list[list[int]]:
    if section.checkpoint is None:
        words = [{word.lower() for word in cut_words(text, language=context.language).words} for text in texts]
        return nearest_texts(words, most=section.neighbours)
    from limbeck.models.text_vectors import text_vectors  # only here: processes that make copies need no torch

    with context.reporter.bar("reading texts to pair", total=len(texts), unit="texts") as bar:
        vectors = text_vectors(section.checkpoint, texts, read=bar.advance)
    return nearest_vectors(vectors, most=section.neighbours)


@dataclass(frozen=True)
class ExchangeTexts(PairMethod):
    """The two texts of a pair change places."""

    probability: float
    kind: str = "exchange"

    def new_pair(self, sources: Sequence[SourceText], texts: Sequence[str], stays: int, rng: Rng) -> list[str] | None:
        """The second text first."""
        del sources, stays
        return [texts[1], texts[0]] if rng.random() < self.probability and texts[0] != texts[1] else None


def exchange(section: Exchange) -> ExchangeTexts:
    """The method; it needs no preparation."""
    return ExchangeTexts(section.probability)
