"""Words of languages other than English and Chinese."""

from typing import get_args

import pytest
from tokenizers import Tokenizer

from limbeck.recipe.corpus import Language
from limbeck.text.language import CODES, language_code
from limbeck.text.language_rules import RULES
from limbeck.text.learned_parts import LONGEST_PART
from limbeck.text.sentences import split_sentences, word_count
from limbeck.text.word_tokenizer import build_word_tokenizer

SPACE = "\u202f"  # narrow, and no place to break a line


def words_of(text: str, *, language: str, texts: list[str] | None = None) -> list[str]:
    built = build_word_tokenizer(texts or [text], language=language, max_size=500, min_count=1, lowercase=True)
    return list(Tokenizer.from_str(built.to_json()).encode(text).tokens)


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("pl", f"Cena: 1{SPACE}234{SPACE}567,89 zł", "cena : 1234567,89 zł"),
        ("es", f"El 3.{SPACE}mayo 20{SPACE}000", "el 3 . mayo 20000"),
        ("fr", "L’homme qu'on n'aime pas d'habitude", "l' homme qu' on n' aime pas d' habitude"),
        ("it", "Nell'albergo c'è l'ascensore", "nell' albergo c' è l' ascensore"),
        ("es", "¿Qué tal? ¡Muy bien!", "¿ qué tal ? ¡ muy bien !"),
        ("pt", "Não gostei, viu?", "não gostei , viu ?"),
        ("ru", "Ёлка и е\u0301ль за 1\u00a0200 рублей", "елка и ель за 1200 рублей"),
        ("tr", "IŞIK ve İzmir", "ışık ve izmir"),
        ("ar", "كَتَبَ أحمدُ ١٬٢٣٤٫٥ ســـطر", "كتب احمد 1,234.5 سطر"),
        ("fa", "كتاب علي ۱۲۳", "کتاب علی 123"),
        ("hi", "क्\u200dया १२३ रुपये?", "क्या 123 रुपये ?"),
        ("he", "המרק היה קר", "המרק היה קר"),
        ("el", "Η σούπα ΉΤΑΝ κρύα", "η σούπα ήταν κρύα"),
    ],
)
def test_signs_are_unified_and_words_cut_as_the_language_has_them(language: str, text: str, words: str) -> None:
    assert words_of(text, language=language) == words.split()


def test_english_has_its_own_rules_still() -> None:
    text = f"Don't pay 1{SPACE}234 for l'amour"

    assert words_of(text, language="en") == ["do", "n't", "pay", "1", "234", "for", "l", "'", "amour"]


JAPANESE = ["スープが冷たい。", "スープが熱い。", "店員が冷たい。", "店員は親切だ。", "パンが熱い。", "ﾊﾟﾝは冷たい。"]
KOREAN = ["학교에 갔다", "학교는 크다", "학교를 봤다", "식당에 갔다", "식당은 크다", "식당을 봤다", "바다에 갔다"]
THAI = ["อาหารอร่อย", "อาหารเย็น", "น้ำเย็น", "น้ำอร่อย", "อาหารร้อน", "น้ำร้อน"]


def test_what_has_no_spaces_is_cut_into_parts_that_occur_again() -> None:
    assert words_of("スープが冷たい。", language="ja", texts=JAPANESE * 9) == ["スープ", "が", "冷", "たい", "。"]
    assert words_of("パンは冷たい", language="ja", texts=JAPANESE * 9)[0] == "パン"  # half as wide letters, too
    assert words_of("อาหารเย็น", language="th", texts=THAI)[0] == "อาหาร"


def test_endings_that_many_words_share_are_parts_and_new_words_are_not_unknown() -> None:
    found = words_of("바다를 학교은", language="ko", texts=KOREAN)

    assert "".join(found) == "바다를학교은"
    assert "학교" in found


def test_compounds_are_cut_into_parts() -> None:
    texts = ["Kundendienst", "Kundenpost", "Postdienst", "Posthaus", "Hausdienst", "Kundenhaus"]

    assert words_of("Hauspost", language="de", texts=texts * 2) == ["haus", "post"]


def test_long_runs_do_not_stop_it() -> None:
    words = words_of("ก" * 3_000, language="th")

    assert "".join(words) == "ก" * 3_000
    assert max(map(len, words)) <= LONGEST_PART


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Die Suppe war kalt, und es hat sich niemand um uns gekümmert.", "de"),
        ("スープが冷たくて、誰も来なかった。", "ja"),
        ("수프가 차가웠어요.", "ko"),
        ("الطعام كان باردا في هذا المطعم ولم يأت أحد", "ar"),
        ("Фильм", "en"),  # Cyrillic letters, but of which language?
        ("gorgeous film", "en"),
        ("汤是凉的", "zh"),
    ],
)
def test_the_language_has_a_code(text: str, code: str) -> None:
    assert language_code([text, text]) == code


def test_a_recipe_may_name_every_language_that_is_detected_or_has_rules() -> None:
    assert set(get_args(Language)) == {"auto", *CODES.values()}
    assert set(RULES) <= set(CODES.values())


def test_lengths_and_sentences_of_texts_without_spaces() -> None:
    assert word_count("スープが 冷たい", language="ja") == 7
    assert word_count("수프가 차가워요", language="ko") == 2
    assert split_sentences("スープが冷たい。誰も来ない！また来る？", language="ja") == [
        "スープが冷たい。",
        "誰も来ない！",
        "また来る？",
    ]
    assert split_sentences("المرق بارد؟ لا أدري. نعم", language="ar") == ["المرق بارد؟", "لا أدري.", "نعم"]
