import math
from collections import Counter
from typing import Any

from limbeck.augmentation.pos_swap import pos_swap
from limbeck.augmentation.tagging import open_tagger
from limbeck.augmentation.words import cut_words
from limbeck.recipe.augmentation import PosSwap

NOUNS = {"film": 60, "story": 30, "actor": 10}
ADJECTIVES = {"long": 50, "short": 50}
TEXTS = [
    f"the {adjective} {noun} ended"
    for noun, often in NOUNS.items()
    for adjective in ADJECTIVES
    for _ in range(often // 2)
]


def test_a_word_is_replaced_by_one_with_the_same_tag(make_context: Any, make_rows: Any, make_copies: Any) -> None:
    rows = make_rows(TEXTS)
    method = pos_swap(PosSwap(kind="pos_swap", fraction=1.0), rows, make_context())
    tag = open_tagger("hanta", language="en")

    copies = make_copies([method], TEXTS[0], copies=500)

    seen = {tuple(copy.sides[0].split()) for copy in copies}
    assert {words[0] for words in seen} == {"the"}
    assert {words[1] for words in seen} == set(ADJECTIVES)
    assert {words[2] for words in seen} == set(NOUNS)
    assert {tuple(tag(words)) for words in seen} == {tuple(tag(TEXTS[0].split()))}


def test_words_are_drawn_in_proportion_to_their_counts(make_context: Any, make_rows: Any, make_copies: Any) -> None:
    """Chi-square of three counts, two degrees of freedom: above 18.4 once in 10,000 times."""
    method = pos_swap(PosSwap(kind="pos_swap", fraction=1.0), make_rows(TEXTS), make_context())
    draws = 10_000

    copies = make_copies([method], TEXTS[0], copies=draws)

    drawn = Counter(copy.sides[0].split()[2] for copy in copies)
    expected = {noun: draws * often / sum(NOUNS.values()) for noun, often in NOUNS.items()}
    assert sum((drawn[noun] - count) ** 2 / count for noun, count in expected.items()) < -2 * math.log(1 / 10_000)


def test_a_tenth_of_the_words_is_drawn_again(
    make_context: Any, make_rows: Any, make_copies: Any, within_four_sigma: Any
) -> None:
    """A word with half of its tag's occurrences is replaced by itself half the time."""
    text = " ".join(["long", "short"] * 5_000)
    method = pos_swap(PosSwap(kind="pos_swap", fraction=0.1, tagger="jieba"), make_rows([text]), make_context())

    [copy] = make_copies([method], text)

    changed = sum(new != old for new, old in zip(copy.sides[0].split(), text.split(), strict=True))
    assert within_four_sigma(changed, trials=10_000, chance=0.05)
    assert copy.changes == [changed]


def test_both_texts_of_pairs_are_counted(make_context: Any, make_rows: Any, make_copies: Any) -> None:
    rows = make_rows(["the film"], ["the story"])
    method = pos_swap(PosSwap(kind="pos_swap", fraction=1.0), rows, make_context())

    copies = make_copies([method], "the film", "the story", copies=200)

    assert {copy.sides[0] for copy in copies} == {"the film", "the story"}
    assert {copy.sides[1] for copy in copies} == {"the film", "the story"}


def test_chinese_words_become_whole_words_of_their_tag(make_context: Any, make_rows: Any, make_copies: Any) -> None:
    texts = ["我喜欢酒店", "他讨厌早餐", "我讨厌房间，"]
    method = pos_swap(PosSwap(kind="pos_swap", fraction=1.0), make_rows(texts), make_context(language="zh"))

    copies = make_copies([method], texts[0], copies=300, language="zh")

    found = {tuple(cut_words(copy.sides[0], language="zh").words) for copy in copies}
    assert {words[0] for words in found} == {"我", "他"}
    assert {words[1] for words in found} == {"喜欢", "讨厌"}
    assert {words[2] for words in found} == {"酒店", "早餐", "房间"}


def test_an_unknown_text_does_not_change(make_context: Any, make_rows: Any, make_copies: Any) -> None:
    method = pos_swap(PosSwap(kind="pos_swap", fraction=1.0), make_rows(TEXTS[:4]), make_context())

    [copy] = make_copies([method], "another text")

    assert copy.sides == ["another text"]
