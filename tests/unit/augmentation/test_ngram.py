from collections import Counter
from typing import Any

import pytest

from limbeck.augmentation.masking import KeepNgram

ALWAYS = KeepNgram(1.0, 1, 5)


def test_a_quarter_of_the_copies_is_cut_down(make_copies: Any, within_four_sigma: Any) -> None:
    text = "one two three four five six seven eight nine ten"

    copies = make_copies([KeepNgram(0.25, 1, 5)], text, copies=10_000)

    cut_down = [copy for copy in copies if copy.sides[0] != text]
    assert within_four_sigma(len(cut_down), trials=10_000, chance=0.25)
    assert all(sum(copy.changes) == 10 - len(copy.sides[0].split()) for copy in copies)


def test_every_length_and_every_position_is_equally_likely(make_copies: Any, within_four_sigma: Any) -> None:
    words = [f"w{number}" for number in range(8)]

    copies = make_copies([ALWAYS], " ".join(words), copies=10_000)

    lengths = Counter(len(copy.sides[0].split()) for copy in copies)
    assert sorted(lengths) == [1, 2, 3, 4, 5]
    assert all(within_four_sigma(count, trials=10_000, chance=0.2) for count in lengths.values())
    fives = Counter(copy.sides[0].split()[0] for copy in copies if len(copy.sides[0].split()) == 5)
    assert sorted(fives) == ["w0", "w1", "w2", "w3"]
    assert all(within_four_sigma(count, trials=lengths[5], chance=0.25) for count in fives.values())


def test_the_kept_words_are_consecutive(make_copies: Any) -> None:
    text = "The plot, though thin, never bores."

    assert all(copy.sides[0] in text for copy in make_copies([ALWAYS], text, copies=500))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {""}),
        ("one", {"one"}),
        ("one two", {"one", "two", "one two"}),
        ("one two three", {"one", "two", "three", "one two", "two three", "one two three"}),
    ],
)
def test_a_short_text_does_not_change(make_copies: Any, text: str, expected: set[str]) -> None:
    copies = make_copies([ALWAYS], text, copies=500)

    assert {copy.sides[0] for copy in copies} == expected
    assert len(copies) == 500, "a short text must not end the making of copies"


def test_the_shortest_length_is_respected_too(make_copies: Any) -> None:
    copies = make_copies([KeepNgram(1.0, 3, 4)], "one two three four five", copies=200)

    assert {len(copy.sides[0].split()) for copy in copies} == {3, 4}


def test_chinese_is_cut_between_words(make_copies: Any) -> None:
    copies = make_copies([KeepNgram(1.0, 1, 1)], "剧情太差浪费时间", copies=200, language="zh")

    assert {copy.sides[0] for copy in copies} == {"剧情", "太", "差", "浪费时间"}
