"""Pairs of single texts: each with those that share most of its rarer words, which are the hard ones to tell apart."""

import re
from collections.abc import Iterable, Sequence

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.rows import draw_order, folded_key
from limbeck.recipe.transfer import Transfer
from limbeck.text.folding import folded, folded_letters
from limbeck.text.nearest_texts import nearest_texts
from limbeck.transfer.held_out import pieces_of
from limbeck.transfer.text_filter import Kept, rows_to_draw

WORD, SPACELESS = re.compile(r"\w+"), 2  # characters that count as a word in Chinese


def paired(kept: Sequence[Kept], section: Transfer, *, corpus: Corpus) -> list[Kept]:
    """Each text first, and after it one of its `partners` nearest texts, of these and of train.

    A pair is kept once, in whichever order its texts were found first; pairs of train, dev and test are left out. Of
    more than `rows`, a draw that depends on the texts decides.
    """
    own = [one.piece[0] for one in kept]
    texts = list({folded(text): text for text in (*own, *_texts_of(corpus))}.values())
    near = nearest_texts([_words(text, language=corpus.language) for text in texts], most=section.partners)
    places = {folded(text): place for place, text in enumerate(texts)}
    taken = {_key(*piece) for rows in corpus.splits.values() for piece in pieces_of(rows)}
    found: list[Kept] = []
    for one, text in zip(kept, own, strict=True):
        for place in near[places[folded(text)]]:
            key = _key(text, texts[place])
            if key not in taken:
                taken.add(key)
                found.append(Kept(len(found), (text, texts[place]), one.source))
    return _drawn(found, most=rows_to_draw(section), seed=section.seed)


def _drawn(pairs: list[Kept], *, most: int | None, seed: int) -> list[Kept]:
    if most is None or len(pairs) <= most:
        return pairs
    return sorted(sorted(pairs, key=lambda pair: draw_order(seed, folded_key(*pair.piece).hex()))[:most])


def _texts_of(corpus: Corpus) -> Iterable[str]:
    return (text for piece in pieces_of(corpus.splits["train"]) for text in piece if text is not None)


def _key(text: str, pair: str | None) -> frozenset[str]:
    """The same for a pair and its mirror image."""
    return frozenset((folded(text), folded(pair or "")))


def _words(text: str, *, language: str) -> set[str]:
    words = WORD.findall(folded_letters(text))
    if language != "zh":
        return set(words)
    return {word[at : at + SPACELESS] for word in words for at in range(max(1, len(word) - SPACELESS + 1))}
