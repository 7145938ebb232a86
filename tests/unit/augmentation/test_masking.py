from random import Random
from typing import Any

from limbeck.artifacts.rows import content_key
from limbeck.augmentation.masking import MaskWords
from limbeck.augmentation.method import SourceText
from limbeck.augmentation.words import cut_words
from limbeck.text.word_tokenizer import build_word_tokenizer

WORDS = 10_000


def test_a_tenth_of_the_words_is_masked(make_copies: Any, within_four_sigma: Any) -> None:
    text = " ".join(f"word{number}" for number in range(WORDS))

    [copy] = make_copies([MaskWords(0.1)], text)

    words = copy.sides[0].split()
    masked = words.count("[MASK]")
    assert within_four_sigma(masked, trials=WORDS, chance=0.1)
    assert copy.changes == [masked]
    assert len(words) == WORDS


def test_the_mask_is_the_one_that_the_student_knows() -> None:
    student = build_word_tokenizer(["a film"], language="en", max_size=10, min_count=1, lowercase=True)
    source = SourceText(content_key("film."), cut_words("film.", language="en"))

    word = MaskWords(0.1).change(source, 0, Random(0))

    assert word is not None
    [ids] = student.encode([source.cut.with_changes({0: word}).text], max_length=8)
    assert student.vocabulary[ids[0]] == "[MASK]"
    assert ids[0] == 2


def test_chinese_is_masked_by_whole_words(make_copies: Any) -> None:
    text = "酒店服务态度非常好，房间干净整洁，早餐品种丰富，下次一定还会选择这里。" * 5
    whole = cut_words(text, language="zh").words

    copies = make_copies([MaskWords(0.3)], text, copies=50, language="zh")

    assert any(len(word) > 1 for word in whole)
    for copy in copies:
        assert _is_made_of(copy.sides[0], whole), "a part of a word is missing"


def _is_made_of(text: str, words: list[str]) -> bool:
    """Whether the text is these words in order, some of them masked."""
    for word in words:
        if text.startswith("[MASK]"):
            text = text.removeprefix("[MASK]")
        elif text.startswith(word):
            text = text.removeprefix(word)
        else:
            return False
    return not text
