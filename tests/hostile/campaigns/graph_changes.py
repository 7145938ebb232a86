"""Changes of an ONNX graph, by a seed: of its nodes, edges, attributes, interface and bytes; constants are beside."""

import random
from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from tests.hostile.campaigns.constant_changes import CONSTANT_CHANGES

Change = Callable[[ModelProto, random.Random], str]  # says what it has changed

GENTLE = 0.7  # share of graphs with one change; the others have two or three
FLOATS = (-1.0, 0.0, 0.01, 0.5, 1.0, 1.001, 2.0, 100.0)
TWO_WAYS = ["Sigmoid", "Tanh", "Tanh"], ["Tanh", "Tanh", "Tanh"], ["Relu", "Tanh", "Tanh"], ["Sigmoid", "Relu", "Tanh"]
# Attributes that an operator may have, and values for them; most of them none of our exports writes.
ATTRIBUTES: dict[str, dict[str, Sequence[object]]] = {
    "Gemm": {"alpha": FLOATS, "beta": FLOATS, "transA": (0, 1), "transB": (0, 1)},
    "LSTM": {
        "clip": (0.01, 0.3, 2.0, 50.0),
        "input_forget": (0, 1),
        "layout": (0, 1),
        "hidden_size": (4, 8, 16),
        "direction": ("forward", "reverse", "bidirectional"),
        "activations": [2 * functions for functions in TWO_WAYS],
        "activation_alpha": ([0.5] * 6,),
    },
    "GRU": {
        "clip": (0.01, 0.3, 2.0, 50.0),
        "linear_before_reset": (0, 1),
        "layout": (0, 1),
        "direction": ("forward", "reverse", "bidirectional"),
        "activations": [2 * functions[:2] for functions in TWO_WAYS],
    },
    "Softmax": {"axis": (-1, 0, 1, 2)},
    "Gather": {"axis": (0, 1, -1)},
    "Concat": {"axis": (0, 1, -1)},
    "Flatten": {"axis": (0, 1, 2, -1)},
    "Split": {"axis": (0, 1, 2), "num_outputs": (5,)},
    "Cast": {"to": (1, 6, 7, 10, 11), "saturate": (0, 1)},
    "Shape": {"start": (-1, 0, 1), "end": (1, 2, 9)},
    "Pad": {"mode": ("constant", "edge", "reflect", "wrap")},
    "Reshape": {"allowzero": (0, 1)},
    "Transpose": {"perm": ([0, 1], [1, 0], [0, 1, 2], [1, 0, 2], [2, 1, 0], [0, 2, 1, 3], [0, 1, 2, 3])},
}
ATTRIBUTES["DynamicQuantizeLSTM"] = ATTRIBUTES["LSTM"]
for name in ("ReduceMax", "ReduceSum", "ReduceL2"):
    ATTRIBUTES[name] = {"keepdims": (0, 1), "noop_with_empty_axes": (0, 1)}
SAME_ARITY = (
    ("Relu", "Tanh", "Sigmoid", "Neg", "Abs", "Identity", "Elu", "LeakyRelu", "Softplus", "Softmax", "Sin"),
    ("Add", "Sub", "Mul", "Div", "Max", "Min", "PRelu", "Pow", "Sum", "Mean"),
    ("ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceProd", "ReduceLogSumExp"),
    ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"),
    ("Softmax", "LogSoftmax", "Hardmax", "Identity"),
    ("Flatten", "Identity", "Relu"),
)
INSERTED = ("Identity", "Neg", "Relu", "Abs", "Dropout", "Mul", "Add", "Clip", "Tanh")


def changed(data: bytes, chance: random.Random) -> tuple[bytes, str]:
    """The graph with one change or a few, and what they were."""
    model = ModelProto.FromString(data)
    count = 1 if chance.random() < GENTLE else chance.choice((2, 3))
    changes = [_one_of(model, chance) for _ in range(count)]
    return _other_bytes(model.SerializeToString(), chance, changes), "; ".join(changes)


def _one_of(model: ModelProto, chance: random.Random) -> str:
    """A change that has something to change; after another one it may find nothing, or not what it expects."""
    while True:
        change = chance.choice((*GRAPH_CHANGES, *CONSTANT_CHANGES))
        with suppress(IndexError, ValueError, TypeError):
            if changes := change(model, chance):
                return f"{change.__name__} {changes}"


