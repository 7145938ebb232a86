"""Graphs that would end the process: onnxruntime does not notice that some operators lack an input, and crashes."""

import mmap
from collections.abc import Iterator
from pathlib import Path

from limbeck.runtime.onnx_file import BLOCK, GraphNotUnderstood, Message, wire_fields

# Found by leaving out each input of each operator, with onnxruntime 1.31. None of our exports leaves one of these out.
CRASHING = ("Max", "Mean", "Min", "Sum", "LayerNormalization")
MODEL_GRAPH, MODEL_FUNCTION, GRAPH_NODE, FUNCTION_NODE = 7, 25, 1, 7
NODE_INPUT, NODE_OPERATOR, NODE_ATTRIBUTE, ATTRIBUTE_GRAPHS = 1, 4, 5, (6, 11)


def fault_of_inputs(path: Path) -> str | None:
    """What is wrong with a graph that onnxruntime should not be given; None if nothing is."""
    if not path.stat().st_size:
        return "it is empty"
    with path.open("rb") as file:
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))  # most of it is weights, not looked at
    try:
        return next(_faults(data), None)
    except GraphNotUnderstood as error:
        return str(error)


def _faults(model: Message) -> Iterator[str]:
    for graph in _blocks(model, MODEL_GRAPH):
        yield from _faults_of_nodes(graph, GRAPH_NODE)
    for function in _blocks(model, MODEL_FUNCTION):
        yield from _faults_of_nodes(function, FUNCTION_NODE)


def _faults_of_nodes(graph: Message, field: int) -> Iterator[str]:
    """Also of the graphs inside its nodes."""
    for node in _blocks(graph, field):
        operators = [bytes(name) for name in _blocks(node, NODE_OPERATOR)]
        lacking = [name for name in CRASHING if name.encode() in operators]
        if lacking and not all(_blocks(node, NODE_INPUT)):
            yield f"a {lacking[0]} of its network lacks an input"
        for attribute in _blocks(node, NODE_ATTRIBUTE):
            for inner in _blocks(attribute, *ATTRIBUTE_GRAPHS):
                yield from _faults_of_nodes(inner, GRAPH_NODE)


def _blocks(data: Message, *fields: int) -> list[Message]:
    return [
        value
        for number, wire, value in wire_fields(data)
        if number in fields and wire == BLOCK and isinstance(value, memoryview)
    ]
