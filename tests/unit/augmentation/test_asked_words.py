import pytest

from limbeck.augmentation.piece_words import kind_of, written_like


@pytest.mark.parametrize("word", ["film", "Film", "café", "well-made", "90s", "o'clock"])
def test_words_of_letters_are_asked_about(word: str) -> None:
    assert kind_of(word, language="en") == kind_of(word, language="zh") == "word"


@pytest.mark.parametrize(
    "word", ["the", "The", "n't", "don't", "Don’t", "not", "-lrb-", ",", "...", "1984", "3,000.50", "[MASK]", "[mask]"]
)
def test_function_words_numbers_and_marks_stay(word: str) -> None:
    assert kind_of(word, language="en") is None


@pytest.mark.parametrize(("word", "kind"), [("酒店", "han"), ("差", "han"), ("一塌糊涂", "han"), ("的", None)])
def test_chinese_words_of_up_to_four_characters_are_asked_about(word: str, kind: str | None) -> None:
    assert kind_of(word, language="zh") == kind


def test_longer_chinese_words_stay() -> None:
    assert kind_of("中华人民共和国", language="zh") is None


def test_ideographs_in_other_corpora_stay() -> None:
    """There they are not segmented: each could be part of a word."""
    assert kind_of("酒", language="en") is None


@pytest.mark.parametrize(
    ("word", "expected"), [("film", "story"), ("Film", "Story"), ("FILM", "STORY"), ("McKee", "Story"), ("X", "Story")]
)
def test_a_word_is_written_in_the_case_of_the_one_it_replaces(word: str, expected: str) -> None:
    assert written_like(word, "story") == expected
