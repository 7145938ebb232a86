from types import SimpleNamespace

from torch import nn
from transformers import BertConfig, BertModel, RobertaConfig, RobertaModel

from limbeck.models.size import position_count

SIZES = {"vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}


def test_a_model_reads_as_many_tokens_as_it_has_positions_for() -> None:
    assert position_count(BertModel(BertConfig(**SIZES, max_position_embeddings=40))) == 40


def test_positions_before_the_first_token_do_not_count() -> None:
    assert position_count(RobertaModel(RobertaConfig(**SIZES, max_position_embeddings=40, pad_token_id=1))) == 38


def test_a_model_without_such_a_limit_has_none() -> None:
    model = nn.Linear(1, 1)
    model.config = SimpleNamespace()  # type: ignore[assignment]

    assert position_count(model) is None
