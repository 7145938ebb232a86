"""Multiply-adds worked out by hand, against what torch counts, and against what the exported graphs multiply."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from onnx import ModelProto, NodeProto, helper
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoConfig, AutoModelForSequenceClassification

from limbeck.export.graphs import graph_of, int8_of
from limbeck.models.students import word_student
from limbeck.models.twin_encoder import TwinEncoderConfig, TwinEncoderForSequenceClassification
from limbeck.recipe.student import Bag, BiLstm, TextCnn, WordStudent
from limbeck.timing.row_cost import multiply_adds

# DeBERTa's own module compiles a function in a way that torch is about to give up.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")

BERT = {"model_type": "bert", "hidden_size": 768, "num_hidden_layers": 12, "intermediate_size": 3072}
BILSTM = {
    "model_type": "limbeck_bilstm", "embedding_size": 300, "hidden_size": 150, "dense_size": 200, "layers": 1,
    "cell": "lstm", "pooling": "max", "static_channel": False, "pair": False,
}  # fmt: skip
TEXTCNN = {
    "model_type": "limbeck_textcnn", "embedding_size": 300, "filters": 100, "windows": [3, 4, 5], "dense_size": 0,
    "static_channel": False, "pair": False,
}  # fmt: skip
BAG = {
    "model_type": "limbeck_bag", "embedding_size": 300, "dense_size": 200, "static_channel": False, "pair": False,
    "word_weights": True,
}  # fmt: skip
SMALL = {"vocab_size": 50, "num_labels": 3, "max_position_embeddings": 64}
SMALL_BERT = {**SMALL, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 40}
FAMILIES: dict[str, dict[str, Any]] = {
    **{family: SMALL_BERT for family in ("bert", "roberta", "xlm-roberta", "camembert", "mpnet")},
    "electra": {**SMALL_BERT, "embedding_size": 10},
    "albert": {**SMALL_BERT, "embedding_size": 10},
    "distilbert": {**SMALL, "dim": 24, "n_layers": 3, "n_heads": 2, "hidden_dim": 40},
}
RELATIVE: dict[str, dict[str, Any]] = {
    "deberta-v2": {
        **SMALL_BERT,
        "relative_attention": True,
        "pos_att_type": ["c2p", "p2c"],
        "position_buckets": 8,
        "share_att_key": True,
    },
    "xlnet": {"vocab_size": 50, "num_labels": 3, "d_model": 24, "n_layer": 3, "n_head": 2, "d_inner": 40},
}
EXPORTED = [family for family in FAMILIES if family != "camembert"]
WORD_STUDENTS: list[WordStudent] = [
    BiLstm(hidden_size=8, dense_size=6),
    BiLstm(hidden_size=8, dense_size=0, layers=2, cell="gru", pooling="mean"),
    BiLstm(hidden_size=8, dense_size=6, pooling="attention", static_channel=True),
    TextCnn(kind="textcnn", windows=[2, 3], filters=5),
    Bag(kind="bag", dense_size=6),
]


def test_bert_base_on_24_tokens() -> None:
    """A layer: 4·24·768² = 56,623,104; 2·24²·768 = 884,736; 2·24·768·3072 = 113,246,208. Twelve of them, and the
    head: 768² + 768·2 = 591,360."""
    assert multiply_adds(BERT, tokens=[24], classes=2) == 12 * 170_754_048 + 591_360 == 2_049_639_936


def test_bert_base_exported_works_out_one_token_in_its_last_layer() -> None:
    """2·24·768² = 28,311,552 for keys and values; 2·768² = 1,179,648; 2·24·768 = 36,864; 2·768·3072 = 4,718,592."""
    last = 28_311_552 + 1_179_648 + 36_864 + 4_718_592

    assert multiply_adds(BERT, tokens=[24], classes=2, exported=True) == 11 * 170_754_048 + last + 591_360


def test_a_bilstm_of_two_times_150() -> None:
    """Two directions, four gates: 2·24·4·150·(300 + 150) = 12,960,000; the head: 300·200 + 200·2 = 60,400."""
    assert multiply_adds(BILSTM, tokens=[24], classes=2) == 12_960_000 + 60_400


def test_a_gru_has_three_gates_and_a_second_level_reads_both_directions() -> None:
    """2·10·3·150·(300 + 150) = 4,050,000, and the same once more: 300 states are read there; 60,400 for the head."""
    config = {**BILSTM, "cell": "gru", "layers": 2}

    assert multiply_adds(config, tokens=[10], classes=2) == 2 * 4_050_000 + 60_400


def test_attention_turns_and_weighs_every_state() -> None:
    """For each of 10 tokens: 300² to turn, 300 to ask, 300 to weigh."""
    plain = multiply_adds(BILSTM, tokens=[10], classes=2)

    assert multiply_adds({**BILSTM, "pooling": "attention"}, tokens=[10], classes=2) == (plain or 0) + 10 * 90_600


def test_a_pair_is_read_twice_and_joined_to_four_times_the_features() -> None:
    """2·4·150·450 = 540,000 for each of 24 + 10 tokens; the head: 1200·200 + 200·2."""
    assert multiply_adds({**BILSTM, "pair": True}, tokens=[24, 10], classes=2) == 34 * 540_000 + 240_400


def test_a_convolution_over_windows_of_3_4_and_5() -> None:
    """24·300·12·100 = 8,640,000; the head: 300·2."""
    assert multiply_adds(TEXTCNN, tokens=[24], classes=2) == 8_640_000 + 600


def test_a_bag_weighs_its_words() -> None:
    """24·300; the head: 300·200 + 200·2."""
    assert multiply_adds(BAG, tokens=[24], classes=2) == 7_200 + 60_400


def test_a_static_channel_doubles_what_is_read_for_a_word() -> None:
    assert multiply_adds({**BAG, "static_channel": True}, tokens=[24], classes=2) == 14_400 + 600 * 200 + 400


@pytest.mark.parametrize("family", ["deberta", "gpt2"])
def test_a_family_without_a_formula_has_no_number(family: str) -> None:
    assert multiply_adds({"model_type": family, "hidden_size": 8}, tokens=[24], classes=2) is None


@pytest.mark.parametrize("family", FAMILIES)
def test_torch_counts_the_same_in_every_family(family: str) -> None:
    """Its counter has two operations for a multiply-add; on the meta device nothing is computed."""
    config = AutoConfig.for_model(family, **FAMILIES[family])
    with torch.device("meta"):
        network = AutoModelForSequenceClassification.from_config(config).eval()

    with torch.inference_mode(), FlopCounterMode(display=False) as counter:
        network(input_ids=torch.ones((1, 9), dtype=torch.long, device="meta"))

    assert multiply_adds(config.to_dict(), tokens=[9], classes=3) == counter.get_total_flops() / 2


@pytest.mark.parametrize("family", RELATIVE)
def test_torch_multiplies_as_much_with_distances(family: str) -> None:
    """XLNet's weighs the two types of every pair of tokens by a product of its own, which is 2n² for each head."""
    config = AutoConfig.for_model(family, **RELATIVE[family])
    network = AutoModelForSequenceClassification.from_config(config).eval()
    network.requires_grad_(False)  # the counter asks for gradients of DeBERTa's table
    types = torch.tensor([[0] * 8 + [2]]) if family == "xlnet" else None

    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        network(input_ids=torch.full((1, 9), 5), token_type_ids=types)

    chosen = 3 * 2 * 2 * 9**2 if family == "xlnet" else 0
    assert multiply_adds(config.to_dict(), tokens=[9], classes=3) == counter.get_total_flops() / 2 - chosen


