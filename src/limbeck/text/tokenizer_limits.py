"""Limits on a tokenizer.json of somebody else: how much it may lengthen a text, and what it may ask of memory.

The tokenizers library ends the process if memory runs out, and panics on some faults. So what a file can make of a text
is computed before any text is read, and the texts that are read at once are limited by it.
"""

from base64 import b64decode
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from tokenizers import Tokenizer
from tokenizers.models import BPE, WordPiece

from limbeck.errors import LimbeckError
from limbeck.text.separable import parts_of, state_of
from limbeck.text.word_patterns import DOUBLE_QUOTE, SINGLE_QUOTE

Json = dict[str, Any]
Item = TypeVar("Item")

CHARACTERS_AT_ONCE = 1 << 25  # of texts that are read at once, after they have grown
MOST_GROWTH = (
    3_000  # so that 10,000 characters of a text can always be read; of published tokenizers ALBERT's has 1,296
)
MOST_STEPS, MOST_SPECIAL_TOKENS, LONGEST_AFFIX = 1_000, 1_000, 100
MOST_BYTES, MOST_IDS = 1 << 28, 1 << 26
LONGEST_WORD = 100_000  # characters of a word that WordPiece tries to cut, which takes time by their square

# How many characters one character can become. Unicode's forms and lower case do not lengthen a text twice.
FORMS = {"NFC": 3, "NFD": 4, "NFKC": 18, "NFKD": 18, "Lowercase": 2, "BertNormalizer": 8}
MOST_OF_FORMS = 36
STEPS = {
    **dict.fromkeys(("Nmt", "Strip", "StripAccents"), 1),
    **dict.fromkeys(("BertPreTokenizer", "CharDelimiterSplit", "Digits", "FixedLength", "Punctuation", "Split"), 1),
    **dict.fromkeys(("UnicodeScripts", "Whitespace", "WhitespaceSplit"), 1),
    "Metaspace": 2,
    "ByteLevel": 5,
}
CONSUMING = {" {2,}", SINGLE_QUOTE, DOUBLE_QUOTE}  # expressions that match no empty text, as published tokenizers have


class TokenizerRefused(LimbeckError):
    """A tokenizer.json would lengthen texts without bound, or the library cannot work with it."""

    def __init__(self, *, reason: str) -> None:
        self.reason = reason
        super().__init__(
            "the tokenizer cannot be used",
            found=reason,
            advice="Get an intact copy of the model, or of the checkpoint, from people you trust.",
        )


def characters_at_once(tokenizer: Tokenizer) -> int:
    """How many characters of texts may be read together. Raises TokenizerRefused."""
    with panics_as_errors():
        _refuse_model(tokenizer)
        _refuse_frames(tokenizer)
        return int(CHARACTERS_AT_ONCE / _growth(tokenizer))


def portions(items: Sequence[Item], lengths: Iterable[int], *, most: int) -> Iterator[Sequence[Item]]:
    """The items in order, in parts whose lengths together are at most `most`; a longer item is a part of its own."""
    start = total = 0
    for at, length in enumerate(lengths):
        if total + length > most and at > start:
            yield items[start:at]
            start, total = at, 0
        total += length
    if start < len(items):
        yield items[start:]


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """What the library raises, also its panics, which are no Exception, as TokenizerRefused."""
    try:
        yield
    except (LimbeckError, MemoryError):
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__module__ != "pyo3_runtime":
            raise  # Ctrl-C and the like
        first, *_ = str(error).splitlines() or [type(error).__name__]
        raise TokenizerRefused(reason=first[:200]) from error


