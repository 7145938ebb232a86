"""A transformer student for tools that know nothing of Limbeck: its graphs with the inputs that stock models have.

The layout is that of optimum: config.json and tokenizer.json of a standard model, `onnx/model.onnx` in fp32, and
`onnx/model_quantized.onnx` in int8.
"""

import json
from pathlib import Path
from typing import Any

from limbeck.artifacts.model_folder import ModelFolder
from limbeck.errors import DependencyMissing

FOLDER = "onnx"
NAMES = {"fp32": "model.onnx", "int8": "model_quantized.onnx"}  # by precision
FAMILIES_WITH_TYPES = ("bert", "electra")  # whose tokenizers give `token_type_ids`
MASK, TYPES, LENGTHS, LOGITS = "attention_mask", "token_type_ids", "lengths", "logits"


def write_stock_graphs(student: Path, folder: Path) -> list[str]:
    """Write the exported graphs of a transformer student in a run for stock tools; their names. None for other kinds.

    `student` is students/VARIANT/SEED of a run.
    """
    run, variant, seed = student.parents[2], student.parent.name, student.name
    written = []
    for precision, name in NAMES.items():
        model = ModelFolder(run / "exports" / f"{variant}{'-int8' if precision == 'int8' else ''}" / seed)
        if not model.graph.is_file() or (facts := model.facts()).tokenizer != "framed":
            continue
        family = json.loads((student / "config.json").read_text(encoding="utf-8"))["model_type"]
        graph = stock_graph(model.graph, temperature=facts.temperature, has_types=family in FAMILIES_WITH_TYPES)
        (folder / FOLDER).mkdir(exist_ok=True)
        (folder / FOLDER / name).write_bytes(graph.SerializeToString())
        written.append(f"{FOLDER}/{name}")
    return written


def stock_graph(path: Path, *, temperature: float, has_types: bool) -> Any:
    """The graph with `input_ids`, `attention_mask` and, where its family has types, `token_type_ids` (int64).

    Its logits are divided by the temperature: a plain softmax, or sigmoid, of them is calibrated.
    """
    try:
        import onnx
        from onnx import TensorProto, helper, numpy_helper
    except ImportError:
        raise DependencyMissing(package="onnx", purpose="the graph for other tools", extra="train") from None
    import numpy as np

    model = onnx.load(path)
    graph = model.graph
    given = {value.name for value in graph.input}
    before = [
        helper.make_node("ReduceSum", [MASK, "stock.axis"], ["stock.lengths"], keepdims=0),
        helper.make_node("Cast", ["stock.lengths"], [LENGTHS], to=TensorProto.INT32),
        *([helper.make_node("Identity", [TYPES], ["type_ids"])] if "type_ids" in given else []),
    ]
    nodes = [*before, *graph.node]
    for node in nodes:
        node.output[:] = ["stock.logits" if name == LOGITS else name for name in node.output]
    nodes.append(helper.make_node("Div", ["stock.logits", "stock.temperature"], [LOGITS]))
    constants = {"stock.axis": np.array([1]), "stock.temperature": np.array(temperature, dtype=np.float32)}
    names = ["input_ids", MASK, *([TYPES] if has_types or "type_ids" in given else [])]
    del graph.node[:], graph.input[:]
    graph.node.extend(nodes)
    graph.input.extend(helper.make_tensor_value_info(name, TensorProto.INT64, ["rows", "tokens"]) for name in names)
    graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
    return model
