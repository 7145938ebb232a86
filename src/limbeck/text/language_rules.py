"""What the words of a language are: which of its signs are one and the same, and where its words begin and end.

English and Chinese have rules of their own. These are for the others; languages that are not listed are read as
English.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tokenizers import Regex
from tokenizers.normalizers import NFC, NFKC, Normalizer, Replace

from limbeck.text.word_patterns import (
    ALEFS,
    ELIDED_TOKEN,
    ENGLISH_TOKEN,
    GROUPS,
    JAPANESE_UNIT,
    JOINERS,
    SPACED_UNIT,
    STRESS,
    VOWEL_SIGNS,
)

DIGITS = {"arabic": 0x0660, "persian": 0x06F0, "devanagari": 0x0966}  # of each script, the zero
COMPOSED = NFC()


@dataclass(frozen=True)
class LanguageRules:
    """How texts of a language are written before words are counted, and what a word is."""

    steps: tuple[Normalizer, ...] = ()
    lowercase: tuple[Normalizer, ...] = ()  # before letters become small
    word: str = ENGLISH_TOKEN  # a regular expression
    parts: str = ""  # if words are not written apart, or are put together freely: the runs that are cut into parts
    composed: Normalizer = COMPOSED


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
UNSTRESSED = (_any(STRESS, ""),)
INDIC = (*_digits("devanagari"), _any(JOINERS, ""))
TURKISH = _each({"İ": "i", "I": "ı"})

RULES: dict[str, LanguageRules] = {
    **{code: LanguageRules(GROUPED) for code in ("es", "pt", "pl", "cs", "hu", "uk")},
    **{code: LanguageRules(GROUPED, parts=SPACED_UNIT) for code in ("de", "nl", "sv", "da", "no", "fi")},
    "fr": LanguageRules(GROUPED, word=ELIDED_TOKEN),
    "it": LanguageRules(GROUPED, word=ELIDED_TOKEN),
    "ru": LanguageRules((*GROUPED, *UNSTRESSED, *_each({"ё": "е", "Ё": "Е"}))),
    "bg": LanguageRules((*GROUPED, *UNSTRESSED)),
    "tr": LanguageRules(GROUPED, lowercase=TURKISH),
    "ar": LanguageRules((*_digits("arabic"), *ARABIC_MARKS, _any(ALEFS, "ا"))),
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
