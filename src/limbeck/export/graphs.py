"""Every student as a graph, by its class."""

from typing import Any

from onnx import ModelProto

from limbeck.export.bag_graph import bag_graph
from limbeck.export.bilstm_graph import bilstm_graph
from limbeck.export.int8 import int8_graph
from limbeck.export.textcnn_graph import textcnn_graph
from limbeck.export.transformer_graph import transformer_graph
from limbeck.export.transformer_int8 import transformer_int8
from limbeck.models.bag import BagForSequenceClassification
from limbeck.models.bilstm import BiLstmForSequenceClassification
from limbeck.models.folding import folded
from limbeck.models.textcnn import TextCnnForSequenceClassification
from limbeck.models.word_student import WordStudentModel


def graph_of(network: Any, *, pair: bool = False) -> ModelProto:
    """The student in fp32. Raises TypeError for a class of students that no graph is known for.

    Whether it reads pairs, a transformer must be told; students of words know.
    """
    match network:
        case BiLstmForSequenceClassification():
            return bilstm_graph(folded(network))
        case TextCnnForSequenceClassification():
            return textcnn_graph(folded(network))
        case BagForSequenceClassification():
            return bag_graph(folded(network))
        case WordStudentModel():
            raise TypeError(f"no graph is known for students of the class {type(network).__name__}")
        case _:
            return transformer_graph(network, pair=pair)


def int8_of(network: Any, graph: ModelProto) -> ModelProto:
    """The student's graph in int8."""
    return int8_graph(graph) if isinstance(network, WordStudentModel) else transformer_int8(graph)
