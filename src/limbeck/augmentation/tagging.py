"""Part-of-speech tagging: HanTa for English, German and Dutch, jieba for Chinese; both include their models."""

import re
import warnings
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal, TypeAlias

from limbeck.augmentation.words import FORMAT, cut_words, is_han
from limbeck.errors import DependencyMissing
from limbeck.text.jieba_words import jieba_tags

Tagger: TypeAlias = Literal["hanta", "jieba"]
PACKAGES: dict[Tagger, str] = {"hanta": "HanTa", "jieba": "jieba"}
EXTRAS = {"HanTa": "augment", "jieba": "zh"}
HANTA_MODELS = {"en": "en", "de": "ger", "nl": "dutch"}  # those inside the package, as their files call them
WORDS_AT_ONCE = 128  # HanTa fails on sentences whose probability underflows
MOST_LETTERS = 40  # of a word for HanTa: its time grows with the square of the length
WORDS_REMEMBERED = 20_000  # some kilobytes each
CONTRACTION = re.compile(r"(.+?)(n't|'(?:s|m|d|ll|re|ve))", re.IGNORECASE)
MARK, QUOTE = "PUN", "PUQ"
MARKS = {".": ".!?…", ",": ",", ":": ":;-–—", "``": "`‘“«", "''": "'’”»\""}
TREEBANK = {"-lrb-": "(", "-rrb-": ")", "-lsb-": "[", "-rsb-": "]", "-lcb-": "{", "-rcb-": "}"}


def tagger_id(tagger: Tagger, *, language: str) -> str:
    """The name under which tags are stored: everything that they depend on except the text.

    Raises DependencyMissing if the tagger's package is not installed.
    """
    marks = "-marks" if tagger == "hanta" else ""
    cutter = f"-jieba{_version('jieba')}" if language == "zh" and tagger != "jieba" else ""
    model = hanta_model(language) if tagger == "hanta" else "en"
    which = "" if model == "en" else f"-{model}"
    return f"{tagger}{_version(PACKAGES[tagger])}{which}{marks}{cutter}-{language}-{FORMAT}"


def hanta_model(language: str) -> str:
    """The model that tags a language: its own, else that of English."""
    return HANTA_MODELS.get(language, HANTA_MODELS["en"])


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        purpose = "tagging parts of speech (pos_swap)"
        raise DependencyMissing(package=package, purpose=purpose, extra=EXTRAS[package]) from None


def open_tagger(tagger: Tagger, *, language: str) -> Callable[[Sequence[str]], list[str]]:
    """A function that gives each word of a text its tag."""
    return _hanta_tags(hanta_model(language)) if tagger == "hanta" else _jieba_tags()


def tag_texts(tagger_and_language: tuple[Tagger, str], texts: Sequence[str]) -> list[str]:
    """For each text the tags of its words, separated by spaces."""
    tagger, language = tagger_and_language
    tags_of = open_tagger(tagger, language=language)
    return [" ".join(tags_of(cut_words(text, language=language).words)) for text in texts]


@cache
def _hanta_tags(model: str) -> Callable[[Sequence[str]], list[str]]:
    tagger = _hanta(model)

    def tags_of(words: Sequence[str]) -> list[str]:
        """In context, sentence by sentence. A contraction is tagged as its two words: don't is VDB+XX0."""
        parts = [_parts(word) for word in words]
        flat = [part for both in parts for part in both]
        found: list[str] = []
        for start in range(0, len(flat), WORDS_AT_ONCE):
            found += tagger.tag_sent(flat[start : start + WORDS_AT_ONCE], taglevel=0)
        tags = iter(refined(part, tag) for part, tag in zip(flat, found, strict=True))
        return ["+".join(next(tags) for _ in both) for both in parts]

    return tags_of


def refined(word: str, tag: str) -> str:
    """The tag, with marks apart as the Penn treebank has them: what ends a sentence, commas, what is between, and
    opening and closing quotes. HanTa's tags, which are those of the British National Corpus, have one for the first
    three and one for all quotes."""
    if tag not in (MARK, QUOTE):
        return tag
    return tag + next((name for name, marks in MARKS.items() if word[:1] in marks), "")


def _parts(word: str) -> tuple[str, ...]:
    plain = TREEBANK.get(word.lower(), word)[:MOST_LETTERS].replace("’", "'")
    contraction = CONTRACTION.fullmatch(plain)
    return contraction.groups() if contraction else (plain,)


def _hanta(model: str) -> Any:
    """HanTa's tagger with one of its models, and a cache: most of its time is spent on words that it has seen before.

    Its model is a pickle inside the package. It is given by its full path, because HanTa would look in the current
    folder first.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import HanTa.HanoverTagger

    base: Any = HanTa.HanoverTagger.HanoverTagger

    class CachingTagger(base):  # type: ignore[misc]
        @lru_cache(WORDS_REMEMBERED)  # noqa: B019 - there is one tagger of a model, and it lives as long as its process
        def analyze_forward(self, word: str) -> Any:
            return super().analyze_forward(word)

    return CachingTagger(str(Path(HanTa.__file__).with_name(f"morphmodel_{model}.pgz")))


@cache
def _jieba_tags() -> Callable[[Sequence[str]], list[str]]:
    """Word by word: jieba uses its dictionary, and looks at neighbouring words only for characters it has no word for.

    On ChnSentiCorp, 95 % of the words get the same tag as in their sentence.
    """
    split = jieba_tags()

    @lru_cache(1 << 18)
    def tag(word: str) -> str:
        return "+".join(dict.fromkeys(split(word))) if is_han(word) else _plain_tag(word)

    return lambda words: [tag(word) for word in words]


def _plain_tag(word: str) -> str:
    """jieba's tags for numbers, letters and marks in a sentence; it would tag a single digit or letter as a mark."""
    if any(map(str.isdigit, word)):
        return "m"
    return "eng" if any(map(str.isalpha, word)) else "x"
