"""New pairs of texts of train."""

import math
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from pydantic import ValidationError

from limbeck.artifacts.rows import content_key
from limbeck.augmentation.masking import MaskWords
from limbeck.augmentation.method import SourceText
from limbeck.augmentation.pairing import ExchangeTexts, NewPairs, pairing
from limbeck.augmentation.words import cut_words
from limbeck.recipe.augmentation import Pairing
from limbeck.recipe.recipe import Recipe
from limbeck.text.nearest_texts import nearest_texts, nearest_vectors

TEXTS = ["how do i lose weight", "how can i lose weight quickly", "what is a verb", "is this a verb"]
PAIRS = ["how to lose weight", "the way to paris", "what does a verb do", "how far is paris"]


def method(
    texts: Any, *, probability: float = 1.0, neighbours: int = 3, language: str = "en", context: Any
) -> NewPairs:
    """The method, prepared for these rows."""
    section = Pairing(kind="pairing", probability=probability, neighbours=neighbours)
    return pairing(section, texts, context(language=language))


def test_the_nearest_texts_share_the_rarer_words() -> None:
    words = [set(text.split()) for text in [*TEXTS, *PAIRS]]

    near = nearest_texts(words, most=2)

    assert near[0] == [1, 4], "the two others about weight"
    assert near[2] == [6, 3], "the two others about verbs, the one with more words in common first"


def test_a_text_is_not_its_own_neighbour_and_one_that_shares_no_word_has_none() -> None:
    near = nearest_texts([{"a", "b"}, {"a", "b"}, {"c"}], most=5)

    assert near == [[1], [0], []]


def test_a_word_of_nearly_all_texts_is_not_searched_for() -> None:
    texts = [{"the", f"word{number}"} for number in range(200)] + [{"the", "rare"}, {"rare", "other"}]

    near = nearest_texts(texts, most=5)

    assert near[0] == []
    assert near[200] == [201]


def test_one_text_of_the_pair_stays_and_the_other_becomes_a_neighbour_of_it(
    make_rows: Any, make_context: Any, make_copies: Any
) -> None:
    new_pairs = method(make_rows(TEXTS, PAIRS), neighbours=2, context=make_context)

    copies = make_copies([new_pairs], TEXTS[0], "how to lose weight", copies=50)

    firsts = {copy.sides[1] for copy in copies if copy.sides[0] == TEXTS[0]}
    seconds = {copy.sides[0] for copy in copies if copy.sides[1] == PAIRS[0]}
    assert firsts == {"how can i lose weight quickly", "how to lose weight"}
    assert seconds == {"how do i lose weight", "how can i lose weight quickly"}
    assert all(copy.changes[0] > 0 for copy in copies)


def test_a_copy_is_a_new_pair_or_changed_and_never_both(
    make_rows: Any, make_context: Any, make_copies: Any, within_four_sigma: Any
) -> None:
    new_pairs = method(make_rows(TEXTS, PAIRS), probability=0.4, context=make_context)

    copies = make_copies([MaskWords(1.0), new_pairs], TEXTS[0], PAIRS[0], copies=1000)

    paired = [copy for copy in copies if copy.changes[1]]
    assert within_four_sigma(len(paired), trials=1000, chance=0.4)
    assert not any("[MASK]" in side for copy in paired for side in copy.sides)
    assert all("[MASK]" in " ".join(copy.sides) for copy in copies if not copy.changes[1])


def test_a_text_without_neighbours_keeps_its_partner(make_rows: Any, make_context: Any) -> None:
    new_pairs = method(make_rows(TEXTS, PAIRS), context=make_context)
    alone = "something else altogether"

    sources = [SourceText(content_key(text), cut_words(text, language="en")) for text in (alone, TEXTS[0])]

    assert new_pairs.new_pair(sources, [alone, TEXTS[0]], 0, Random(0)) is None


def test_texts_that_differ_only_in_case_are_not_neighbours(make_rows: Any, make_context: Any) -> None:
    rows = make_rows(["Lose weight", "lose weight"], ["lose weight now", "something"])

    new_pairs = method(rows, context=make_context)

    near = {new_pairs.texts[place] for place in new_pairs.nearest[content_key("Lose weight")]}
    assert near == {"lose weight now"}


def test_without_new_pairs_the_copies_are_what_they_were(make_copies: Any) -> None:
    """A random number drawn for an absent method would change them."""
    [copy] = make_copies([MaskWords(0.5)], "one two three four", "five six seven eight")

    assert copy.sides == ["[MASK] two [MASK] four", "[MASK] [MASK] [MASK] eight"]


def test_an_encoder_finds_the_neighbours_by_the_cosine_of_its_vectors(
    make_rows: Any, make_context: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    angles = {TEXTS[0]: 0.0, TEXTS[1]: 2.0, TEXTS[2]: 0.1, TEXTS[3]: 3.0}  # by words, 0 is near 1 and 2 near 3

    def text_vectors(checkpoint: str, texts: Sequence[str], *, read: Callable[[int], None]) -> npt.NDArray[np.float32]:
        assert checkpoint == "an-encoder"
        read(len(texts))
        return np.array([[math.cos(angles[text]), math.sin(angles[text])] for text in texts], dtype=np.float32)

    monkeypatch.setattr("limbeck.models.text_vectors.text_vectors", text_vectors)
    section = Pairing(kind="pairing", neighbours=1, checkpoint="an-encoder")

    new_pairs = pairing(section, make_rows(TEXTS[:2], TEXTS[2:]), make_context())

    near = {text: [new_pairs.texts[place] for place in new_pairs.nearest[content_key(text)]] for text in TEXTS}
    assert near == {TEXTS[0]: [TEXTS[2]], TEXTS[2]: [TEXTS[0]], TEXTS[1]: [TEXTS[3]], TEXTS[3]: [TEXTS[1]]}


def test_one_vector_alone_has_no_neighbour_and_the_nearest_come_first() -> None:
    assert nearest_vectors(np.array([[1, 0]], dtype=np.float32), most=3) == [[]]
    vectors = np.array([[1, 0], [0.6, 0.8], [0.8, 0.6], [-1, 0]], dtype=np.float32)
    assert nearest_vectors(vectors, most=2) == [[2, 1], [2, 0], [1, 0], [1, 2]]


def test_exchanged_texts_are_the_same_pair_the_other_way_round(make_copies: Any, within_four_sigma: Any) -> None:
    copies = make_copies([MaskWords(1.0), ExchangeTexts(0.3)], TEXTS[0], PAIRS[0], copies=1000)

    exchanged = [copy for copy in copies if copy.changes[1]]
    assert {tuple(copy.sides) for copy in exchanged} == {(PAIRS[0], TEXTS[0])}
    assert within_four_sigma(len(exchanged), trials=1000, chance=0.3)


@pytest.mark.parametrize("kind", ["pairing", "exchange"])
def test_new_pairs_are_refused_without_pairs(kind: str) -> None:
    methods = {"methods": [{"kind": kind}]}

    with pytest.raises(ValidationError, match="the corpus has no pairs"):
        Recipe.model_validate({"corpus": {"train": "train.csv"}, "augmentation": methods})
    assert Recipe.model_validate({"corpus": {"train": "train.csv", "pair": "other"}, "augmentation": methods})
