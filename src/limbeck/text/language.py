"""Detects the language of texts, from the letters and the commonest words of a sample."""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal

SAMPLE_TEXTS = 500
SAMPLE_CHARACTERS = 1_000  # of each text
# A Han character is about a word, a Latin letter about a fifth of one: Chinese with many brand names is still Chinese.
CHINESE_SHARE = 0.2


def detect_language(texts: Sequence[str]) -> Literal["en", "zh"]:
    """Chinese if at least a fifth of all letters are Han characters; English otherwise, also without any letter."""
    letters = han = 0
    for text in _sample(texts):
        for character in text:
            letters += character.isalpha()
            han += _is_han(character)
    return "zh" if han and han >= CHINESE_SHARE * letters else "en"


def _sample(texts: Sequence[str]) -> Iterator[str]:
    """The beginnings of texts from all over the list."""
    step = max(1, -(-len(texts) // SAMPLE_TEXTS))
    return (texts[index][:SAMPLE_CHARACTERS] for index in range(0, len(texts), step))


# Function words, most of them of one language alone: the language with the largest share of a sample's words is meant.
FUNCTION_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "English": "a an the and of to is was it that this for with you are not but have be on as they at from",
        "German": "der die das und ist nicht ich ein eine zu den mit auch es auf sich war für wir aber sehr dem sie",
        "French": "le la les et est pas une des un je du que qui pour dans il ce ne sur très avec mais au nous c'est",
        "Spanish": "el la los y es no una un que por las del muy con para lo se su pero como está más me al",
        "Italian": "il di che non è una un per la sono con mi ma più gli anche della si del molto ho questo le",
        "Portuguese": "o de que não e é uma um os com do da em muito para mais mas foi na no eu as você são",
        "Dutch": "de het een en is niet van ik dat op te zijn voor met maar ook er wel aan heel deze was bij",
        "Swedish": "och att det som en är på inte jag för med den till av har men mycket var ett vi så",
        "Danish": "og det at en er på ikke jeg for med den til af har men meget var et vi så der",
        "Norwegian": "og det å en er på ikke jeg for med den til av har men veldig var et vi så som",
        "Finnish": "ja on ei se että oli en mutta hän tämä kun niin myös ovat olen mitä vain kuin",
        "Polish": "i nie się jest na to w z że do jak ale bardzo był tak co za po mi tym są",
        "Czech": "a je se na to že v s ale jsem si byl jako tak za velmi které od pro nebo bylo",
        "Romanian": "și de nu este în la pe că un o cu am mai din foarte care pentru dar sunt fost",
        "Hungarian": "a az és nem hogy is egy ez volt de nagyon van meg csak már vagy még én mint",
        "Turkish": "ve bir bu çok da de için ama ne gibi daha kadar olarak ben var değil en ile mi",
        "Indonesian": "yang dan di ini tidak dengan itu untuk dari saya ada juga akan pada sangat bisa ke",
        "Vietnamese": "và là của có không cho được người một các trong tôi này rất với những đã để",
    }.items()
}
# The same for scripts that several languages have: the script is named where none of these is likely.
WORDS_OF_SCRIPTS: dict[str, dict[str, frozenset[str]]] = {
    script: {language: frozenset(words.split()) for language, words in languages.items()}
    for script, languages in {
        "CYRILLIC": {
            "Russian": "и в не на что я с как это но по у за все он она мы к из был очень от так же то бы",
            "Ukrainian": "і в не на що я з як це але по у та за він вона ми до із був дуже від так же то",
            "Bulgarian": "и на да не се е за от с че ще в по това но много ми са си как или ни ги беше",
            "Serbian": "и у је да се на не за су са од као али то што или му који би није само врло",
        },
        "ARABIC": {
            "Arabic": "في من على أن هذا هذه لا ما كان إلى عن مع لم التي الذي و كل جدا لكن هو هي",
            "Persian": "و در به از که این را است با برای آن یک هم خیلی ما من بود نیست شد ها",
            "Urdu": "کے میں کی ہے اور سے کا نے کو پر یہ بہت ہیں نہیں تھا وہ بھی",
        },
        "DEVANAGARI": {
            "Hindi": "है के में की और का को से नहीं यह हैं भी पर बहुत था थी मैं तो ही इस",
            "Marathi": "आहे आणि मी हे नाही ते या हा ही तो होते पण खूप आहेत मला व तर",
            "Nepali": "छ र मा को यो हो छैन पनि भने धेरै म त लाई थियो छन् गर्न",
        },
    }.items()
}
SCRIPT_OF = {language: script for script, languages in WORDS_OF_SCRIPTS.items() for language in languages}
SCRIPTS = {"HANGUL": "Korean", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "CJK": "Chinese"}
NAMED_LIKE_THEIR_LANGUAGE = {"GREEK", "HEBREW", "THAI", "ARMENIAN", "GEORGIAN", "TAMIL", "TELUGU", "KHMER", "LAO"}
CODES = {
    "English": "en",
    "German": "de",
    "French": "fr",
    "Spanish": "es",
    "Italian": "it",
    "Portuguese": "pt",
    "Dutch": "nl",
    "Swedish": "sv",
    "Danish": "da",
    "Norwegian": "no",
    "Finnish": "fi",
    "Polish": "pl",
    "Czech": "cs",
    "Romanian": "ro",
    "Hungarian": "hu",
    "Turkish": "tr",
    "Indonesian": "id",
    "Vietnamese": "vi",
    "Russian": "ru",
    "Ukrainian": "uk",
    "Bulgarian": "bg",
    "Serbian": "sr",
    "Arabic": "ar",
    "Persian": "fa",
    "Urdu": "ur",
    "Hindi": "hi",
    "Marathi": "mr",
    "Nepali": "ne",
    "Korean": "ko",
    "Japanese": "ja",
    "Chinese": "zh",
    "Greek": "el",
    "Hebrew": "he",
    "Thai": "th",
    "Armenian": "hy",
    "Georgian": "ka",
    "Tamil": "ta",
    "Telugu": "te",
    "Khmer": "km",
    "Lao": "lo",
}
NAMES = {code: name for name, code in CODES.items()}
WITHOUT_SPACES = frozenset({"zh", "ja", "th", "lo", "km"})  # lengths are counted in characters
KANA_SHARE = 0.1  # of the letters of a Japanese text, and mostly more; a Chinese one has none
LEAST_FUNCTION_WORDS = 0.05  # of all words; below, they do not tell anything
ACCENTED_SHARE = 0.02  # of the letters; English has fewer


