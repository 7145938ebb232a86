"""The vocab.txt of a TensorFlow BERT as a fast tokenizer, and whether it lowers the case."""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from transformers import BertTokenizer

from limbeck.errors import VocabularyUnfit, some
from limbeck.teacher.tf_config import TensorFlowBertConfig, companion

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
BRACKETED = re.compile(r"\[.+\]|<.+>")  # [CLS], [unused1]; <S> and <T> in Chinese vocabularies
CAPITAL = re.compile(r"[A-Z]")


def read_vocabulary(prefix: Path, *, rows: int) -> list[str]:
    """The tokens of the vocab.txt beside the checkpoint, one for each of the rows of the embedding."""
    path = companion(prefix, "vocab.txt")
    try:
        tokens = path.read_text(encoding="utf-8-sig").split("\n")  # not splitlines: some tokens are line separators
    except UnicodeDecodeError as error:
        raise VocabularyUnfit(path=path, reason=f"it is not UTF-8: {error.reason} at byte {error.start:,}") from error
    tokens = tokens[:-1] if tokens[-1] == "" else tokens
    if len(tokens) != rows:
        reason = f"it has {len(tokens):,} tokens, and bert/embeddings/word_embeddings has {rows:,} rows"
        raise VocabularyUnfit(path=path, reason=reason)
    if missing := [token for token in SPECIAL if token not in tokens]:
        raise VocabularyUnfit(path=path, reason=f"it lacks the special tokens {some(missing, most=len(SPECIAL))}")
    return tokens


def lowers_case(
    prefix: Path, *, config: TensorFlowBertConfig, tokens: Sequence[str], asked: bool | None
) -> tuple[bool, str]:
    """Whether texts are lowered before they are cut into tokens, and where that is known from."""
    if asked is not None:
        return asked, "as asked"
    if (said := _said_by_tokenizer_config(prefix.parent / "tokenizer_config.json")) is not None:
        return said, "as tokenizer_config.json says"
    if config.do_lower_case is not None:
        return config.do_lower_case, "as bert_config.json says"
    capitals = [token for token in tokens if CAPITAL.search(token) and not BRACKETED.fullmatch(token)]
    if capitals:
        return False, f"guessed: vocab.txt has tokens with capitals ({some(capitals)})"
    return True, "guessed: vocab.txt has no token with capitals"


def _said_by_tokenizer_config(path: Path) -> bool | None:
    with suppress(OSError, ValueError):
        raw = json.loads(path.read_text(encoding="utf-8-sig"))
        said = raw.get("do_lower_case") if isinstance(raw, dict) else None
        return said if isinstance(said, bool) else None
    return None


def bert_tokenizer(tokens: Sequence[str], *, lowercase: bool, max_length: int) -> Any:
    """BERT's own way: clean, split at Chinese characters and punctuation, then the longest pieces that are known."""
    numbers = {token: number for number, token in enumerate(tokens)}  # of a token that stands twice, the last
    return BertTokenizer(vocab=numbers, do_lower_case=lowercase, model_max_length=max_length)
