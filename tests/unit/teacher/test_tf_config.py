"""A bert_config.json is read with all its problems reported, and becomes a config of the same network."""

import json
from pathlib import Path
from typing import Any

import pytest

from limbeck.teacher.tf_config import BertConfigInvalid, TensorFlowBertConfig, read_bert_config, transformers_config

GOOD: dict[str, Any] = {
    "vocab_size": 14,
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 20,
    "max_position_embeddings": 16,
    "type_vocab_size": 2,
    "directionality": "bidi",
}


def written(folder: Path, text: str) -> Path:
    (folder / "bert_config.json").write_text(text, encoding="utf-8")
    return folder / "bert_model.ckpt"


def test_keys_that_do_not_change_what_is_computed_are_not_looked_at(tmp_path: Path) -> None:
    config = read_bert_config(written(tmp_path, json.dumps(GOOD)))

    assert (config.hidden_size, config.embedding_width, config.hidden_act) == (12, 12, "gelu")


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("{", ["it is not JSON: "]),
        ("[]", ["it is not a JSON object"]),
        (
            json.dumps({**GOOD, "hidden_size": "wide", "num_attention_heads": 0, "hidden_act": "swish"}),
            ["hidden_size: should be", "num_attention_heads: should be", "hidden_act: should be"],
        ),
        (json.dumps({key: GOOD[key] for key in GOOD if key != "vocab_size"}), ["vocab_size: missing"]),
        (json.dumps({**GOOD, "num_attention_heads": 5}), ["hidden_size = 12 cannot be divided among"]),
    ],
)
def test_every_problem_is_reported_with_the_file(tmp_path: Path, text: str, problems: list[str]) -> None:
    with pytest.raises(BertConfigInvalid, match=r"bert_config\.json") as caught:
        read_bert_config(written(tmp_path, text))

    starts = [found[: len(problem)] for found, problem in zip(caught.value.problems, problems, strict=True)]
    assert starts == problems


@pytest.mark.parametrize(
    ("said", "meant"), [("gelu", "gelu"), ("gelu_erf", "gelu"), ("gelu_tanh", "gelu_new"), ("relu", "relu")]
)
@pytest.mark.parametrize("factorised", [True, False])
def test_the_activation_is_the_one_that_the_config_says(said: str, meant: str, factorised: bool) -> None:
    config = TensorFlowBertConfig.model_validate({**GOOD, "hidden_act": said})

    assert transformers_config(config, factorised=factorised, padding=0, labels=None).hidden_act == meant


def test_no_layers_of_a_factorised_bert_share_weights() -> None:
    config = TensorFlowBertConfig.model_validate({**GOOD, "embedding_size": 8, "hidden_dropout_prob": 0.2})

    albert = transformers_config(config, factorised=True, padding=3, labels=["a", "b"])

    assert albert.model_type == "albert"
    assert (albert.embedding_size, albert.num_hidden_groups, albert.inner_group_num) == (8, 2, 1)
    assert (albert.classifier_dropout_prob, albert.pad_token_id, albert.label2id) == (0.2, 3, {"a": 0, "b": 1})