def language_name(texts: Sequence[str]) -> str:
    """The language by its function words, for messages: "German"; or by its script: "Cyrillic-script".

    It is English unless something else is likely.
    """
    letters, words = Counter[str](), Counter[str]()
    accented = 0
    for text in _sample(texts):
        letters.update(_script(character) for character in text if character.isalpha())
        accented += sum(character.isalpha() and not character.isascii() for character in text)
        words.update(text.lower().replace("’", "'").split())
    total = max(1, letters.total())
    if (letters["HIRAGANA"] + letters["KATAKANA"]) >= KANA_SHARE * total:
        return "Japanese"
    if letters["CJK"] and letters["CJK"] >= CHINESE_SHARE * total:
        return "Chinese"
    script = max(letters, key=lambda name: letters[name], default="LATIN")
    if script == "LATIN":
        return _latin_language(words, is_accented=accented > ACCENTED_SHARE * total)
    if script in SCRIPTS or script in NAMED_LIKE_THEIR_LANGUAGE:
        return SCRIPTS.get(script, script.title())
    return _likeliest(words, WORDS_OF_SCRIPTS.get(script, {})) or of_script(script)


def language_code(texts: Sequence[str]) -> str:
    """The language by its code: "de"; where only the script is known, "en", whose rules hold for most."""
    found = language_name(texts)
    return CODES.get(found, "en")


def of_script(script: str) -> str:
    """What a text is called of which only the script is known: "Cyrillic-script"."""
    return f"{script.title()}-script"


def _latin_language(words: Counter[str], *, is_accented: bool) -> str:
    likeliest = _likeliest(words, FUNCTION_WORDS)
    return likeliest or ("Latin-script" if is_accented else "English")


def _likeliest(words: Counter[str], languages: Mapping[str, frozenset[str]]) -> str | None:
    """The language with the largest share of the words, the first of equals; None where no share tells anything."""
    shares = {language: sum(words[word] for word in known) for language, known in languages.items()}
    likeliest = max(shares, key=lambda language: shares[language], default=None)
    is_likely = likeliest is not None and shares[likeliest] >= LEAST_FUNCTION_WORDS * max(1, words.total())
    return likeliest if is_likely else None


@lru_cache(maxsize=4096)
def _script(letter: str) -> str:
    """The first word of the letter's name, which is its script's: LATIN, CYRILLIC, CJK."""
    return unicodedata.name(letter, "LATIN").partition(" ")[0]


def _is_han(character: str) -> bool:
    """Unified ideographs, extension A, the compatibility block, and the planes of rare ideographs."""
    return (
        "\u4e00" <= character <= "\u9fff"
        or "\u3400" <= character <= "\u4dbf"
        or "\uf900" <= character <= "\ufaff"
        or "\U00020000" <= character <= "\U0003ffff"
    )
