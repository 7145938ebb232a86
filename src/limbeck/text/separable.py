"""Detects tokenizers that read the words between spaces independently of each other."""

import json
from typing import Any

from tokenizers import Tokenizer
from tokenizers.models import Model, Unigram, WordLevel, WordPiece
from tokenizers.pre_tokenizers import PreTokenizer, Sequence

from limbeck.text.spacing import PLACE
from limbeck.text.word_patterns import DOUBLE_QUOTE, SIGNS, SINGLE_QUOTE, WORD_EXPRESSIONS

Json = dict[str, Any]

# N("a b") is N("a") + " " + N("b") for each of these: they process single characters or, in Unicode's normal forms,
# letters with their combining marks, and no mark combines with a space. The library lowers letter by letter: a sigma
# is the same at the end of a word.
NORMALIZERS = {"BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "StripAccents"}
REPLACED = {SINGLE_QUOTE, DOUBLE_QUOTE, PLACE, *SIGNS}  # expressions that neither match a space nor look beyond one
# For these, white space ends a word and is not part of any. FOLLOWERS may come after them: they get single words.
PRE_TOKENIZERS = {"BertPreTokenizer", "Whitespace", "WhitespaceSplit"}
FOLLOWERS = {"Digits", "Punctuation", *PRE_TOKENIZERS}
WORDS = {*WORD_EXPRESSIONS}


def is_separable(tokenizer: Tokenizer) -> bool:
    """Whether the ids of a text are the concatenated ids of its parts between spaces (only U+0020).

    False if that is not certain: spaces that are part of tokens, unknown expressions, random segmentation. A text
    cannot be split at other white space: BERT, for one, joins words around a vertical tab or U+0085.
    """
    return (
        _is_deterministic(tokenizer.model)
        and all(map(_is_local, parts_of(state_of(tokenizer.normalizer), "normalizers")))
        and _parts_words(tokenizer.pre_tokenizer)
        and not any(
            # A token that is matched in the original text and has no space lies within one part.
            token.normalized or token.single_word or " " in token.content
            for token in tokenizer.get_added_tokens_decoder().values()
        )
    )


def _is_deterministic(model: Model) -> bool:
    """Whether the model gives a word the same ids every time: a unigram model can be set to sample."""
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
        first, *others = parts_of(state_of(pre_tokenizer), "pretokenizers")
    except ValueError:  # it has no pre-tokenizer
        return False
    except Exception:  # raised by the library for a part in Python: jieba's, which gets one unit at a time
        if not isinstance(pre_tokenizer, Sequence) or not hasattr(pre_tokenizer, "__getitem__"):
            return False  # not every version of the library gives access to the parts
        return _parts_words(pre_tokenizer[0])
    return _starts(first) and all(part["type"] in FOLLOWERS or _starts(part) for part in others)


def _starts(pre_tokenizer: Json) -> bool:
    if pre_tokenizer["type"] != "Split":
        return pre_tokenizer["type"] in PRE_TOKENIZERS
    keeps_matches = pre_tokenizer["behavior"] == "Removed" and pre_tokenizer["invert"]
    return keeps_matches and pre_tokenizer["pattern"].get("Regex") in WORDS


def state_of(part: Any) -> Json | None:
    """A part of the tokenizer as in tokenizer.json, without serialising the complete tokenizer."""
    state: Json | None = None if part is None else json.loads(part.__getstate__())
    return state


def parts_of(state: Json | None, name: str) -> list[Json]:
    """A part of the tokenizer, or the parts of a sequence, whose list has this name."""
    if state is None:
        return []
    if state["type"] != "Sequence":
        return [state]
    return [part for inner in state[name] for part in parts_of(inner, name)]
