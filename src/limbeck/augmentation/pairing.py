"""New pairs: a text beside another one of train that shares its rarer words (Thakur et al. 2021, arXiv:2010.08240)."""

from array import array
from collections.abc import Mapping
from dataclasses import dataclass

from limbeck.artifacts.rows import Rows, content_key
from limbeck.augmentation.method import Bench, Dice, PairMethod, Source, pick, texts_of
from limbeck.augmentation.words import cut_words
from limbeck.recipe.augmentation import Pairing
from limbeck.text.folding import folded


@dataclass(frozen=True)
class NewPairs(PairMethod):
    """Partners are drawn from the nearest texts, each as likely. A text without any keeps the partner it has."""

    probability: float
    texts: list[str]
    nearest: Mapping[bytes, "array[int]"]  # by content key of the text: places in `texts`
    kind: str = "pairing"

    def partner(self, source: Source, dice: Dice) -> str | None:
        """One of the nearest texts."""
        if dice.random() >= self.probability:
            return None
        near = self.nearest.get(source.key)
        return self.texts[near[pick(dice, len(near))]] if near else None


def pairing(section: Pairing, rows: Rows, bench: Bench) -> NewPairs:
    """Find the texts that are nearest to each text of the rows, whichever side of a pair they stand on."""
    from limbeck.augmentation.nearest_texts import nearest_texts  # for this process alone: it brings scipy along

    texts = list({folded(text): text for text in texts_of(rows)}.values())  # spelled in two ways, a text is one
    words = [{word.lower() for word in cut_words(text, language=bench.language).words} for text in texts]
    near = nearest_texts(words, most=section.neighbours)
    places = {folded(text): place for place, text in enumerate(texts)}
    found = {content_key(text): array("i", near[places[folded(text)]]) for text in texts_of(rows)}
    return NewPairs(section.probability, texts, found)
