"""What the words of a language are: which of its signs are one and the same, and where its words begin and end.

English and Chinese have rules of their own. These are for the others; languages that are not listed are read as English.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tokenizers import Regex
from tokenizers.normalizers import NFC, NFKC, Normalizer, Replace

from limbeck.text.word_patterns import ENGLISH_TOKEN, FIRST, JAPANESE_UNIT, LONGEST_UNIT, SPACED_UNIT

DIGITS = {"arabic": 0x0660, "persian": 0x06F0, "devanagari": 0x0966}  # of each script, the zero
GROUPS = r"(?<=\p{Nd})[\u00A0\u2009\u202F](?=\p{Nd}{3}(?!\p{Nd}))"  # 1 234 567, with spaces that do not break
VOWEL_SIGNS = r"[\u0640\u064B-\u0652\u0670]"  # of Arabic, mostly not written; and the line that stretches a word
ELISION = rf"{FIRST}{{1,12}}'(?={FIRST})"  # l'homme is l' homme, dell'arte is dell' arte


@dataclass(frozen=True)
class LanguageRules:
    """How texts of a language are written before words are counted, and what a word is."""

    steps: tuple[Normalizer, ...] = ()
    lowercase: tuple[Normalizer, ...] = ()  # before letters become small
    word: str = ENGLISH_TOKEN  # a regular expression
    parts: str = ""  # if words are not written apart, or are put together freely: the runs that are cut into parts
    composed: Normalizer = NFC()


def rules_of(language: str) -> LanguageRules:
    """The rules of a language, by its code; English has the plain ones."""
    return RULES.get(language, LanguageRules())


def _each(table: dict[str, str]) -> tuple[Normalizer, ...]:
    return tuple(Replace(old, new) for old, new in table.items())


def _digits(script: str) -> tuple[Normalizer, ...]:
    return _each({chr(DIGITS[script] + digit): str(digit) for digit in range(10)})


def _any(signs: str, content: str) -> Normalizer:
    return Replace(Regex(signs), content)


GROUPED = (_any(GROUPS, ""),)
ARABIC_MARKS = (*_each({"\u066b": ".", "\u066c": ","}), _any(VOWEL_SIGNS, ""))
STRESS = (_any("\u0301", ""),)  # of dictionaries and schoolbooks
INDIC = (*_digits("devanagari"), _any(r"[\u200C\u200D]", ""))  # how letters are joined does not change a word
TURKISH = _each({"İ": "i", "I": "ı"})

RULES: dict[str, LanguageRules] = {
    **{code: LanguageRules(GROUPED) for code in ("de", "es", "pt", "nl", "sv", "da", "no", "fi", "pl", "cs", "hu", "uk")},
    "fr": LanguageRules(GROUPED, word=f"{ELISION}|{ENGLISH_TOKEN}"),
    "it": LanguageRules(GROUPED, word=f"{ELISION}|{ENGLISH_TOKEN}"),
    "ru": LanguageRules((*GROUPED, *STRESS, *_each({"ё": "е", "Ё": "Е"}))),
    "bg": LanguageRules((*GROUPED, *STRESS)),
    "tr": LanguageRules(GROUPED, lowercase=TURKISH),
    "ar": LanguageRules((*_digits("arabic"), *ARABIC_MARKS, _any("[أإآٱ]", "ا"))),
    "fa": LanguageRules((*_digits("persian"), *_digits("arabic"), *ARABIC_MARKS, *_each({"ي": "ی", "ك": "ک"}))),
    "ur": LanguageRules((*_digits("persian"), *ARABIC_MARKS)),
    "hi": LanguageRules(INDIC),
    "mr": LanguageRules(INDIC),
    "ne": LanguageRules(INDIC),
    "ja": LanguageRules(parts=JAPANESE_UNIT, composed=NFKC()),
    "ko": LanguageRules(parts=SPACED_UNIT, composed=NFKC()),
    "th": LanguageRules(parts=SPACED_UNIT),
    "lo": LanguageRules(parts=SPACED_UNIT),
    "km": LanguageRules(parts=SPACED_UNIT),
}


def steps_of(
    rules: LanguageRules, *, form: Sequence[Normalizer], quotes: Sequence[Normalizer], last: Sequence[Normalizer]
) -> list[Normalizer]:
    """All steps before words are split: the form of the corpus, the language's own, and small letters at the end."""
    return [*form, rules.composed, *quotes, *rules.steps, *(rules.lowercase if last else ()), *last]