def _node(model: ModelProto, chance: random.Random) -> NodeProto:
    return chance.choice(model.graph.node)


def _set(node: NodeProto, name: str, value: object) -> str:
    kept = [attribute for attribute in node.attribute if attribute.name != name]
    del node.attribute[:]
    node.attribute.extend([*kept, helper.make_attribute(name, value)])
    return f"{name} = {value} of the {node.op_type} {node.output[:1]}"


def attribute_set(model: ModelProto, chance: random.Random) -> str:
    """One that the operator has, with a valid value."""
    nodes = [node for node in model.graph.node if node.op_type in ATTRIBUTES]
    if not nodes:
        return ""
    node = chance.choice(nodes)
    name = chance.choice(sorted(ATTRIBUTES[node.op_type]))
    return _set(node, name, chance.choice(list(ATTRIBUTES[node.op_type][name])))


def attribute_of_recurrence(model: ModelProto, chance: random.Random) -> str:
    """The same for the operators with most of them."""
    nodes = [node for node in model.graph.node if node.op_type in ("LSTM", "GRU", "DynamicQuantizeLSTM", "Gemm")]
    node = chance.choice(nodes)
    name = chance.choice(sorted(ATTRIBUTES[node.op_type]))
    return _set(node, name, chance.choice(list(ATTRIBUTES[node.op_type][name])))


def attribute_changed(model: ModelProto, chance: random.Random) -> str:
    nodes = [node for node in model.graph.node if node.attribute]
    node = chance.choice(nodes)
    attribute = chance.choice(node.attribute)
    value = helper.get_attribute_value(attribute)
    if isinstance(value, int | float):
        return _set(node, attribute.name, chance.choice((value + 1, value - 1, -value, float(value), [value])))
    if isinstance(value, bytes):
        return _set(node, attribute.name, chance.choice((value.upper(), b"", value + b"\0", [value])))
    return _set(node, attribute.name, chance.choice((list(value)[::-1], [*value, 0], list(value)[:-1] or [0])))


def attribute_removed(model: ModelProto, chance: random.Random) -> str:
    nodes = [node for node in model.graph.node if node.attribute]
    node = chance.choice(nodes)
    name = node.attribute.pop(chance.randrange(len(node.attribute))).name
    return f"{name} of the {node.op_type}"


def attribute_added(model: ModelProto, chance: random.Random) -> str:
    """One that no operator has, or one a second time."""
    node = _node(model, chance)
    if node.attribute and chance.random() < 0.5:
        node.attribute.append(chance.choice(node.attribute))
        if node.attribute[-1].HasField("i"):
            node.attribute[-1].i += chance.choice((0, 1))
        return f"{node.attribute[-1].name} twice"
    return _set(node, "surprise", chance.choice(FLOATS))


def operator_swapped(model: ModelProto, chance: random.Random) -> str:
    families = [(node, family) for node in model.graph.node for family in SAME_ARITY if node.op_type in family]
    node, family = chance.choice(families)
    before, node.op_type = node.op_type, chance.choice(family)
    return f"{before} to {node.op_type}"


def domain_changed(model: ModelProto, chance: random.Random) -> str:
    node = _node(model, chance)
    node.domain = chance.choice(("", "ai.onnx", "com.microsoft", "own"))
    return f"{node.op_type} to '{node.domain}'"


def node_inserted(model: ModelProto, chance: random.Random) -> str:
    """Between a node and those that read it, or before the end."""
    at = chance.choice((chance.randrange(len(model.graph.node)), len(model.graph.node) - 1))
    node = model.graph.node[at]
    places = [place for place, name in enumerate(node.output) if name]
    if not places:
        return ""
    place, operator = chance.choice(places), chance.choice(INSERTED)
    before, after = f"{node.output[place]}.before", node.output[place]
    node.output[place] = before
    inputs = [before]
    if operator in ("Mul", "Add", "Clip"):
        constant = numpy_helper.from_array(np.array(chance.choice(FLOATS), dtype=np.float32), f"{after}.constant")
        model.graph.initializer.append(constant)
        inputs.append(constant.name)
    model.graph.node.insert(at + 1, helper.make_node(operator, inputs, [after]))
    return f"{operator} after {after}"