def _growth(tokenizer: Tokenizer) -> float:
    """How many times longer a text can become."""
    steps = [*parts_of(state_of(tokenizer.normalizer), "normalizers"), *_pre_tokenizers(tokenizer)]
    if len(steps) > MOST_STEPS:
        raise TokenizerRefused(reason=f"it changes texts in {len(steps):,} steps; at most {MOST_STEPS:,} are taken")
    growth, of_forms = 1.0, 1.0
    for step in steps:
        if factor := FORMS.get(step["type"]):
            now = min(MOST_OF_FORMS, of_forms * factor)
            growth, of_forms = growth * now / of_forms, now
        else:
            growth *= _factor(step)
            of_forms = of_forms if _writes_ascii(step) else 1.0
        if growth > MOST_GROWTH:
            raise TokenizerRefused(reason=f"it can make a text more than {MOST_GROWTH:,} times as long")
    return growth


def _pre_tokenizers(tokenizer: Tokenizer) -> list[Json]:
    found: Any = tokenizer.pre_tokenizer
    try:
        return parts_of(state_of(found), "pretokenizers")
    except Exception:  # a part in Python, which is our own and cuts words; what comes before it is the library's
        return parts_of(state_of(found[0]), "pretokenizers") if hasattr(found, "__getitem__") else []


def _factor(step: Json) -> float:
    match step["type"]:
        case "Replace":
            return _of_replacement(step["pattern"], step["content"])
        case "Prepend":
            return 1.0 + len(step["prepend"])
        case "Precompiled":
            return _longest_replacement(step["precompiled_charsmap"])
        case kind if kind in STEPS:
            return STEPS[kind]
        case kind:
            raise TokenizerRefused(reason=f"it has a part that is not known: {kind}")


def _of_replacement(pattern: Json, content: str) -> float:
    """An expression, or an empty text, may match before and after every character."""
    if pattern.get("Regex") in CONSUMING:
        return max(1.0, len(content))
    found = pattern.get("String", "")
    return max(1.0, len(content) / len(found)) if found else 1.0 + len(content)


def _longest_replacement(charsmap: str | Sequence[int]) -> float:
    """Of SentencePiece's map: the size of its search tree in four bytes, the tree, and the replacements."""
    data = b64decode(charsmap) if isinstance(charsmap, str) else bytes(charsmap)
    texts = data[4 + int.from_bytes(data[:4], "little") :].split(b"\0")
    return max(1.0, *(len(text.decode("utf-8", "replace")) for text in texts))


def _writes_ascii(step: Json) -> bool:
    """Whether it adds no character that a form of Unicode would lengthen."""
    return str(step.get("content", "" if step["type"] in STEPS and step["type"] != "ByteLevel" else "é")).isascii()


def _refuse_model(tokenizer: Tokenizer) -> None:
    model: Any = tokenizer.model
    affixes = [getattr(model, name, None) or "" for name in ("continuing_subword_prefix", "end_of_word_suffix")]
    if isinstance(model, BPE | WordPiece) and max(map(len, affixes)) > LONGEST_AFFIX:
        raise TokenizerRefused(reason=f"its pieces have a prefix or suffix of more than {LONGEST_AFFIX} characters")
    if isinstance(model, WordPiece) and model.max_input_chars_per_word > LONGEST_WORD:
        raise TokenizerRefused(reason=f"max_input_chars_per_word is more than {LONGEST_WORD:,}")


def _refuse_frames(tokenizer: Tokenizer) -> None:
    """Special tokens around a text may be many, and a template may repeat the text, several times over."""
    for part in parts_of(state_of(tokenizer.post_processor), "processors"):
        if part["type"] != "TemplateProcessing":
            continue
        for template in (part["single"], part["pair"]):
            texts = [piece["Sequence"]["id"] for piece in template if "Sequence" in piece]
            names = [piece["SpecialToken"]["id"] for piece in template if "SpecialToken" in piece]
            tokens = sum(len(part["special_tokens"][name]["ids"]) for name in names)
            if len(set(texts)) < len(texts) or tokens > MOST_SPECIAL_TOKENS:
                raise TokenizerRefused(reason="its post-processor repeats texts, or adds thousands of special tokens")
