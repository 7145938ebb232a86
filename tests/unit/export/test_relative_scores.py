"""DeBERTa and XLNet as graphs: distances in both directions, and XLNet's types and its last token."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
import pytest
import torch
from onnx import ModelProto

from limbeck.export.encoder_weights import encoder_weights
from limbeck.export.transformer_graph import transformer_graph
from limbeck.export.transformer_int8 import transformer_int8

Feed = dict[str, npt.NDArray[Any]]
MakeEncoder = Callable[..., Any]
ROWS, TOKENS, LAST_TYPE = 10, 30, 2

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")


def batch(*, pair: bool = False) -> Feed:
    """Rows of 1 token to 30; of pairs with the types that XLNet's tokenizer gives: 0, then 1, and 2 for the last."""
    dice = np.random.default_rng(0)
    lengths = dice.integers(2, TOKENS, ROWS, dtype=np.int32)
    lengths[:2] = 1, TOKENS
    feed: Feed = {"input_ids": dice.integers(6, 130, (ROWS, TOKENS)), "lengths": lengths}
    if pair:
        types = (np.arange(TOKENS) >= lengths[:, None] // 2).astype(np.int64)
        types[np.arange(ROWS), lengths - 1] = LAST_TYPE
        feed["type_ids"] = types
    return feed


def xlnet_logits(network: Any, feed: Feed) -> npt.NDArray[np.float32]:
    """Each row by itself, so that its last token is the last."""
    found = []
    for row, length in enumerate(feed["lengths"]):
        ids = torch.from_numpy(feed["input_ids"][row : row + 1, :length])
        types = torch.zeros_like(ids)
        types[0, -1] = LAST_TYPE
        if "type_ids" in feed:
            types = torch.from_numpy(feed["type_ids"][row : row + 1, :length])
        with torch.inference_mode():
            found.append(network(input_ids=ids, token_type_ids=types).logits.numpy())
    return np.concatenate(found)


def onnx_logits(graph: ModelProto, feed: Feed) -> npt.NDArray[np.float32]:
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(["logits"], feed)[0])


@pytest.mark.parametrize("pair", [False, True])
def test_xlnet_has_the_logits_of_the_network(make_encoder: MakeEncoder, pair: bool) -> None:
    network, feed = make_encoder("xlnet"), batch(pair=pair)

    graph = transformer_graph(network, pair=pair)

    logits = onnx_logits(graph, feed)
    assert np.ptp(logits, axis=0).min() > 0.1  # rows differ
    np.testing.assert_allclose(logits, xlnet_logits(network, feed), atol=1e-4)


def test_what_is_behind_the_last_token_does_not_matter(make_encoder: MakeEncoder) -> None:
    graph, feed = transformer_graph(make_encoder("xlnet")), batch()
    inside = np.arange(TOKENS) < feed["lengths"][:, None]

    other = {**feed, "input_ids": np.where(inside, feed["input_ids"], 10**9)}

    np.testing.assert_array_equal(onnx_logits(graph, feed), onnx_logits(graph, other))


def test_xlnet_in_int8_has_nearly_the_same_logits_and_a_row_the_same_in_any_batch(make_encoder: MakeEncoder) -> None:
    graph, feed = transformer_graph(make_encoder("xlnet")), batch()
    whole = onnx_logits(graph, feed)

    rounded = onnx_logits(transformer_int8(graph), feed)

    assert 0 < np.abs(rounded - whole).mean() < 0.12 * whole.std(axis=0).mean()
    for row, length in enumerate(feed["lengths"]):
        alone = {"input_ids": feed["input_ids"][row : row + 1, :length], "lengths": feed["lengths"][row : row + 1]}
        np.testing.assert_allclose(onnx_logits(transformer_int8(graph), alone)[0], rounded[row], atol=0.01)


def test_debertas_distances_of_all_texts_are_asked_in_both_directions(make_encoder: MakeEncoder) -> None:
    """Without either of them the logits are others."""
    feed = batch()
    both = make_encoder("deberta-v2")
    found = onnx_logits(transformer_graph(both), feed)

    for kept in (["c2p"], ["p2c"]):
        one = make_encoder("deberta-v2", pos_att_type=kept)
        assert np.abs(onnx_logits(transformer_graph(one), feed) - found).max() > 0.01
        layer = encoder_weights(one).layers[0].relative
        assert layer is not None
        assert [part is None for part in layer] == [kept == ["p2c"], kept == ["c2p"]]


@pytest.mark.parametrize(
    ("family", "config"),
    [
        ("deberta-v2", {"conv_kernel_size": 3}),
        ("deberta-v2", {"relative_attention": False}),
        ("xlnet", {"summary_type": "mean"}),
        ("xlnet", {"summary_activation": "gelu"}),
        ("xlnet", {"attn_type": "uni"}),
    ],
)
def test_what_no_published_one_has_is_refused(make_encoder: MakeEncoder, family: str, config: dict[str, Any]) -> None:
    network = make_encoder(family)
    for name, value in config.items():
        setattr(network.config, name, value)
    if family == "deberta-v2":
        network = type(network)(network.config)

    with pytest.raises(TypeError, match="a graph is known only for"):
        encoder_weights(network)
