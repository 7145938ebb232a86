from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
import pytest
import torch
from onnx import ModelProto

from limbeck.export.transformer_graph import transformer_graph

Feed = dict[str, npt.NDArray[Any]]
Logits = npt.NDArray[np.float32]
MakeEncoder = Callable[..., Any]

ROWS, POSITIONS, WORDS = 12, 48, 130
FAMILIES = (
    *("bert", "distilbert", "roberta", "xlm-roberta"),
    *("electra", "electra-projected", "mpnet", "mpnet-own-vocabulary"),
    *("albert", "albert-of-two-groups", "deberta-v2", "deberta-v2-without-buckets"),
)
# DeBERTa's own module compiles a function in a way that torch is about to give up.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
every_family = pytest.mark.parametrize("family", FAMILIES)


def batch(*, types: bool = False, width: int = POSITIONS) -> Feed:
    """Rows of 1 token to `width`, with anything after them; ids 0 to 4, one of which is padding, do not appear."""
    dice = np.random.default_rng(0)
    lengths = dice.integers(2, width, ROWS, dtype=np.int32)
    lengths[:2] = 1, width
    feed: Feed = {"input_ids": dice.integers(5, WORDS, (ROWS, width)), "lengths": lengths}
    return {**feed, "type_ids": dice.integers(0, 2, (ROWS, width))} if types else feed


def inside(feed: Feed) -> npt.NDArray[np.bool_]:
    within: npt.NDArray[np.bool_] = np.arange(feed["input_ids"].shape[1]) < feed["lengths"][:, None]
    return within


def torch_logits(network: Any, feed: Feed) -> Logits:
    padded = np.where(inside(feed), feed["input_ids"], network.config.pad_token_id)
    tensors = {"input_ids": torch.from_numpy(padded), "attention_mask": torch.from_numpy(inside(feed).astype(np.int64))}
    if "type_ids" in feed:
        tensors["token_type_ids"] = torch.from_numpy(feed["type_ids"] * inside(feed))
    with torch.inference_mode():
        logits: Logits = network(**tensors).logits.numpy()
    return logits


def asked(graph: ModelProto) -> Callable[[Feed], Logits]:
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    return lambda feed: session.run(["logits"], feed)[0]


def onnx_logits(graph: ModelProto, feed: Feed) -> Logits:
    return asked(graph)(feed)


@every_family
def test_the_graph_has_the_logits_of_the_network(make_encoder: MakeEncoder, family: str) -> None:
    """On one row of a single token, and on one that fills all positions."""
    network, feed = make_encoder(family), batch()

    logits = onnx_logits(transformer_graph(network), feed)

    assert logits.dtype == np.float32
    assert np.ptp(logits, axis=0).min() > 0.1  # rows differ
    np.testing.assert_allclose(logits, torch_logits(network, feed), atol=1e-4)


@every_family
def test_a_row_has_the_same_logits_alone_and_in_a_batch(make_encoder: MakeEncoder, family: str) -> None:
    say, feed = asked(transformer_graph(make_encoder(family))), batch()
    together = say(feed)

    for row in range(ROWS):
        alone = {name: array[row : row + 1] for name, array in feed.items()}
        alone["input_ids"] = alone["input_ids"][:, : feed["lengths"][row]]

        np.testing.assert_allclose(say(alone)[0], together[row], atol=1e-5)


@every_family
def test_ids_after_a_rows_length_are_never_used(make_encoder: MakeEncoder, family: str) -> None:
    """Not even those that no vocabulary has."""
    graph, feed = transformer_graph(make_encoder(family)), batch()

    logits = onnx_logits(graph, {**feed, "input_ids": np.where(inside(feed), feed["input_ids"], 10**9)})

    np.testing.assert_array_equal(logits, onnx_logits(graph, feed))


@pytest.mark.parametrize("family", ["bert", "electra", "electra-projected"])
def test_pairs_are_distinguished_by_their_token_types(make_encoder: MakeEncoder, family: str) -> None:
    network, feed = make_encoder(family), batch(types=True)

    graph = transformer_graph(network, pair=True)

    logits = onnx_logits(graph, feed)
    np.testing.assert_allclose(logits, torch_logits(network, feed), atol=1e-4)
    strange = {**feed, "type_ids": np.where(inside(feed), feed["type_ids"], 99)}
    np.testing.assert_array_equal(onnx_logits(graph, strange), logits)
    other = onnx_logits(graph, {**feed, "type_ids": 1 - feed["type_ids"]})
    assert np.abs(other - logits).max() > 0.1


