"""Which tokenizers read the words between spaces one by one, whatever stands beyond the spaces."""

import json
from typing import Any

from tokenizers import Tokenizer
from tokenizers.models import Model, Unigram, WordLevel, WordPiece
from tokenizers.pre_tokenizers import PreTokenizer, Sequence

from limbeck.text.spacing import PLACE
from limbeck.text.word_patterns import CHINESE_UNIT, DOUBLE_QUOTE, ENGLISH_TOKEN, SINGLE_QUOTE

Json = dict[str, Any]

# N("a b") is N("a") + " " + N("b") for each of these: they look at one character after the other, or, in Unicode's
# normal forms, at letters and the marks on them, and no mark forms one character with a space. The library lowers
# letter by letter: a sigma is the same at the end of a word.
NORMALIZERS = {"BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "StripAccents"}
REPLACED = {SINGLE_QUOTE, DOUBLE_QUOTE, PLACE}  # expressions that neither match a space nor look beyond one
# White space ends a word and is no part of any; and what may follow, as it is given one word after the other.
PRE_TOKENIZERS = {"BertPreTokenizer", "Whitespace", "WhitespaceSplit"}
FOLLOWERS = {"Digits", "Punctuation", *PRE_TOKENIZERS}
WORDS = {ENGLISH_TOKEN, CHINESE_UNIT}


def is_separable(tokenizer: Tokenizer) -> bool:
    """Whether the ids of a text are those of the parts between its spaces (U+0020 alone), one part after the other.

    False for everything that is not known to be so: spaces that are part of tokens, expressions of others, cuts by
    chance. Other white space is no place to part a text at: BERT, for one, joins what a vertical tab or U+0085 parts.
    """
    return (
        _is_sure(tokenizer.model)
        and all(map(_is_local, _parts(_state(tokenizer.normalizer), "normalizers")))
        and _parts_words(tokenizer.pre_tokenizer)
        and not any(
            # Where they are looked for in the text as it was written, such a token is within one part.
            token.normalized or token.single_word or " " in token.content
            for token in tokenizer.get_added_tokens_decoder().values()
        )
    )


def _is_sure(model: Model) -> bool:
    """Whether the model gives a word the same ids every time: a unigram model can be told to draw lots."""
    if isinstance(model, Unigram):
        return getattr(model, "alpha", None) is None and getattr(model, "nbest_size", None) is None
    return isinstance(model, WordLevel | WordPiece)


def _is_local(normalizer: Json) -> bool:
    if normalizer["type"] != "Replace":
        return normalizer["type"] in NORMALIZERS
    pattern = normalizer["pattern"]
    if "Regex" in pattern:
        return pattern["Regex"] in REPLACED
    return len(pattern["String"]) == 1 and pattern["String"] != " "


def _parts_words(pre_tokenizer: PreTokenizer | None) -> bool:
    try:
        first, *others = _parts(_state(pre_tokenizer), "pretokenizers")
    except ValueError:  # there is none
        return False
    except Exception:  # the library's, for Python's code: jieba's, which is given one unit after the other
        if not isinstance(pre_tokenizer, Sequence) or not hasattr(pre_tokenizer, "__getitem__"):
            return False  # not every version of the library tells its parts
        return _parts_words(pre_tokenizer[0])
    return _starts(first) and all(part["type"] in FOLLOWERS or _starts(part) for part in others)


def _starts(pre_tokenizer: Json) -> bool:
    if pre_tokenizer["type"] != "Split":
        return pre_tokenizer["type"] in PRE_TOKENIZERS
    is_whole = pre_tokenizer["behavior"] == "Removed" and pre_tokenizer["invert"]
    return is_whole and pre_tokenizer["pattern"].get("Regex") in WORDS


def _state(part: Any) -> Json | None:
    """A part of the tokenizer as tokenizer.json has it; the whole file need not be read again for that."""
    state: Json | None = None if part is None else json.loads(part.__getstate__())
    return state


def _parts(state: Json | None, name: str) -> list[Json]:
    if state is None:
        return []
    if state["type"] != "Sequence":
        return [state]
    return [part for inner in state[name] for part in _parts(inner, name)]
