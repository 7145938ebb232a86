from typing import Any

from limbeck.augmentation.masking import DeleteWords

WORDS = 10_000


def test_a_fraction_of_the_words_is_deleted(make_copies: Any, within_four_sigma: Any) -> None:
    text = " ".join(f"word{number}" for number in range(WORDS))

    [copy] = make_copies([DeleteWords(0.1)], text)

    left_out = WORDS - len(copy.sides[0].split())
    assert within_four_sigma(left_out, trials=WORDS, chance=0.1)
    assert copy.changes == [left_out]
    assert "  " not in copy.sides[0]


def test_one_word_always_stays(make_copies: Any) -> None:
    copies = make_copies([DeleteWords(1.0)], "one two three", copies=300)

    assert {copy.sides[0] for copy in copies} == {"one", "two", "three"}
    assert {tuple(copy.changes) for copy in copies} == {(2,)}


def test_a_single_word_stays(make_copies: Any) -> None:
    [copy] = make_copies([DeleteWords(1.0)], "alone")

    assert copy.sides == ["alone"]
    assert copy.changes == [0]