@pytest.mark.parametrize("family", ["distilbert", "roberta", "mpnet"])
def test_a_network_without_types_is_not_asked_for_them(make_encoder: MakeEncoder, family: str) -> None:
    network, feed = make_encoder(family), batch()

    graph = transformer_graph(network, pair=True)

    assert [value.name for value in graph.graph.input] == ["input_ids", "lengths"]
    np.testing.assert_allclose(onnx_logits(graph, feed), torch_logits(network, feed), atol=1e-4)


def test_a_length_of_zero_is_read_as_one(make_encoder: MakeEncoder) -> None:
    graph, feed = transformer_graph(make_encoder("bert")), batch()

    logits = onnx_logits(graph, {**feed, "lengths": np.where(feed["lengths"] == 1, 0, feed["lengths"])})

    np.testing.assert_array_equal(logits, onnx_logits(graph, feed))


def test_mpnet_leaves_out_the_id_it_takes_for_padding_when_it_counts_positions(make_encoder: MakeEncoder) -> None:
    """In transformers that is 1, which in the student's own vocabulary means unknown words."""
    network, feed = make_encoder("mpnet-own-vocabulary"), batch()
    feed["input_ids"][:, 1::3] = 1

    logits = onnx_logits(transformer_graph(network), feed)

    np.testing.assert_allclose(logits, torch_logits(network, feed), atol=1e-4)


def test_mpnet_uses_distances_between_tokens_also_large_ones(make_encoder: MakeEncoder) -> None:
    """Beyond 128 tokens all distances are one to it."""
    network, feed = make_encoder("mpnet", max_position_embeddings=302), batch(width=300)

    logits = onnx_logits(transformer_graph(network), feed)

    np.testing.assert_allclose(logits, torch_logits(network, feed), atol=1e-4)


@pytest.mark.parametrize("layers", [1, 3])
def test_any_number_of_layers_will_do(make_encoder: MakeEncoder, layers: int) -> None:
    network, feed = make_encoder("bert", num_hidden_layers=layers), batch()

    logits = onnx_logits(transformer_graph(network), feed)

    np.testing.assert_allclose(logits, torch_logits(network, feed), atol=1e-4)


@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "relu"])
def test_activations_are_those_of_the_config(make_encoder: MakeEncoder, activation: str) -> None:
    network, feed = make_encoder("bert", hidden_act=activation), batch()

    logits = onnx_logits(transformer_graph(network), feed)

    np.testing.assert_allclose(logits, torch_logits(network, feed), atol=1e-5, rtol=1e-5)


def test_an_activation_without_an_operator_is_refused(make_encoder: MakeEncoder) -> None:
    with pytest.raises(ValueError, match="there is no graph for the activation 'mish'"):
        transformer_graph(make_encoder("bert", hidden_act="mish"))


def test_a_network_of_an_unknown_family_is_refused() -> None:
    with pytest.raises(TypeError, match="there is no graph for models of the class Linear"):
        transformer_graph(torch.nn.Linear(2, 2))


def test_only_the_first_token_is_asked_for_in_the_last_layer(make_encoder: MakeEncoder) -> None:
    """Of the last layer's tokens the head reads no other, so nothing else is computed of them but keys and values."""
    graph = transformer_graph(make_encoder("bert"))

    session = onnxruntime.InferenceSession(_with_outputs(graph, "layers.0.states", "layers.1.states"))
    earlier, last = session.run(None, batch())[1:]

    assert (earlier.shape, last.shape) == ((ROWS * POSITIONS, 32), (ROWS, 32))


def test_the_operators_are_onnxs_own(make_encoder: MakeEncoder) -> None:
    graph = transformer_graph(make_encoder("mpnet"))

    assert {node.domain for node in graph.graph.node} == {""}
    assert [opset.domain for opset in graph.opset_import] == [""]


def _with_outputs(graph: ModelProto, *names: str) -> bytes:
    copy = ModelProto.FromString(graph.SerializeToString())
    for name in names:
        copy.graph.output.add().name = name
    serialised: bytes = copy.SerializeToString()
    return serialised
