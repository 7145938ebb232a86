"""Every student as a graph, by its kind."""

from typing import Any

from onnx import ModelProto

from limbeck.kinds import kind_of_config, resolved
from limbeck.models.folding import folded


def graph_of(network: Any, *, pair: bool = False) -> ModelProto:
    """The student in fp32. Raises TypeError for a class of networks that no graph is known for.

    Whether it gets pairs, a student that reads them together must be told; one that reads them apart knows.
    """
    kind = kind_of_config(network.config.model_type)
    build = resolved(kind.graph)
    graph: ModelProto = build(folded(network)) if kind.pairs == "apart" else build(network, pair=pair)
    return graph


def int8_of(network: Any, graph: ModelProto) -> ModelProto:
    """The student's graph in int8."""
    int8: ModelProto = resolved(kind_of_config(network.config.model_type).int8)(graph)
    return int8
