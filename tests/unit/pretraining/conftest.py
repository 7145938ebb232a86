"""Encoders of many families that can guess masked words, or have only a body."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LAYERS = {"num_hidden_layers": 2, "hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 24}
RELATIVE = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_biased_input": False}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("BertConfig", LAYERS),
    "roberta": ("RobertaConfig", {**LAYERS, "type_vocab_size": 1, "pad_token_id": 0}),
    "albert": ("AlbertConfig", {**LAYERS, "embedding_size": 8}),
    "electra": ("ElectraConfig", {**LAYERS, "embedding_size": 8}),
    "distilbert": ("DistilBertConfig", {"dim": 16, "hidden_dim": 24, "n_layers": 2, "n_heads": 2}),
    "mpnet": ("MPNetConfig", {**LAYERS, "pad_token_id": 0}),
    "deberta": ("DebertaConfig", {**LAYERS, **RELATIVE}),
    "deberta-v2": ("DebertaV2Config", {**LAYERS, **RELATIVE, "position_buckets": 8}),
}
ORIGINS = {"head": "AutoModelForMaskedLM", "body": "AutoModel", "classifier": "AutoModelForSequenceClassification"}


@pytest.fixture
def save_encoder(tiny_teacher_folder: Path, tmp_path: Path) -> Callable[..., Path]:
    """save_encoder(family, origin="body", **config): a random checkpoint that knows the toy words.

    The origin is what it was saved as: a "body" alone, a "classifier", or with a "head" for masked words.
    """

    def save(family: str, *, origin: str = "body", **changes: Any) -> Path:
        import torch
        import transformers

        tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_teacher_folder)
        name, sizes = FAMILIES[family]
        config = getattr(transformers, name)(
            vocab_size=len(tokenizer), **{**sizes, "max_position_embeddings": 64, **changes}
        )
        torch.manual_seed(0)
        folder = tmp_path / f"{family}-{origin}"
        getattr(transformers, ORIGINS[origin]).from_config(config).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder

    return save
