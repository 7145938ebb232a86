"""What onnxruntime must not be given: graphs that would crash it, never end, or read other files.

Only the structure is looked at, and none of the weights. The field numbers are those of onnx.proto of the ONNX project.
"""

import mmap
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from limbeck.artifacts.model_folder import ModelFacts
from limbeck.runtime.onnx_file import BLOCK, VARINT, GraphNotUnderstood, Message, wire_fields

# onnxruntime does not notice that these operators lack an input, and crashes. Found by removing each input of each
# operator, with onnxruntime 1.31. None of our exports lacks one of these.
CRASHING = ("Max", "Mean", "Min", "Sum", "LayerNormalization")
MODEL_GRAPH, MODEL_FUNCTION, GRAPH_NODE, GRAPH_NAME, GRAPH_CONSTANT, GRAPH_SPARSE_CONSTANT = 7, 25, 1, 2, 5, 15
NODE_INPUT, NODE_OPERATOR, NODE_ATTRIBUTE = 1, 4, 5
ATTRIBUTE_TENSORS, ATTRIBUTE_GRAPHS, ATTRIBUTE_SPARSE = (5, 10), (6, 11), (22, 23)
TENSOR_TYPE, TENSOR_ELSEWHERE, TENSOR_PLACE = 2, 13, 14
BYTES_OF_INT8 = 3, 2  # ONNX's numbers of int8 and uint8
ELSEWHERE = "a constant of its network is not in the file itself, as those of all models are"


def fault_of_graph(path: Path, facts: ModelFacts | None = None) -> str | None:
    """What is wrong with a graph; None if nothing is. With facts: also if its kind or precision is another one."""
    if not path.stat().st_size:
        return "it is empty"
    with path.open("rb") as file:
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    try:
        return next(chain(_faults(data), _other_facts(data, facts) if facts else ()), None)
    except GraphNotUnderstood as error:
        return str(error)


def _faults(model: Message) -> Iterator[str]:
    if _blocks(model, MODEL_FUNCTION):
        yield "its network has functions of its own, as no model has"
    for graph in _blocks(model, MODEL_GRAPH):
        for node in _blocks(graph, GRAPH_NODE):
            yield from _faults_of_node(node)
        if _blocks(graph, GRAPH_SPARSE_CONSTANT) or any(map(_is_elsewhere, _blocks(graph, GRAPH_CONSTANT))):
            yield ELSEWHERE


def _faults_of_node(node: Message) -> Iterator[str]:
    """A graph inside a node is what Loop, Scan and If run: it may never end."""
    operators = [bytes(name) for name in _blocks(node, NODE_OPERATOR)]
    lacking = [name for name in CRASHING if name.encode() in operators]
    if lacking and not all(_blocks(node, NODE_INPUT)):
        yield f"a {lacking[0]} of its network lacks an input"
    for attribute in _blocks(node, NODE_ATTRIBUTE):
        if _blocks(attribute, *ATTRIBUTE_GRAPHS):
            yield "a node of its network has a graph inside it, as no model has"
        if _blocks(attribute, *ATTRIBUTE_SPARSE) or any(map(_is_elsewhere, _blocks(attribute, *ATTRIBUTE_TENSORS))):
            yield ELSEWHERE


def _is_elsewhere(tensor: Message) -> bool:
    return any(
        number == TENSOR_ELSEWHERE or (number == TENSOR_PLACE and value != 0)
        for number, _, value in wire_fields(tensor)
    )


def _other_facts(model: Message, facts: ModelFacts) -> Iterator[str]:
    """A graph is named by its kind of student, and only one in int8 has constants of a byte."""
    graphs = _blocks(model, MODEL_GRAPH)
    names = [bytes(name).decode(errors="replace") for graph in graphs for name in _blocks(graph, GRAPH_NAME)]
    if names != [facts.kind]:
        yield f"its network is not of the kind {facts.kind}"
    constants = (constant for graph in graphs for constant in _blocks(graph, GRAPH_CONSTANT))
    if any(map(_is_of_bytes, constants)) != (facts.precision == "int8"):
        yield f"its network is not in {facts.precision}"


def _is_of_bytes(constant: Message) -> bool:
    return any(
        number == TENSOR_TYPE and wire == VARINT and value in BYTES_OF_INT8
        for number, wire, value in wire_fields(constant)
    )


def _blocks(data: Message, *fields: int) -> list[Message]:
    return [
        value
        for number, wire, value in wire_fields(data)
        if number in fields and wire == BLOCK and isinstance(value, memoryview)
    ]
