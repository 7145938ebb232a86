from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
import pytest
import torch
from onnx import ModelProto, TensorProto, helper, numpy_helper

from limbeck.export.encoder_parts import Linear
from limbeck.export.int8 import WEIGHT_LIMIT
from limbeck.export.transformer_graph import IR_VERSION, OPSET, GraphBuilder, transformer_graph
from limbeck.export.transformer_int8 import transformer_int8

Feed = dict[str, npt.NDArray[Any]]
Logits = npt.NDArray[np.float32]
MakeEncoder = Callable[..., Any]

ROWS, TOKENS, WORDS = 20, 20, 130
# DeBERTa's own module compiles a function in a way that torch is about to give up.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
every_family = pytest.mark.parametrize(
    "family",
    ["bert", "distilbert", "roberta", "electra-projected", "mpnet", "mpnet-own-vocabulary", "albert", "deberta-v2"],
)


def batch() -> Feed:
    dice = np.random.default_rng(0)
    lengths = dice.integers(2, TOKENS + 1, ROWS, dtype=np.int32)
    return {"input_ids": dice.integers(5, WORDS, (ROWS, TOKENS)), "lengths": lengths}


def asked(model: ModelProto) -> Callable[[Feed], Logits]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return lambda feed: session.run(None, feed)[0]


def logits_of(model: ModelProto, feed: Feed) -> Logits:
    return asked(model)(feed)


def arrays_of(model: ModelProto) -> dict[str, npt.NDArray[Any]]:
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


@every_family
def test_the_int8_graph_has_nearly_the_logits_of_the_fp32_graph(make_encoder: MakeEncoder, family: str) -> None:
    graph = transformer_graph(make_encoder(family))
    whole = logits_of(graph, batch())

    rounded = logits_of(transformer_int8(graph), batch())

    # Networks as narrow as these have few values to average rounding over; a trained one of width 384 came to 0.02.
    assert 0 < np.abs(rounded - whole).mean() < 0.12 * whole.std(axis=0).mean()


@every_family
def test_a_row_has_the_same_logits_in_any_batch(make_encoder: MakeEncoder, family: str) -> None:
    """One scale for the batch would depend on its largest value, and change every row."""
    say, feed = asked(transformer_int8(transformer_graph(make_encoder(family)))), batch()
    together = say(feed)

    for row in range(ROWS):
        alone = {name: array[row : row + 1] for name, array in feed.items()}
        alone["input_ids"] = alone["input_ids"][:, : feed["lengths"][row]]

        np.testing.assert_allclose(say(alone)[0], together[row], atol=0.01)
    garbage = np.where(np.arange(TOKENS) < feed["lengths"][:, None], feed["input_ids"], 10**9)
    np.testing.assert_array_equal(say({**feed, "input_ids": garbage}), together)


def test_every_token_is_rounded_on_a_scale_of_its_own() -> None:
    """As they are in trained networks, some are many times larger than others."""
    dice = np.random.default_rng(0)
    weight, bias = (dice.normal(size=size).astype(np.float32) for size in ((64, 8), 8))
    states = dice.normal(size=(5, 64)).astype(np.float32) * np.array([[1e-6], [0.01], [1], [100], [1e6]], np.float32)
    draft = GraphBuilder()
    draft.linear("states", Linear(weight, bias), "product")
    inputs, outputs = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["tokens", width])]
        for name, width in (("states", 64), ("product", 8))
    )
    constants = [numpy_helper.from_array(array, name) for name, array in draft.arrays.items()]
    graph = helper.make_graph(draft.nodes, "one product", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)

    product = logits_of(transformer_int8(model), {"states": states}) - bias

    error = np.abs(product - states @ weight).mean(axis=1) / np.abs(states @ weight).mean(axis=1)
    assert np.all(error[1:] < 0.03)
    np.testing.assert_allclose(product[0], 0.0, atol=1e-4)  # a millionth next to a bias of about one


def test_states_that_are_all_zero_stay_zero(make_encoder: MakeEncoder) -> None:
    """Behind a ReLU that is never on, the largest value is 0, by which nothing can be divided."""
    network = make_encoder("bert", hidden_act="relu")
    with torch.no_grad():
        network.bert.encoder.layer[0].intermediate.dense.bias.fill_(-1000.0)
    graph = transformer_graph(network)

    rounded = logits_of(transformer_int8(graph), batch())

    np.testing.assert_allclose(rounded, logits_of(graph, batch()), atol=0.2)


def test_weights_keep_to_seven_bits_so_that_no_processor_overflows(make_encoder: MakeEncoder) -> None:
    graph = transformer_int8(transformer_graph(make_encoder("electra-projected")))

    arrays, products = arrays_of(graph), [node for node in graph.graph.node if node.op_type == "MatMulIntegerToFloat"]

    assert len(products) == 1 + 4 + 5  # projection; a layer; the last one, which asks for its query by itself
    for product in products:
        assert arrays[product.input[1]].dtype == np.int8
        assert np.abs(arrays[product.input[1]]).max() == WEIGHT_LIMIT == 63


def test_the_head_stays_as_it_is(make_encoder: MakeEncoder) -> None:
    graph = transformer_graph(make_encoder("bert"))

    before, after = arrays_of(graph), arrays_of(transformer_int8(graph))

    for name in ("dense.weight", "logits.weight", "logits.bias", "positions", "layers.0.middle.scale"):
        np.testing.assert_array_equal(after[name], before[name])


def test_word_vectors_and_weights_take_a_byte_a_number(make_encoder: MakeEncoder) -> None:
    small, large = (
        transformer_int8(transformer_graph(make_encoder("bert", **config))).ByteSize()
        for config in ({}, {"vocab_size": WORDS + 1000, "intermediate_size": 48 + 1000})
    )

    vectors, weights = 1000 * (32 + 4), 2 * 1000 * (2 * 32 + 4 + 4)  # with scales, and of the weights the biases
    assert large - small == pytest.approx(vectors + weights, rel=0.01)
