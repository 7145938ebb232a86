"""Near duplicates: the first is kept, and dropped texts do not affect later ones."""

import numpy as np
import pytest

from limbeck.transfer import near_duplicates
from limbeck.transfer.near_duplicates import NearTexts, in_blocks
from limbeck.transfer.shingles import Piece

TOPICS = [f"topic{number % 50}n" for number in range(500)]
WORDS = [f"word{number}" for number in range(20)]


def changed(*places: int) -> str:
    return " ".join("other" if place in places else word for place, word in enumerate(WORDS))


def are_new(near: NearTexts, *texts: str) -> list[bool]:
    return list(near.add_new(near.traits([(text, None) for text in texts])).tolist())


def test_the_first_of_similar_texts_stays() -> None:
    near = NearTexts(0.8, language="en")

    assert are_new(near, changed(), "another text", changed(5), changed().upper() + "!") == [True, True, False, False]
    assert are_new(near, changed(7), "Another text.", changed(2, 8, 14)) == [False, False, True]


@pytest.mark.parametrize("is_one_block", [True, False])
def test_a_text_that_was_dropped_does_not_drop_others(is_one_block: bool) -> None:
    near = NearTexts(0.75, language="en")
    texts = [changed(), changed(5), changed(5, 6, 10)]  # each similar to the one before it, not to the one before that

    new = are_new(near, *texts) if is_one_block else [are_new(near, text)[0] for text in texts]

    assert new == [True, False, True]


def test_texts_without_words_are_never_similar() -> None:
    assert are_new(NearTexts(0.8, language="en"), "...", "!!!", "") == [True, True, True]


def test_blocks_make_no_difference() -> None:
    draw = np.random.default_rng(0)
    texts = [changed(*draw.choice(20, size=2, replace=False).tolist()).replace("word", topic) for topic in TOPICS]
    whole, parts = NearTexts(0.8, language="en"), NearTexts(0.8, language="en")

    in_parts = [new for start in range(0, 500, 23) for new in are_new(parts, *texts[start : start + 23])]

    assert are_new(whole, *texts) == in_parts
    assert 50 < sum(in_parts) < 450


def test_similar_pairs_are_those_of_an_exhaustive_comparison() -> None:
    draw = np.random.default_rng(1)
    known = [changed(*draw.choice(20, size=draw.integers(0, 9), replace=False).tolist()) for _ in range(60)]
    asked = [changed(*draw.choice(20, size=draw.integers(0, 9), replace=False).tolist()) for _ in range(60)]
    near = NearTexts(0.7, language="en")
    near.add(near.traits([(text, None) for text in known]))

    positions, numbers = near.similar(near.traits([(text, None) for text in asked]))

    found = set(zip(positions.tolist(), numbers.tolist(), strict=True))
    expected = {
        (at, number) for at, one in enumerate(asked) for number, other in enumerate(known) if jaccard(one, other) >= 0.7
    }
    assert found <= expected
    assert len(found) >= 0.9 * len(expected) > 0


def jaccard(one: str, other: str) -> float:
    sets = []
    for words in (one.split(), other.split()):
        sets.append({*words, *zip(["", *words], [*words, ""], strict=True)})
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def test_pairs_are_similar_when_both_texts_are() -> None:
    near = NearTexts(0.8, language="en")
    pieces: list[Piece] = [("why not", "who knows"), ("why not", "what else"), ("Why not?", "who knows!")]

    assert near.add_new(near.traits(pieces)).tolist() == [True, True, False]


def test_blocks_are_full_by_texts_or_by_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near_duplicates, "TEXTS_AT_ONCE", 3)
    monkeypatch.setattr(near_duplicates, "CHARACTERS_AT_ONCE", 10)
    pieces: list[Piece] = [*[("a", None)] * 4, ("a" * 6, "b" * 6), ("c", None)]

    assert [len(block) for block in in_blocks(pieces)] == [3, 2, 1]