@pytest.mark.parametrize("family", FAMILIES)
def test_twins_read_both_texts_by_themselves(family: str) -> None:
    """[CLS] and three words and [SEP], three words and [SEP]: five tokens each, for the second gets a [CLS] as well."""
    inner = AutoConfig.for_model(family, **FAMILIES[family]).to_dict()
    config = TwinEncoderConfig(encoder=inner, cls_token_id=1, num_labels=3)
    network = TwinEncoderForSequenceClassification(config).eval()
    types = torch.tensor([[0] * 5 + [1] * 4])

    with torch.inference_mode(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        network(input_ids=torch.full((1, 9), 5), token_type_ids=types)

    assert multiply_adds(config.to_dict(), tokens=[9], classes=3) == counter.get_total_flops() / 2


def test_twins_of_a_family_without_a_formula_have_no_number() -> None:
    twins = {"model_type": "twin_encoder", "encoder": {"model_type": "deberta"}}

    assert multiply_adds(twins, tokens=[9], classes=3) is None


@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize("family", [*EXPORTED, *RELATIVE])
def test_the_graph_of_a_transformer_multiplies_as_much(family: str, precision: str) -> None:
    config = AutoConfig.for_model(family, **(FAMILIES | RELATIVE)[family])
    network = AutoModelForSequenceClassification.from_config(config).eval()
    graph = graph_of(network)

    found = counted(int8_of(network, graph) if precision == "int8" else graph, tokens=[9])

    assert found == multiply_adds(config.to_dict(), tokens=[9], classes=3, exported=True)


@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize("section", WORD_STUDENTS, ids=lambda section: f"{section.kind}")
def test_the_graph_of_a_word_student_multiplies_as_much(section: WordStudent, precision: str, pair: bool) -> None:
    network = word_student(section, vocabulary_size=50, embedding_size=12, labels=["a", "b", "c"], pair=pair)
    tokens = [9, 4] if pair else [9]
    graph = graph_of(network)

    found = counted(int8_of(network, graph) if precision == "int8" else graph, tokens=tokens)

    # The states are weighed by a Mul and a sum, which are not counted here.
    weighed = sum(tokens) * 16 if isinstance(section, BiLstm) and section.pooling == "attention" else 0
    assert found + weighed == multiply_adds(network.config.to_dict(), tokens=tokens, classes=3)


def counted(model: ModelProto, *, tokens: Sequence[int]) -> int:
    """Multiply-adds of one row, by the shapes that the operators are given when the graph runs."""
    products = [node for node in model.graph.node if node.op_type in (*MATRICES, *CELLS)]
    wanted = list(dict.fromkeys(name for node in products for name in node.input[:3] if name))
    constants = {tensor.name: list(tensor.dims) for tensor in model.graph.initializer}
    asked = [name for name in wanted if name not in constants]
    with_outputs = ModelProto.FromString(model.SerializeToString())
    with_outputs.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in asked)
    session = onnxruntime.InferenceSession(with_outputs.SerializeToString(), providers=["CPUExecutionProvider"])
    names = (("input_ids", "lengths"), ("pair_ids", "pair_lengths"))
    feed: dict[str, Any] = {}
    for (ids, lengths), count in zip(names, tokens, strict=False):
        feed |= {ids: np.full((1, count), 5), lengths: np.array([count], dtype=np.int32)}
    shapes = constants | {name: list(array.shape) for name, array in zip(asked, session.run(asked, feed), strict=True)}
    return sum(_products(node, shapes) for node in products)


MATRICES = ("MatMul", "Gemm", "DynamicQuantizeMatMul", "MatMulIntegerToFloat")
CELLS = ("LSTM", "GRU", "DynamicQuantizeLSTM")


def _products(node: NodeProto, shapes: Mapping[str, list[int]]) -> int:
    first, second = shapes[node.input[0]], shapes[node.input[1]]
    if node.op_type in MATRICES:
        transposed = any(attribute.name == "transB" and attribute.i for attribute in node.attribute)
        return prod(first) * second[-2 if transposed else -1]
    tokens, rows, _ = first
    return tokens * rows * (prod(second) + prod(shapes[node.input[2]]))  # W and R of both directions
