"""What every kind of student keeps to. A new kind is one more entry in STUDENTS."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
import pytest
import torch
from onnx import ModelProto
from torch import Tensor
from transformers import AutoModelForSequenceClassification

from limbeck.export.bilstm_graph import bilstm_graph
from limbeck.export.int8 import int8_graph
from limbeck.models.bilstm import BiLstmForSequenceClassification, bilstm
from limbeck.recipe.student import BiLstm
from limbeck.training.modes import quiet_transformers

WORDS, ROWS, TOKENS, LABELS = 60, 8, 9, ["bad", "fair", "good"]


@dataclass(frozen=True)
class Kind:
    """How a kind of student is built, and how it becomes a graph."""

    name: str
    build: Callable[[], Any]
    graph: Callable[[Any], ModelProto]
    pair: bool = False
    multi_label: bool = False


def _bilstm(pooling: str, *, pair: bool = False, multi_label: bool = False) -> Kind:
    section = BiLstm.model_validate({"hidden_size": 8, "dense_size": 16, "pooling": pooling})

    def build() -> BiLstmForSequenceClassification:
        return bilstm(
            section, vocabulary_size=WORDS, embedding_size=12, labels=LABELS, pair=pair, multi_label=multi_label
        )

    name = f"bilstm-{pooling}{'-pair' if pair else ''}{'-multi-label' if multi_label else ''}"
    return Kind(name, build, bilstm_graph, pair=pair, multi_label=multi_label)


STUDENTS = [
    *(_bilstm(pooling, pair=pair) for pooling in ("max", "last") for pair in (False, True)),
    _bilstm("max", multi_label=True),
]
every_student = pytest.mark.parametrize("kind", STUDENTS, ids=lambda kind: kind.name)


@pytest.fixture(autouse=True)
def _quiet() -> None:
    quiet_transformers()
    torch.manual_seed(0)


def batch(kind: Kind, *, width: int = TOKENS) -> dict[str, Tensor]:
    """Rows of 1 to TOKENS tokens, padded to `width`."""
    dice = torch.Generator().manual_seed(1)
    tensors = {}
    for ids, mask in [("input_ids", "attention_mask"), ("pair_ids", "pair_mask")][: 2 if kind.pair else 1]:
        lengths = torch.randint(1, TOKENS + 1, (ROWS, 1), generator=dice)
        tensors[mask] = (torch.arange(width) < lengths).long()
        words = torch.randint(1, WORDS, (ROWS, TOKENS), generator=dice)
        tensors[ids] = torch.nn.functional.pad(words, (0, width - TOKENS)) * tensors[mask]
    return tensors


def logits_of(network: Any, tensors: dict[str, Tensor]) -> Tensor:
    network.eval()
    with torch.inference_mode():
        logits: Tensor = network(**tensors).logits
    return logits


def onnx_logits(graph: ModelProto, tensors: dict[str, Tensor]) -> npt.NDArray[np.float32]:
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    lengths = {"attention_mask": "lengths", "pair_mask": "pair_lengths"}
    feed = {
        lengths.get(name, name): tensor.sum(dim=1).int().numpy() if name in lengths else tensor.numpy()
        for name, tensor in tensors.items()
    }
    logits: npt.NDArray[np.float32] = session.run(["logits"], feed)[0]
    return logits


@every_student
def test_there_is_a_logit_for_every_row_and_class(kind: Kind) -> None:
    assert logits_of(kind.build(), batch(kind)).shape == (ROWS, len(LABELS))


@every_student
def test_padding_never_changes_a_logit(kind: Kind) -> None:
    network = kind.build()

    wider = logits_of(network, batch(kind, width=TOKENS + 20))

    torch.testing.assert_close(wider, logits_of(network, batch(kind)), rtol=0, atol=1e-6)


@every_student
def test_a_row_says_the_same_whatever_it_is_batched_with(kind: Kind) -> None:
    network, tensors = kind.build(), batch(kind)
    together = logits_of(network, tensors)

    alone = [
        logits_of(network, {name: tensor[row : row + 1] for name, tensor in tensors.items()}) for row in range(ROWS)
    ]

    torch.testing.assert_close(torch.cat(alone), together, rtol=0, atol=1e-6)


@every_student
def test_the_padding_id_is_mask_enough(kind: Kind) -> None:
    network, tensors = kind.build(), batch(kind)

    without_masks = logits_of(network, {name: tensors[name] for name in tensors if not name.endswith("mask")})

    torch.testing.assert_close(without_masks, logits_of(network, tensors))


@every_student
def test_saved_and_loaded_it_says_the_same(kind: Kind, tmp_path: Path) -> None:
    network = kind.build()
    network.save_pretrained(tmp_path)

    loaded = type(network).from_pretrained(tmp_path)

    assert {path.name for path in tmp_path.iterdir()} == {"config.json", "model.safetensors"}
    torch.testing.assert_close(logits_of(loaded, batch(kind)), logits_of(network, batch(kind)), rtol=0, atol=0)


@every_student
def test_hugging_faces_auto_class_gives_it_back(kind: Kind, tmp_path: Path) -> None:
    network = kind.build()
    network.save_pretrained(tmp_path)

    loaded = AutoModelForSequenceClassification.from_pretrained(tmp_path)

    assert type(loaded) is type(network)
    assert loaded.config.id2label == dict(enumerate(LABELS))
    torch.testing.assert_close(logits_of(loaded, batch(kind)), logits_of(network, batch(kind)), rtol=0, atol=0)


@every_student
def test_its_graph_says_the_same(kind: Kind) -> None:
    network, tensors = kind.build(), batch(kind)

    exported = onnx_logits(kind.graph(network.eval()), tensors)

    np.testing.assert_allclose(exported, logits_of(network, tensors).numpy(), atol=1e-4)


@every_student
def test_its_int8_graph_says_nearly_the_same(kind: Kind) -> None:
    network, tensors = kind.build(), batch(kind)

    exported = onnx_logits(int8_graph(kind.graph(network.eval())), tensors)

    whole = logits_of(network, tensors).numpy()
    assert np.abs(exported - whole).max() < 0.05 * np.abs(whole).max()


@every_student
def test_it_learns_eight_rows_by_heart(kind: Kind) -> None:
    network, tensors = kind.build(), batch(kind)
    classes = torch.arange(ROWS) % len(LABELS)
    sets = torch.stack([(torch.arange(ROWS) >> bit) % 2 for bit in range(len(LABELS))], dim=1)  # one of each kind
    labels = sets if kind.multi_label else classes
    optimiser = torch.optim.Adam(network.parameters(), lr=0.02)

    network.train()
    for _ in range(80):
        optimiser.zero_grad()
        network(**tensors, labels=labels).loss.backward()
        optimiser.step()

    logits = logits_of(network, tensors)
    learned = (logits >= 0).long() if kind.multi_label else logits.argmax(dim=1)
    assert learned.tolist() == labels.tolist()
