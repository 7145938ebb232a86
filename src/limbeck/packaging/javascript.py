"""Which models the JavaScript reader can read, so that others are refused before anything is written."""

import json
from collections.abc import Iterator
from typing import Any

from limbeck.artifacts.model_folder import ModelFacts, ModelFolder
from limbeck.errors import LimbeckError
from limbeck.text.spacing import PLACE
from limbeck.text.word_patterns import DOUBLE_QUOTE, SIGNS, SINGLE_QUOTE, WORD_EXPRESSIONS

Json = dict[str, Any]

# As in web/limbeck: normalizers.js, pre-tokenizers.js, vocabularies.js, expressions.js.
NORMALIZERS = {
    "BertNormalizer",
    "Lowercase",
    "NFC",
    "NFD",
    "NFKC",
    "NFKD",
    "Precompiled",
    "Prepend",
    "Replace",
    "StripAccents",
    "Strip",
}
PRE_TOKENIZERS = {
    *("BertPreTokenizer", "ByteLevel", "Digits", "Metaspace", "Punctuation", "Split", "Whitespace", "WhitespaceSplit"),
}
VOCABULARIES = {"BPE", "Unigram", "WordLevel", "WordPiece"}
EXPRESSIONS = {*WORD_EXPRESSIONS, *SIGNS, SINGLE_QUOTE, DOUBLE_QUOTE, PLACE, " {2,}"}


class NotForBrowsers(LimbeckError):
    """The model's tokenizer has a part that the JavaScript reader does not have."""

    def __init__(self, *, model: str, reason: str, advice: str) -> None:
        super().__init__(f"the model '{model}' cannot be packaged for JavaScript", found=reason, advice=advice)


def refuse_unreadable(model: ModelFolder, facts: ModelFacts) -> None:
    """Raise NotForBrowsers for a model, or a member of a blend, that JavaScript cannot read as Python does."""
    for member in facts.members:
        inside = model.member(member)
        refuse_unreadable(inside, inside.facts())
    if facts.members:
        return
    state: Json = json.loads(model.tokenizer.read_text(encoding="utf-8"))
    if state.get("segmenter") is not None:
        advice = 'Train it with student.vocabulary.segmenter = "longest_match", which needs no dictionary.'
        raise NotForBrowsers(model=facts.name, reason="its texts are cut by jieba", advice=advice)
    if reason := next(_unknown_parts(state), None):
        advice = 'Train a student of words or n-grams, e.g. student.kind = "bilstm", or answer with `limbeck serve`.'
        raise NotForBrowsers(model=facts.name, reason=reason, advice=advice)


def _unknown_parts(state: Json) -> Iterator[str]:
    if "ngrams" in state:
        return
    steps = [*_parts(state.get("normalizer"), "normalizers"), *_parts(state.get("pre_tokenizer"), "pretokenizers")]
    for step in steps:
        if step["type"] not in NORMALIZERS | PRE_TOKENIZERS:
            yield f"its tokenizer has a part that is not known there: {step['type']}"
        expression = step.get("pattern", {}).get("Regex") if isinstance(step.get("pattern"), dict) else None
        if expression is not None and expression not in EXPRESSIONS:
            yield f"its tokenizer has an expression that is not known there: {expression[:80]}"
    if state["model"]["type"] not in VOCABULARIES:
        yield f"its tokenizer has a vocabulary that is not known there: {state['model']['type']}"


def _parts(state: Json | None, name: str) -> list[Json]:
    if state is None:
        return []
    if state["type"] != "Sequence":
        return [state]
    return [part for inner in state[name] for part in _parts(inner, name)]
