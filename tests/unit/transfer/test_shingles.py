"""Texts as sets of shingles, against sets made one by one."""

import numpy as np
import pytest

from limbeck.transfer.shingles import Piece, Shingles, shingles_of


def sets_of(shingles: Shingles) -> list[set[int]]:
    ends = np.cumsum(shingles.counts)
    return [set(shingles.hashes[end - count : end].tolist()) for end, count in zip(ends, shingles.counts, strict=True)]


def similarity(one: str, other: str, *, language: str) -> float:
    first, second = sets_of(shingles_of([(one, None), (other, None)], language=language))
    return len(first & second) / len(first | second)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("one two three", 3 + 4),  # the words, and the pairs with the ends of the text
        ("one one one", 1 + 3),
        ("word", 1 + 2),
        ("Don't!", 1 + 2),
        ("...", 0),
        ("", 0),
    ],
)
def test_english_shingles_are_words_and_pairs_of_them(text: str, count: int) -> None:
    assert shingles_of([(text, None)], language="en").counts.tolist() == [count]


@pytest.mark.parametrize(("text", "count"), [("房间很小", 6), ("好", 3), ("哈哈哈哈哈哈", 5), ("。！", 0)])
def test_chinese_shingles_are_runs_of_three_characters_and_extend_beyond_the_ends(text: str, count: int) -> None:
    assert shingles_of([(text, None)], language="zh").counts.tolist() == [count]


@pytest.mark.parametrize(
    ("one", "other", "language"),
    [
        ("A gorgeous film!", "a  GORGEOUS, film", "en"),
        ("don't stop", "Dont stop...", "en"),
        ("ｇｏｏｄ film", "good film", "en"),
        ("房间 很小，真的。", "房间很小真的！", "zh"),
    ],
)
def test_case_width_white_space_and_marks_do_not_count(one: str, other: str, language: str) -> None:
    assert similarity(one, other, language=language) == 1


def test_the_order_of_words_counts_and_so_does_one_word_at_the_end() -> None:
    assert similarity("one two three four", "four three two one", language="en") < 0.5
    assert similarity("I certainly did", "I certainly did not", language="en") < 0.8
    assert similarity("非常值得推荐", "不非常值得推荐", language="zh") < 0.8


def test_a_long_sentence_may_differ_in_one_word() -> None:
    words = [f"word{number}" for number in range(14)]

    changed = similarity(" ".join(words), " ".join([*words[:7], "other", *words[8:]]), language="en")

    assert changed == 26 / 32  # 14 words and 15 pairs, of which one and two are others


def test_texts_of_a_block_do_not_affect_each_other() -> None:
    texts: list[Piece] = [("one two", None), ("", None), ("two", None), ("...", None), ("one two", None)]

    together = sets_of(shingles_of(texts, language="en"))
    alone = [sets_of(shingles_of([text], language="en"))[0] for text in texts]

    assert together == alone
    assert together[0] == together[4]


def test_the_texts_of_a_pair_are_distinguished() -> None:
    one, swapped, single = (sets_of(shingles_of([pair], language="en"))[0] for pair in PAIRS)

    assert len(one) == len(swapped) == 2 * len(single)
    assert not one & swapped
    assert single < one


PAIRS: list[Piece] = [("why", "how"), ("how", "why"), ("why", None)]


def test_some_texts_are_selected_and_of_each_the_smallest_hashes() -> None:
    shingles = shingles_of([("a b c d e", None), ("", None), ("f", None)], language="en")

    assert sets_of(shingles.select(np.array([False, True, True]))) == sets_of(shingles)[1:]
    first, none, last = sets_of(shingles.smallest(4))
    assert sorted(first) == sorted(sets_of(shingles)[0])[:4]
    assert (len(none), len(last)) == (0, 3)
