"""Every variable of a TensorFlow BERT has its place; what is missing, misshapen or unknown is reported at once."""

from pathlib import Path
from typing import Any

import pytest

from limbeck.teacher.tf_config import TensorFlowBertConfig
from limbeck.teacher.tf_weights import CheckpointUnfit, TensorFlowCheckpoint, TfNetwork, network_of

CONFIG = {
    "vocab_size": 14,
    "hidden_size": 12,
    "num_hidden_layers": 1,
    "num_attention_heads": 3,
    "intermediate_size": 20,
    "max_position_embeddings": 16,
    "type_vocab_size": 2,
}
LAYER = "bert/encoder/layer_0"
SHAPES: dict[str, tuple[int, ...]] = {
    "bert/embeddings/word_embeddings": (14, 12),
    "bert/embeddings/position_embeddings": (16, 12),
    "bert/embeddings/token_type_embeddings": (2, 12),
    "bert/embeddings/LayerNorm/gamma": (12,),
    "bert/embeddings/LayerNorm/beta": (12,),
    f"{LAYER}/attention/self/query/kernel": (12, 12),
    f"{LAYER}/attention/self/query/bias": (12,),
    f"{LAYER}/attention/self/key/kernel": (12, 12),
    f"{LAYER}/attention/self/key/bias": (12,),
    f"{LAYER}/attention/self/value/kernel": (12, 12),
    f"{LAYER}/attention/self/value/bias": (12,),
    f"{LAYER}/attention/output/dense/kernel": (12, 12),
    f"{LAYER}/attention/output/dense/bias": (12,),
    f"{LAYER}/attention/output/LayerNorm/gamma": (12,),
    f"{LAYER}/attention/output/LayerNorm/beta": (12,),
    f"{LAYER}/intermediate/dense/kernel": (12, 20),
    f"{LAYER}/intermediate/dense/bias": (20,),
    f"{LAYER}/output/dense/kernel": (20, 12),
    f"{LAYER}/output/dense/bias": (12,),
    f"{LAYER}/output/LayerNorm/gamma": (12,),
    f"{LAYER}/output/LayerNorm/beta": (12,),
    "bert/pooler/dense/kernel": (12, 12),
    "bert/pooler/dense/bias": (12,),
}
CLASSIFIER: dict[str, tuple[int, ...]] = {"output_weights": (3, 12), "output_bias": (3,)}


def laid_out(shapes: dict[str, tuple[int, ...]], **changes: Any) -> TfNetwork:
    checkpoint = TensorFlowCheckpoint(prefix=Path("bert_model.ckpt"), shapes=shapes, reader=None)
    return network_of(checkpoint, TensorFlowBertConfig.model_validate({**CONFIG, **changes}))


def test_a_plain_bert_is_taken_variable_by_variable() -> None:
    network = laid_out(SHAPES)

    assert {weight.variable for weight in network.weights} == set(SHAPES)
    assert (network.factorised, network.pooled, network.class_count, network.predicts_masked) == (
        False,
        True,
        None,
        False,
    )


def test_a_classifier_is_counted_by_the_rows_of_its_weights() -> None:
    network = laid_out({**SHAPES, **CLASSIFIER})

    assert network.class_count == 3
    assert {weight.variable for weight in network.weights} == {*SHAPES, *CLASSIFIER}


def test_what_only_training_needs_is_no_part_of_the_network() -> None:
    slots = {f"{LAYER}/output/dense/kernel/{slot}": (20, 12) for slot in ("adam_m", "adam_v", "Adam", "Adam_1")}
    heads = {"cls/predictions/output_bias": (14,), "cls/seq_relationship/output_weights": (2, 12)}

    network = laid_out({**SHAPES, **slots, **heads, "global_step": (), "beta1_power": ()})

    assert {weight.variable for weight in network.weights} == set(SHAPES)
    assert network.dropped == tuple(heads)


HEAD: dict[str, tuple[int, ...]] = {
    "cls/predictions/output_bias": (14,),
    "cls/predictions/transform/LayerNorm/beta": (12,),
    "cls/predictions/transform/LayerNorm/gamma": (12,),
    "cls/predictions/transform/dense/bias": (12,),
    "cls/predictions/transform/dense/kernel": (12, 12),
}
NEXT_SENTENCE: dict[str, tuple[int, ...]] = {
    "cls/seq_relationship/output_bias": (2,),
    "cls/seq_relationship/output_weights": (2, 12),
}


def test_the_head_for_masked_words_stays_with_a_raw_checkpoint() -> None:
    network = laid_out({**SHAPES, **HEAD, **NEXT_SENTENCE})

    assert {weight.variable for weight in network.weights} == {*SHAPES, *HEAD}
    assert (network.predicts_masked, network.dropped) == (True, tuple(NEXT_SENTENCE))


def test_beside_a_classifier_it_is_left_out() -> None:
    network = laid_out({**SHAPES, **CLASSIFIER, **HEAD})

    assert (network.predicts_masked, network.class_count, network.dropped) == (False, 3, tuple(HEAD))


def test_a_head_of_another_width_is_refused() -> None:
    with pytest.raises(CheckpointUnfit) as caught:
        laid_out({**SHAPES, **HEAD, "cls/predictions/transform/dense/bias": (9,)})

    assert caught.value.misshapen == ("cls/predictions/transform/dense/bias is 9, not 12 (embedding_size)",)


def test_all_that_does_not_fit_is_reported_at_once() -> None:
    shapes = {**SHAPES, f"{LAYER}/adapter/kernel": (2, 2), "crf_loss/transitions": (2, 2)}
    shapes[f"{LAYER}/intermediate/dense/bias"] = (24,)
    del shapes[f"{LAYER}/attention/self/key/bias"]

    with pytest.raises(CheckpointUnfit) as caught:
        laid_out(shapes)

    assert caught.value.missing == (f"{LAYER}/attention/self/key/bias",)
    assert caught.value.misshapen == (f"{LAYER}/intermediate/dense/bias is 24, not 20 (intermediate_size)",)
    assert caught.value.unknown == (f"{LAYER}/adapter/kernel", "crf_loss/transitions")
    for facts in (caught.value.missing, caught.value.misshapen, caught.value.unknown):
        assert ", ".join(facts) in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_size": 24}, "bert/pooler/dense/kernel is 12 × 12, not 24 × 24 (hidden_size × hidden_size)"),
        ({"vocab_size": 99}, "bert/embeddings/word_embeddings is 14 × 12, not 99 × 12 (vocab_size × embedding_size)"),
        ({"num_hidden_layers": 2}, "16 missing variables: bert/encoder/layer_1/attention/self/query/kernel"),
        ({"embedding_size": 6}, "2 missing variables: bert/encoder/embedding_hidden_mapping_in/kernel"),
    ],
)
def test_a_config_of_another_network_is_refused(changes: dict[str, int], message: str) -> None:
    with pytest.raises(CheckpointUnfit) as caught:
        laid_out(SHAPES, **changes)

    assert message in "\n".join([str(caught.value), *caught.value.misshapen])


@pytest.mark.parametrize("gone", [["bert/pooler/dense/kernel", "bert/pooler/dense/bias"], ["output_weights"]])
def test_a_classifier_needs_all_that_it_is_computed_with(gone: list[str]) -> None:
    shapes = {name: shape for name, shape in {**SHAPES, **CLASSIFIER}.items() if name not in gone}

    with pytest.raises(CheckpointUnfit) as caught:
        laid_out(shapes)

    assert caught.value.missing == tuple(gone)
