"""Reads bert_config.json and vocab.txt of a TensorFlow BERT, and builds the transformers config and tokenizer."""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from transformers import AlbertConfig, BertConfig, BertTokenizer

from limbeck.errors import TeacherError, some
from limbeck.recipe.problems import problems_of

# "gelu" is ambiguous: transformers and bert4keras compute it with erf, Google's modeling.py with tanh.
ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_erf": "gelu",
    "gelu_new": "gelu_new",
    "gelu_tanh": "gelu_new",
    "relu": "relu",
    "tanh": "tanh",
    "linear": "linear",
}


class CheckpointIncomplete(TeacherError):
    """A file that belongs to a TensorFlow checkpoint is not next to it."""

    def __init__(self, *, path: Path, missing: str, neighbours: Sequence[str]) -> None:
        self.missing = missing
        super().__init__(
            f"no '{missing}' next to the TensorFlow checkpoint '{path}'",
            found=f"found there: {some(neighbours, most=5) or 'no .json or .txt file'}",
            advice="Put it there with this name; for a fine-tuned checkpoint, use that of the model it was fine-tuned "
            "from.",
        )


class BertConfigInvalid(TeacherError):
    """A bert_config.json that does not describe a network."""

    def __init__(self, *, path: Path, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(
            f"'{path}' does not describe a BERT",
            found="\n".join(problems),
            advice="Correct it, or use the one that came with the model.",
        )


class VocabularyUnfit(TeacherError):
    """A vocab.txt that is not the vocabulary of its checkpoint."""

    def __init__(self, *, path: Path, reason: str) -> None:
        super().__init__(
            f"'{path}' is not the checkpoint's vocabulary", found=reason, advice="Use the one that came with it."
        )


class TensorFlowBertConfig(BaseModel):
    """The keys that define the network; others are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    vocab_size: int = Field(ge=1)
    hidden_size: int = Field(ge=1)
    num_hidden_layers: int = Field(ge=1)
    num_attention_heads: int = Field(ge=1)
    intermediate_size: int = Field(ge=1)
    max_position_embeddings: int = Field(ge=1)
    type_vocab_size: int = Field(ge=1)
    embedding_size: int = Field(default=0, ge=0)  # 0: as wide as the hidden states
    hidden_act: Literal["gelu", "gelu_erf", "gelu_new", "gelu_tanh", "relu", "tanh", "linear"] = "gelu"
    hidden_dropout_prob: float = Field(default=0.1, ge=0, lt=1)
    attention_probs_dropout_prob: float = Field(default=0.1, ge=0, lt=1)
    initializer_range: float = Field(default=0.02, gt=0)
    layer_norm_eps: float = Field(default=1e-12, gt=0)
    do_lower_case: bool | None = None

    @model_validator(mode="after")
    def _heads_share_the_width(self) -> Self:
        if self.hidden_size % self.num_attention_heads:
            heads = f"num_attention_heads = {self.num_attention_heads}"
            raise ValueError(f"hidden_size = {self.hidden_size} cannot be divided among {heads}")
        return self

    @property
    def embedding_width(self) -> int:
        """Columns of the embedding tables."""
        return self.embedding_size or self.hidden_size


def read_bert_config(prefix: Path) -> TensorFlowBertConfig:
    """From the bert_config.json next to the checkpoint."""
    path = companion(prefix, "bert_config.json")
    try:
        raw = json.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise BertConfigInvalid(path=path, problems=[f"it is not JSON: {error}"]) from error
    if not isinstance(raw, dict):
        raise BertConfigInvalid(path=path, problems=["it is not a JSON object"])
    try:
        return TensorFlowBertConfig.model_validate(raw)
    except ValidationError as error:
        problems = problems_of(error, raw=raw, root=TensorFlowBertConfig)
        problems = [problem.removeprefix("recipe: ") for problem in problems]
        raise BertConfigInvalid(path=path, problems=problems) from error


def companion(prefix: Path, name: str) -> Path:
    """A file that belongs to the checkpoint, next to it."""
    path = prefix.parent / name
    if not path.is_file():
        neighbours = sorted(other.name for other in prefix.parent.iterdir() if other.suffix in {".json", ".txt"})
        raise CheckpointIncomplete(path=prefix, missing=name, neighbours=neighbours)
    return path


def transformers_config(
    config: TensorFlowBertConfig, *, factorised: bool, padding: int, labels: list[str] | None
) -> BertConfig | AlbertConfig:
    """A BERT; or, if the embedding is narrower than the layers, an ALBERT whose layers do not share weights.

    That is the same network: sum of embeddings, norm, linear mapping without activation, then BERT's own layers.
    """
    settings: dict[str, Any] = {
        **config.model_dump(exclude={"embedding_size", "do_lower_case", "hidden_act"}),
        "hidden_act": ACTIVATIONS[config.hidden_act],
        "pad_token_id": padding,
    }
    if labels is not None:
        settings["id2label"] = dict(enumerate(labels))
        settings["label2id"] = {label: number for number, label in enumerate(labels)}
    if not factorised:
        return BertConfig(**settings)
    return AlbertConfig(
        **settings,
        embedding_size=config.embedding_width,
        num_hidden_groups=config.num_hidden_layers,
        inner_group_num=1,
        classifier_dropout_prob=config.hidden_dropout_prob,
        bos_token_id=None,
        eos_token_id=None,
    )


SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
BRACKETED = re.compile(r"\[.+\]|<.+>")  # [CLS], [unused1]; <S> and <T> in Chinese vocabularies
CAPITAL = re.compile(r"[A-Z]")


def read_vocabulary(prefix: Path, *, rows: int) -> list[str]:
    """The tokens of the vocab.txt next to the checkpoint, one for each row of the embedding."""
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
    """Whether texts are lowercased before they are tokenised, and how that is known."""
    if asked is not None:
        return asked, "as asked"
    if (found := _lowercase_in_tokenizer_config(prefix.parent / "tokenizer_config.json")) is not None:
        return found, "as tokenizer_config.json says"
    if config.do_lower_case is not None:
        return config.do_lower_case, "as bert_config.json says"
    capitals = [token for token in tokens if CAPITAL.search(token) and not BRACKETED.fullmatch(token)]
    if capitals:
        return False, f"guessed: vocab.txt has tokens with capitals ({some(capitals)})"
    return True, "guessed: vocab.txt has no token with capitals"


def _lowercase_in_tokenizer_config(path: Path) -> bool | None:
    with suppress(OSError, ValueError):
        raw = json.loads(path.read_text(encoding="utf-8-sig"))
        value = raw.get("do_lower_case") if isinstance(raw, dict) else None
        return value if isinstance(value, bool) else None
    return None


def bert_tokenizer(tokens: Sequence[str], *, lowercase: bool, max_length: int) -> Any:
    """BERT's own tokenizer: clean, split at Chinese characters and punctuation, then longest-match word pieces."""
    numbers = {token: number for number, token in enumerate(tokens)}  # if a token appears twice, the last one counts
    return BertTokenizer(vocab=numbers, do_lower_case=lowercase, model_max_length=max_length)
