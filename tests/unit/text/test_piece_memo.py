"""Words are looked up, with the same result as from the tokenizer itself."""

import random
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from limbeck.text import piece_memo
from limbeck.text.piece_memo import PieceMemo

MOST = {"most_tokens": 99, "most_characters": 10_000}


class Letters:
    """A tokenizer whose tokens are the letters, without spaces and dots; it records what it was asked for."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.pieces: list[str] = []

    def of_texts(self, texts: list[str]) -> list[list[int]]:
        self.texts += texts
        return [letters(text) for text in texts]

    def of_pieces(self, pieces: list[str]) -> list[list[int]]:
        self.pieces += pieces
        return [letters(piece) for piece in pieces]


def letters(text: str) -> list[int]:
    text.encode("utf-8")  # as the library does, and fails on surrogates
    return [ord(letter) for letter in text if letter not in " ."]


@pytest.fixture
def asked() -> Letters:
    return Letters()


@pytest.fixture
def memo(asked: Letters) -> PieceMemo:
    return PieceMemo(of_texts=asked.of_texts, of_pieces=asked.of_pieces)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> int:
    """The number of pieces that a memo keeps."""
    monkeypatch.setattr(piece_memo, "MOST_PIECES", 20)
    return 20


def drawn(*, seed: int, words: int) -> Iterator[str]:
    """Texts of up to twelve words, from a given number of different words."""
    dice = random.Random(seed)
    while True:
        yield " ".join(f"w{dice.randrange(words)}" for _ in range(dice.randrange(12)))


def test_known_words_are_not_asked_for_again(memo: PieceMemo, asked: Letters) -> None:
    for _ in range(2):
        memo.read(["a good film"], **MOST)
    read = len(asked.texts), len(asked.pieces)

    rows = memo.read(["film good", "a a a", "good  film "], **MOST)

    assert rows == [letters("filmgood"), letters("aaa"), letters("goodfilm")]
    assert (len(asked.texts), len(asked.pieces)) == read


def test_in_a_text_of_mostly_known_words_only_the_new_ones_are_asked_for(memo: PieceMemo, asked: Letters) -> None:
    for _ in range(2):
        memo.read(["a good film"], **MOST)
    asked.texts.clear()

    (row,) = memo.read(["a good long film"], **MOST)

    assert row == letters("agoodlongfilm")
    assert (asked.texts, asked.pieces[-1]) == ([], "long")


def test_words_that_never_recur_are_never_stored(memo: PieceMemo, asked: Letters) -> None:
    texts = [" ".join(f"{row}x{word}" for word in range(9)) for row in range(50)]

    rows = memo.read(texts, **MOST)

    assert rows == [letters(text) for text in texts]
    assert (asked.pieces, len(memo)) == ([], 0)


@pytest.mark.parametrize("most_tokens", [0, 1, 2, 7, 30, sys.maxsize])
@pytest.mark.parametrize("words", [5, 60, 100_000])
def test_rows_are_those_of_the_tokenizer(memo: PieceMemo, most_tokens: int, words: int) -> None:
    dice, texts = random.Random(4), drawn(seed=5, words=words)
    for _ in range(200):
        block = [next(texts) for _ in range(dice.choice([1, 1, 1, 9]))]

        rows = memo.read(block, most_tokens=most_tokens, most_characters=10_000)

        assert rows == [letters(text)[:most_tokens] for text in block]


def test_a_text_is_not_read_beyond_the_wanted_tokens(memo: PieceMemo, asked: Letters) -> None:
    start = "a good film " * 3
    for _ in range(2):
        memo.read([start], **MOST)
    asked.texts.clear()
    asked.pieces.clear()

    rows = memo.read([start + "unseen words " * 50], most_tokens=9, most_characters=10_000)

    assert rows == [letters(start)[:9]]
    assert (asked.texts, asked.pieces) == ([], [])


def test_a_new_long_text_is_not_read_to_its_end(memo: PieceMemo, asked: Letters) -> None:
    memo.read(["many unseen words " * 50], most_tokens=3, most_characters=10_000)

    assert asked.texts == ["many unseen words"]


@pytest.mark.parametrize("text", [". " * 50 + "a b c d", " " * 50 + "a b c d", ". . a b . . . . . . c"])
def test_words_without_a_token_do_not_count(memo: PieceMemo, text: str) -> None:
    for _ in range(3):
        assert memo.read([text], most_tokens=3, most_characters=10_000) == [letters("abc")]


def test_texts_are_truncated_to_the_most_characters(memo: PieceMemo) -> None:
    for _ in range(3):
        assert memo.read(["good film good film"], most_tokens=99, most_characters=7) == [letters("goodfi")]


@pytest.mark.parametrize("text", ["a \ud800 b", "\ud83c\udfac b a", "a b " * 50 + "\udfff"])
def test_only_readable_text_is_asked_for(memo: PieceMemo, text: str) -> None:
    readable = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    for most_tokens in (2, 3, 99, 500):
        for _ in range(2):
            rows = memo.read([text], most_tokens=most_tokens, most_characters=10_000)

            assert rows == [letters(readable)[:most_tokens]]


@pytest.mark.parametrize("text", ["没有空格的句子很长很长很长很长很长很长", "x" * 500 + " y", "z" * 33 + " y y y y y"])
def test_long_pieces_are_not_kept(memo: PieceMemo, text: str) -> None:
    for _ in range(3):
        assert memo.read([text], **MOST) == [letters(text)[:99]]

    assert len(memo) <= 1


def test_a_full_memo_is_cleared(memo: PieceMemo, asked: Letters, small: int) -> None:
    texts = drawn(seed=6, words=100)
    for _ in range(500):
        text = next(texts)

        assert memo.read([text], **MOST) == [letters(text)]
        assert len(memo) <= small + 12

    for _ in range(2):
        memo.read(["frequent words"], **MOST)
    asked.texts.clear()
    memo.read(["frequent words"], **MOST)
    assert asked.texts == []


def test_threads_share_a_memo(memo: PieceMemo, small: int) -> None:
    def all_as_expected(seed: int) -> bool:
        texts = drawn(seed=seed, words=small + 10)
        blocks = [[next(texts) for _ in range(1 + number % 3)] for number in range(300)]
        return all(memo.read(block, **MOST) == [letters(text) for text in block] for block in blocks)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(all_as_expected, range(8)))
    finally:
        sys.setswitchinterval(before)
