"""Punctuation and contractions separated by spaces: as in SST-2, in one pass, and the same in a tokenizer."""

import random

import pytest
from tokenizers import Regex
from tokenizers.normalizers import Replace

from limbeck.text.spacing import PLACE, spaced

SST2_LIKE = [
    "it 's a charming and often affecting journey .",
    "the acting , costumes , music , and sound are all astounding given the production 's austere locales .",
    "do n't be fooled : it ca n't , and wo n't , end well -- or so they say ...",
    "( lawrence bounces ) all over the stage , `` dancing , running , sweating , '' with mr. jones of the u.s.",
    "what ?!? a '70s rock 'n' roll movie for $ 10,000 , at 24/7 and 1.8 times the speed",
    "a sci-fi writer/director & his father-in-law 's old-fashioned ` story ' , no ! ; & more",
    "we 've seen the actors ' faces , the hippest of 'em all , and i 'd say they can not be beaten",
]
PARTS = [
    *(
        "'",
        "’",
        "''",
        "`",
        "``",
        '"',
        "“",
        "”",
        "(",
        ")",
        ",",
        ":",
        ";",
        ".",
        "..",
        "...",
        "-",
        "--",
        "!",
        "?",
        "$",
        "%",
    ),
    *(
        "/",
        "*",
        "&",
        "#",
        " ",
        "  ",
        "\n",
        "\x1c",
        "\u0301",
        "é",
        "a",
        "I",
        "n",
        "n't",
        "N'T",
        "'s",
        "can",
        "not",
        "Mr",
    ),
    *(
        "cannot",
        "mr",
        "u.s",
        "st",
        "1",
        "10",
        "3.5",
        "em",
        "'em",
        "til",
        "word",
        "好",
        "。",
        "，",
        "٣",
        "İ",
        "\u200b",
        "_",
    ),
]


@pytest.fixture(scope="module")
def mixtures() -> list[str]:
    draw = random.Random(0)
    return ["".join(draw.choices(PARTS, k=draw.randint(1, 8))) for _ in range(20_000)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It's fine, don't worry!", "It 's fine , do n't worry !"),
        ("I CAN'T, she'll; they've: we're", "I CA N'T , she 'll ; they 've : we 're"),
        ("It cannot be (said he).", "It can not be ( said he ) ."),
        ('He said: "No."', 'He said : " No . "'),
        ("a 'quoted' word and the actors' faces", "a ' quoted ' word and the actors ' faces"),
        ("Mr. Smith of the U.S. saw J.R.R. Tolkien.", "Mr. Smith of the U.S. saw J.R.R. Tolkien ."),
        ("So am I. Really?!", "So am I . Really ?!"),
        ("$3,000.50 at 10:30,then 7/10", "$ 3,000.50 at 10:30 , then 7/10"),
        ("wait...what--no", "wait ... what -- no"),
        ("a well-made sci-fi/horror film", "a well-made sci-fi/horror film"),
        ("in the '70s, rock 'n' roll; give 'em", "in the '70s , rock 'n' roll ; give 'em"),
        ("naïve cliché's", "naïve cliché 's"),
        ("two  spaces\nand a line", "two  spaces\nand a line"),
        ("房间不错，很好", "房间不错，很好"),
        ("", ""),
    ],
)
def test_marks_and_contractions_are_separated(text: str, expected: str) -> None:
    assert spaced(text) == expected


@pytest.mark.parametrize("text", SST2_LIKE)
def test_text_that_is_spaced_already_is_not_changed(text: str) -> None:
    assert spaced(text) == text


def test_a_second_time_changes_nothing(mixtures: list[str]) -> None:
    assert [text for text in mixtures if spaced(spaced(text)) != spaced(text)] == []


def test_a_tokenizer_does_the_same(mixtures: list[str]) -> None:
    in_tokenizer = Replace(Regex(PLACE), " ").normalize_str

    assert [text for text in [*mixtures, *SST2_LIKE] if in_tokenizer(text) != spaced(text)] == []


def test_nothing_but_spaces_is_added(mixtures: list[str]) -> None:
    assert all(spaced(text).replace(" ", "") == text.replace(" ", "") for text in mixtures)


def test_very_long_words_are_processed() -> None:
    assert spaced("x" * 100_000 + "!") == "x" * 100_000 + " !"