def node_removed(model: ModelProto, chance: random.Random) -> str:
    """Its readers read what it read."""
    at = chance.randrange(len(model.graph.node))
    node = model.graph.node.pop(at)
    if chance.random() < 0.8 and node.input and node.output:
        for other in model.graph.node:
            for place, name in enumerate(other.input):
                if name == node.output[0]:
                    other.input[place] = node.input[0]
        if node.output[0] == "logits" and model.graph.node:
            model.graph.node[-1].output[0] = "logits"
    return str(node.op_type)


def node_repeated(model: ModelProto, chance: random.Random) -> str:
    """With other outputs, which nobody reads, or the same ones."""
    at = chance.randrange(len(model.graph.node))
    copy = NodeProto()
    copy.CopyFrom(model.graph.node[at])
    if chance.random() < 0.7:
        copy.output[:] = [f"{name}.again" if name else "" for name in copy.output]
    model.graph.node.insert(at + 1, copy)
    return str(copy.op_type)


def nodes_reordered(model: ModelProto, chance: random.Random) -> str:
    at = chance.randrange(len(model.graph.node) - 1) if len(model.graph.node) > 1 else 0
    node = model.graph.node.pop(at)
    model.graph.node.insert(chance.choice((at + 1, chance.randrange(len(model.graph.node) + 1))), node)
    return str(node.op_type)


def input_rewired(model: ModelProto, chance: random.Random) -> str:
    """To any other value that is known before the node."""
    at = chance.randrange(len(model.graph.node))
    node, before = model.graph.node[at], [name for node in model.graph.node[:at] for name in node.output]
    constants = [tensor.name for tensor in model.graph.initializer]
    known = [*filter(None, before[-12:]), *constants, *(value.name for value in model.graph.input), ""]
    if not node.input:
        return ""
    place = chance.randrange(len(node.input))
    old, node.input[place] = node.input[place], chance.choice(known)
    return f"{node.op_type} from {old} to {node.input[place]}"


def inputs_rearranged(model: ModelProto, chance: random.Random) -> str:
    node = _node(model, chance)
    names = list(node.input)
    if not names:
        return ""
    node.input[:] = chance.choice((names[::-1], [*names, names[-1]], names[:-1], [*names, ""], names[1:] + names[:1]))
    return f"{node.op_type} {list(node.input)}"


def outputs_rearranged(model: ModelProto, chance: random.Random) -> str:
    node = _node(model, chance)
    names = list(node.output)
    node.output[:] = chance.choice((names[::-1], [*names, "one_more"], [*names, ""], ["", *names]))
    return f"{node.op_type} {list(node.output)}"


def interface_changed(model: ModelProto, chance: random.Random) -> str:
    """Inputs and outputs of the graph."""
    graph, how = model.graph, chance.choice(sorted(INTERFACE))
    INTERFACE[how](graph, chance)
    return how


def _one_more_output(graph: GraphProto, chance: random.Random) -> None:
    name = chance.choice([name for node in graph.node for name in node.output if name])
    place = chance.choice((0, len(graph.output)))
    graph.output.insert(place, helper.make_tensor_value_info(name, TensorProto.FLOAT, None))


def _one_more_input(graph: GraphProto, chance: random.Random) -> None:
    tensor = chance.choice(graph.initializer)  # which whoever calls it may then replace
    name = chance.choice((tensor.name, "unheard_of"))
    graph.input.append(helper.make_tensor_value_info(name, tensor.data_type, list(tensor.dims)))


def _other_size(graph: GraphProto, chance: random.Random) -> None:
    value = chance.choice([*graph.input, *graph.output])
    dimension = chance.choice(value.type.tensor_type.shape.dim)
    chance.choice((lambda: setattr(dimension, "dim_value", 6), lambda: setattr(dimension, "dim_param", "other")))()


def _other_type(graph: GraphProto, chance: random.Random) -> None:
    value = chance.choice([*graph.input, *graph.output])
    value.type.tensor_type.elem_type = chance.choice((1, 6, 7, 11))


def _reordered(graph: GraphProto, chance: random.Random) -> None:
    graph.input.append(graph.input.pop(chance.randrange(len(graph.input))))


