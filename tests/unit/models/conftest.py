"""Tiny transformers of every family, with random weights."""

from collections.abc import Callable
from typing import Any

import pytest

SIZES = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 24, "max_position_embeddings": 40}
FROM_PADDING = {"pad_token_id": 1, "max_position_embeddings": 42}  # two of them before that of the first token
RELATIVE = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_biased_input": False}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("BertConfig", SIZES),
    "roberta": ("RobertaConfig", {**SIZES, **FROM_PADDING, "type_vocab_size": 1}),
    "xlm-roberta": ("XLMRobertaConfig", {**SIZES, **FROM_PADDING, "type_vocab_size": 1}),
    "electra": ("ElectraConfig", {**SIZES, "embedding_size": 16}),
    "electra-projected": ("ElectraConfig", {**SIZES, "embedding_size": 8}),
    "distilbert": (
        "DistilBertConfig",
        {"dim": 16, "n_heads": 2, "hidden_dim": 24, "max_position_embeddings": 40},
    ),
    "mpnet": ("MPNetConfig", {**SIZES, **FROM_PADDING}),
    "deberta-v2": (
        "DebertaV2Config",
        {**SIZES, **RELATIVE, "position_buckets": 8, "share_att_key": True, "norm_rel_ebd": "layer_norm"},
    ),
    "albert": ("AlbertConfig", {**SIZES, "embedding_size": 8}),
    "xlnet": ("XLNetConfig", {"d_model": 16, "d_inner": 24, "n_head": 2, "pad_token_id": 5}),
}


@pytest.fixture(scope="session")
def make_transformer() -> Callable[..., Any]:
    """make_transformer(family, layers=2, eager=False, **config): a classifier of 60 tokens in eval mode.

    Its weights are larger than random ones start, so that whatever differs is seen to differ.
    """

    def make(family: str, *, layers: int = 2, eager: bool = False, **config: Any) -> Any:
        import torch
        import transformers

        name, sizes = FAMILIES[family]
        labels = {0: "negative", 1: "positive"}
        settings = {**sizes, "num_hidden_layers": layers, "vocab_size": 60, "id2label": labels, **config}
        torch.manual_seed(len(family))
        model = transformers.AutoModelForSequenceClassification.from_config(
            getattr(transformers, name)(**settings), **({"attn_implementation": "eager"} if eager else {})
        )
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.normal_(mean=0.0 if parameter.dim() > 1 else 0.5, std=0.4)
        return model.eval()

    return make
