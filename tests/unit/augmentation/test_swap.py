from typing import Any

import pytest

from limbeck.augmentation.masking import SwapWords


def test_swaps_follow_the_number_of_words(make_copies: Any) -> None:
    words = [f"w{number}" for number in range(100)]

    copies = make_copies([SwapWords(0.1)], " ".join(words), copies=300)

    for copy in copies:
        assert sorted(copy.sides[0].split()) == sorted(words)
        assert 2 <= copy.changes[0] <= 20  # ten swaps move up to twenty words
    assert sum(copy.changes[0] for copy in copies) / len(copies) == pytest.approx(18.3, abs=0.5)  # some move twice


def test_a_fractional_swap_is_a_probability(make_copies: Any, within_four_sigma: Any) -> None:
    copies = make_copies([SwapWords(0.05)], "one two three four five", copies=10_000)

    swapped = sum(copy.changes[0] > 0 for copy in copies)
    assert within_four_sigma(swapped, trials=10_000, chance=0.25)
    assert {copy.changes[0] for copy in copies} == {0, 2}


def test_all_pairs_of_words_are_swapped_equally_often(make_copies: Any, within_four_sigma: Any) -> None:
    copies = make_copies([SwapWords(0.25)], "a b c d", copies=6_000)

    found = [copy.sides[0] for copy in copies]
    assert len(set(found)) == 6
    assert all(within_four_sigma(found.count(text), trials=6_000, chance=1 / 6) for text in set(found))


def test_marks_and_gaps_stay(make_copies: Any) -> None:
    copies = make_copies([SwapWords(0.3)], '"one,  two"!', copies=100)

    assert {copy.sides[0] for copy in copies} == {'"one,  two"!', '"two,  one"!'}


@pytest.mark.parametrize("text", ["", "one", "one !"])
def test_a_text_with_one_word_does_not_change(make_copies: Any, text: str) -> None:
    [copy] = make_copies([SwapWords(1.0)], text)

    assert copy.sides == [text]
