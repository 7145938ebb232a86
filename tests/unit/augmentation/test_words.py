import random

import pytest

from limbeck.augmentation.words import DELETED, cut_words

TEXTS = [
    "",
    " ",
    "word",
    "  two\twords\r\n",
    "it 's n't a `` charming '' -lrb- and often -rrb- affecting journey .",
    "I don't think it’s worth $3,000.50... Mr. Smith of the U.S. said: “well-made!”",
    "naïve cafe\u0301 _under_score_ f**k a_b __ 100% http://example.org/a?b=c",
    "👍🏽👍🏽 ❤️ :-) ^_^",
    "房间很干净，早餐也不错！！下次还会来iPhone 12的。",
    "㐀𠀀々〇 ＡＢＣ１２３ カタカナ한국어",
    "\x00\u200b\ufeff\u2028 x",
]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("text", TEXTS)
def test_unchanged_words_give_the_text_back(text: str, language: str) -> None:
    cut = cut_words(text, language=language)

    assert cut.text == text
    assert len(cut.gaps) == len(cut.words) + 1
    assert all(cut.words)
    assert not any(word.isspace() for word in cut.words)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_random_characters_give_the_text_back(language: str) -> None:
    rng = random.Random(0)
    alphabet = "aB9 '’.,-_*[]()MASK\n\t\u0301中文好的。，！①é😀\ufe0f"
    texts = ["".join(rng.choices(alphabet, k=rng.randint(0, 30))) for _ in range(2_000)]

    assert [cut_words(text, language=language).text for text in texts] == texts


def test_spaced_tokens_are_words_of_their_own() -> None:
    text = "mr. o'neill 's `` fifteen-year-old '' did n't pay 3/4 of $ 3,000 -lrb- u.s. -rrb- ... or 'em in the '70s !"

    assert cut_words(text, language="en").words == text.split()


def test_marks_at_a_word_are_words() -> None:
    words = cut_words('He said: "Great, really great!!!" (twice)', language="en").words

    assert words == ["He", "said", ":", '"', "Great", ",", "really", "great", "!!!", '"', "(", "twice", ")"]


def test_a_mask_is_one_word() -> None:
    assert cut_words("a [MASK] film[MASK]", language="en").words == ["a", "[MASK]", "film", "[MASK]"]


def test_chinese_is_cut_into_whole_words() -> None:
    words = cut_words("剧情太差，浪费时间！iPhone手机", language="zh").words

    assert words == ["剧情", "太", "差", "，", "浪费时间", "！", "iPhone", "手机"]


def test_in_other_languages_every_ideograph_is_a_word() -> None:
    assert cut_words("the 剧情 was bad", language="en").words == ["the", "剧", "情", "was", "bad"]


@pytest.mark.parametrize(
    ("text", "positions", "expected"),
    [
        ("a b c", [1], "a c"),
        ("a b c", [0], "b c"),
        ("a b c", [2], "a b"),
        ("a b c", [0, 1], "c"),
        ("good, film", [1], "good film"),
        (" a b ", [0], " b "),
        (" a b ", [1], " a "),
        ("a b", [0, 1], ""),
    ],
)
def test_a_deleted_word_takes_one_gap_with_it(text: str, positions: list[int], expected: str) -> None:
    cut = cut_words(text, language="en").with_changes(dict.fromkeys(positions, DELETED))

    assert cut.text == expected
    assert cut_words(expected, language="en").words == cut.words


def test_changed_words_keep_the_gaps() -> None:
    cut = cut_words("A film,\tnot long.", language="en")

    assert cut.with_changes({1: "[MASK]", 4: "short"}).text == "A [MASK],\tnot short."


def test_a_window_has_no_outer_gaps() -> None:
    cut = cut_words(" one, two  three ", language="en")

    assert cut.window(1, 3).text == ", two  three"
    assert cut.window(0, 1).text == "one"
