"""The graph of any student, by its kind."""

from typing import Any

from onnx import ModelProto

from limbeck.kinds import kind_of_config, resolved
from limbeck.models.folding import folded


def graph_of(network: Any, *, pair: bool = False) -> ModelProto:
    """The student in fp32. Raises TypeError for a class of networks that cannot be exported.

    `pair` matters only for a student that reads pairs together; one that reads them separately has it in its config.
    """
    kind = kind_of_config(network.config.model_type)
    build = resolved(kind.graph)
    graph: ModelProto = build(folded(network)) if kind.pairs == "apart" else build(network, pair=pair)
    return graph


def int8_of(network: Any, graph: ModelProto) -> ModelProto:
    """The student's graph in int8."""
    int8: ModelProto = resolved(kind_of_config(network.config.model_type).int8)(graph)
    return int8
