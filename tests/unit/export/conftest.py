"""Students of words with strong weights, rows of all lengths, and what networks and graphs say of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
import pytest
import torch
from onnx import ModelProto

from limbeck.models.students import word_student
from limbeck.models.word_student import WordStudentModel
from limbeck.recipe.student import WordStudent

Feed = dict[str, npt.NDArray[Any]]
Logits = npt.NDArray[np.float32]
WORDS, ROWS = 50, 20
INPUTS = (("input_ids", "lengths", "attention_mask", 11), ("pair_ids", "pair_lengths", "pair_mask", 5))


@pytest.fixture(scope="session")
def strong_student() -> Callable[..., WordStudentModel]:
    """strong_student(section, pair=False): no weight of it is near zero, not even those that start there."""

    def build(section: WordStudent, *, pair: bool = False) -> WordStudentModel:
        torch.manual_seed(0)
        network = word_student(section, vocabulary_size=WORDS, embedding_size=12, labels=["a", "b", "c"], pair=pair)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.3)
        network.eval()
        return network

    return build


@pytest.fixture(scope="session")
def ragged() -> Callable[..., Feed]:
    """ragged(pair=False): 20 rows of 0 to 11 tokens, padded with zeros; second texts have at most 5."""

    def batch(*, pair: bool = False) -> Feed:
        dice = np.random.default_rng(0)
        feed: Feed = {}
        for ids, lengths, _mask, width in INPUTS[: 2 if pair else 1]:
            feed[lengths] = dice.integers(1, width + 1, ROWS, dtype=np.int32)
            feed[lengths][:3] = 0, 1, width
            inside = np.arange(width) < feed[lengths][:, None]
            feed[ids] = dice.integers(1, WORDS, (ROWS, width)) * inside
        return feed

    return batch


@pytest.fixture(scope="session")
def torch_logits() -> Callable[[Any, Feed], Logits]:
    """torch_logits(network, feed)"""

    def say(network: Any, feed: Feed) -> Logits:
        tensors: dict[str, torch.Tensor] = {}
        for ids, lengths, mask, _width in INPUTS:
            if ids in feed:
                inside = np.arange(feed[ids].shape[1]) < feed[lengths][:, None]
                tensors |= {ids: torch.from_numpy(feed[ids]), mask: torch.from_numpy(inside.astype(np.int64))}
        with torch.inference_mode():
            logits: Logits = network(**tensors).logits.numpy()
        return logits

    return say


@pytest.fixture(scope="session")
def onnx_logits() -> Callable[[ModelProto, Feed], Logits]:
    """onnx_logits(graph, feed)"""

    def say(graph: ModelProto, feed: Feed) -> Logits:
        session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
        logits: Logits = session.run(["logits"], feed)[0]
        return logits

    return say
