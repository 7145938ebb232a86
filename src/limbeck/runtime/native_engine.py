"""The native engine, for word-level students on supported processors: an optional C++ extension."""

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.model_folder import ModelFacts, ModelFolder
from limbeck.runtime.inputs import Columns
from limbeck.runtime.onnx_file import GraphNotUnderstood, OnnxFile, read_onnx

Logits = npt.NDArray[np.float32]


class NativeImpossible(Exception):
    """The extension cannot run this model on this machine; the message says why."""


class NativeEngine:
    """Takes rows as lists: sorting, grouping and threading are done in C++."""

    def __init__(self, model: ModelFolder, facts: ModelFacts, *, threads: int) -> None:
        """Raises NativeImpossible."""
        if facts.tokenizer != "words":
            raise NativeImpossible(f"it runs students that read words, not those of the kind '{facts.kind}'")
        try:
            from limbeck.runtime import _native
            from limbeck.runtime.native_graph import native_network
        except ImportError as error:
            raise NativeImpossible(f"its extension is not part of this installation ({error})") from error
        if not _native.level():
            raise NativeImpossible("this processor has no AVX2")
        try:
            graph = read_onnx(model.graph)
            self._network = native_network(graph)
            _refuse_other_classes(graph, facts)
        except ValueError as error:  # GraphNotUnderstood, and errors of the extension about wrong sizes
            raise NativeImpossible(f"it does not understand '{model.graph}': {error}") from error
        self.name = f"native {_native.level()}"
        self._classes, self._threads = len(facts.labels), threads

    def logits(self, columns: Columns) -> Logits:
        """(rows, classes), in the order of the rows; at least one row."""
        logits = np.empty((len(columns[0]), self._classes), dtype=np.float32)
        self._network.logits(columns, logits, self._threads)
        return logits


def _refuse_other_classes(graph: OnnxFile, facts: ModelFacts) -> None:
    classes = len(graph.constants["classifier.bias"])
    if classes != len(facts.labels):
        raise GraphNotUnderstood(f"it has {classes} classes, and model.json names {len(facts.labels)}")