def _output_twice(graph: GraphProto, chance: random.Random) -> None:
    graph.output.append(chance.choice(graph.output))


INTERFACE: dict[str, Callable[[GraphProto, random.Random], None]] = {
    "one output more": _one_more_output,
    "one input more": _one_more_input,
    "another size": _other_size,
    "another type": _other_type,
    "inputs reordered": _reordered,
    "an output twice": _output_twice,
}


def version_changed(model: ModelProto, chance: random.Random) -> str:
    how = chance.choice(("ir", "opset", "one more", "one less"))
    if how == "ir":
        model.ir_version = chance.choice((3, 4, 7, 9, 10, 99))
    elif how == "opset" and model.opset_import:
        chance.choice(model.opset_import).version = chance.choice((1, 11, 13, 17, 19, 20, 21))
    elif how == "one less" and model.opset_import:
        model.opset_import.pop()
    else:
        domain = chance.choice(("", "com.microsoft", "ai.onnx.ml"))
        model.opset_import.append(helper.make_opsetid(domain, chance.choice((1, 13, 18))))
    return f"{how}: {model.ir_version}, {[(one.domain, one.version) for one in model.opset_import]}"


def renamed(model: ModelProto, chance: random.Random) -> str:
    """What changes nothing: documentation, producers, names of nodes; the name of a value, everywhere; or the kind."""
    how = chance.choice(("node", "value", "graph", "documentation", "producer", "settings"))
    if how == "value":
        old = chance.choice([name for node in model.graph.node for name in node.input if name])
        for node in model.graph.node:
            for names in (node.input, node.output):
                names[:] = ["renamed" if name == old else name for name in names]
        for entry in (*model.graph.initializer, *model.graph.input):
            entry.name = "renamed" if entry.name == old else entry.name
    elif how == "graph":
        model.graph.name = chance.choice(("bilstm", "bag", "ngrams", "textcnn", "transformer", ""))
    elif how == "settings":
        model.metadata_props.add(key="ort_config", value='{"session_options": {"intra_op_num_threads": 2}}')
    else:
        _node(model, chance).name = "any"
        model.graph.doc_string, model.producer_name = "anything", "anybody"
    return how


def hint_added(model: ModelProto, chance: random.Random) -> str:
    """The type of a value in between, right or wrong."""
    name = chance.choice([name for node in model.graph.node for name in node.output if name])
    shape = chance.choice((None, ["rows", 3], [2]))
    model.graph.value_info.append(helper.make_tensor_value_info(name, chance.choice((1, 7)), shape))
    return str(name)


def function_added(model: ModelProto, chance: random.Random) -> str:
    """One of the graph's own operators, which means something else."""
    operator = chance.choice([node.op_type for node in model.graph.node if len(node.input) == 1] or ["Relu"])
    body = [helper.make_node("Neg", ["x"], ["y"])]
    opsets = [helper.make_opsetid("", 18)]
    model.functions.append(helper.make_function(chance.choice(("", "own")), operator, ["x"], ["y"], body, opsets))
    return str(operator)


GRAPH_CHANGES: tuple[Change, ...] = (
    *(attribute_set, attribute_set, attribute_of_recurrence, attribute_changed, attribute_removed, attribute_added),
    *(operator_swapped, operator_swapped, domain_changed, node_inserted, node_inserted, node_removed, node_repeated),
    *(nodes_reordered, input_rewired, input_rewired, inputs_rearranged, outputs_rearranged, interface_changed),
    *(version_changed, renamed, hint_added, function_added),
)


def _other_bytes(data: bytes, chance: random.Random, changes: list[str]) -> bytes:
    """Now and then the bytes say the same in another way, or more: readers put the parts of a message together."""
    if chance.random() < 0.95:
        return data
    graph = GraphProto()
    how = chance.choice(("graph name", "node", "unknown field", "wire type"))
    if how == "graph name":
        graph.name = "bag"
    elif how == "node":
        graph.node.append(helper.make_node("Neg", ["logits"], ["unread"]))
    part = graph.SerializeToString() if how != "wire type" else b"\x15gram"
    changes.append(f"bytes: a second graph with a {how}" if how != "unknown field" else how)
    if how == "unknown field":
        return data + b"\xfa\x3f\x01x"
    return data + bytes([7 << 3 | 2, len(part)]) + part
