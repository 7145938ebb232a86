"""Ids that are looked up are the same as those from the library."""

import random
from collections.abc import Callable

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from limbeck.text.piece_memo import PieceMemo
from limbeck.text.plain_ids import PlainIds
from limbeck.text.segmenter import opened

StrangeTexts = Callable[..., list[str]]


def as_they_are(ids: list[int]) -> list[int]:
    return ids


def of_library(tokenizer: Tokenizer, texts: list[str]) -> list[list[int]]:
    return [encoding.ids for encoding in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]


def test_every_text_has_the_ids_that_the_library_gives_it(separable_json: str, strange_texts: StrangeTexts) -> None:
    tokenizer = opened(separable_json)
    plain, dice = PlainIds(tokenizer, after=as_they_are), random.Random(3)
    texts = [*strange_texts(600, seed=4)] * 3  # new, seen once, known
    expected = of_library(tokenizer, texts)

    while texts:
        size, max_length = dice.choice([1, 1, 1, 30]), dice.choice([1, 5, 20, 200])
        rows = plain.read(texts[:size], max_length=max_length)

        assert rows == [ids[:max_length] for ids in expected[:size]]
        texts, expected = texts[size:], expected[size:]


def test_without_truncation_texts_have_all_their_ids(separable_json: str, strange_texts: StrangeTexts) -> None:
    tokenizer = opened(separable_json)
    plain = PlainIds(tokenizer, after=as_they_are)
    texts = ["".join(strange_texts(20, seed=seed)) for seed in range(5)]

    for _ in range(3):
        assert plain.read(texts, max_length=5, truncate=False) == of_library(tokenizer, texts)


@pytest.fixture
def tokenizer() -> Tokenizer:
    pieces = ["[PAD]", "[UNK]", "good", "film", "mark"]
    tokenizer = Tokenizer(models.WordLevel({piece: number for number, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return tokenizer


def test_texts_and_ids_are_changed_whether_they_are_known_or_not(tokenizer: Tokenizer) -> None:
    plain = PlainIds(
        tokenizer,
        before=lambda text: text.replace("[MASK]", "mark"),
        after=lambda ids: [number for number in ids if number],
    )
    texts = ["good [MASK] [PAD] film", "[PAD] [MASK] good", "[MASK]", "good film film [PAD]"]

    for _ in range(3):
        assert plain.read(texts, max_length=9) == [[2, 4, 3], [4, 2], [4], [2, 3, 3]]


def test_a_tokenizer_whose_words_depend_on_each_other_is_asked_every_time(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer.pre_tokenizer = None
    monkeypatch.delattr(PieceMemo, "read")

    assert PlainIds(tokenizer, after=as_they_are).read(["good", "good film"], max_length=9) == [[2], [1]]
