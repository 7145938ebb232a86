"""The native engine, for word-level students: an optional C++ extension."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.model_folder import ModelFacts, ModelFolder
from limbeck.errors import ArtifactDamaged
from limbeck.runtime.inputs import Inputs, NativeColumns, WordInputs
from limbeck.runtime.onnx_file import GraphNotUnderstood, OnnxFile, read_onnx

if TYPE_CHECKING:  # it imports the extension, which is optional
    from limbeck.runtime.native_ngrams import NativeNgrams

Logits = npt.NDArray[np.float32]
RECURRENT = ("bilstm",)  # kinds that onnxruntime runs faster on processors for which there are no kernels


class NativeImpossible(Exception):
    """The extension cannot run this model on this machine; the message says why."""


class NativeEngine:
    """Takes rows as lists or bytes: sorting, grouping and threading are done in C++."""

    def __init__(self, model: ModelFolder, facts: ModelFacts, *, threads: int) -> None:
        """Raises NativeImpossible."""
        if facts.tokenizer != "words":
            raise NativeImpossible(f"it runs students that read words, not those of the kind '{facts.kind}'")
        try:
            from limbeck.runtime import _native
            from limbeck.runtime.native_graph import is_pair, native_network, words_and_classes
        except ImportError as error:
            raise NativeImpossible(f"its extension is not part of this installation ({error})") from error
        try:
            graph = read_onnx(model.graph)
            self._network = native_network(graph)
            self.words, classes = words_and_classes(graph)
            _refuse_other_facts(facts, graph, classes=classes, pair=is_pair(graph))
        except ValueError as error:  # GraphNotUnderstood, and errors of the extension about weights
            raise NativeImpossible(f"it does not understand '{model.graph}': {error}") from error
        level = _native.level()
        self.name, self.is_fast = f"native {level}", level != "scalar" or facts.kind not in RECURRENT
        self._folder, self._classes, self._threads = model.folder, classes, threads

    def logits(self, columns: NativeColumns) -> Logits:
        """(rows, classes), in the order of the rows; at least one row."""
        logits = np.empty((len(columns[0]), self._classes), dtype=np.float32)
        try:
            self._network.logits(columns, logits, self._threads)
        except ValueError as error:  # a tokenizer with ids that the network does not have
            fault = f"its network does not fit to its tokenizer: {error}"
            raise ArtifactDamaged(folder=self._folder, faults=[fault]) from error
        return logits


def native_reader(inputs: Inputs) -> "NativeNgrams | None":
    """The extension's reader of n-grams, for a model that reads them; the extension must be there."""
    if not isinstance(inputs, WordInputs) or (ngrams := inputs.tokenizer.ngrams) is None:
        return None
    from limbeck.runtime.native_ngrams import NativeNgrams

    try:
        return NativeNgrams(ngrams, max_length=inputs.max_length)
    except (ValueError, OverflowError):  # settings beyond its bounds, which a recipe does not allow
        return None


def _refuse_other_facts(facts: ModelFacts, graph: OnnxFile, *, classes: int, pair: bool) -> None:
    has_bytes = any(array.dtype in (np.int8, np.uint8) for array in graph.constants.values())
    if graph.name != facts.kind or has_bytes != (facts.precision == "int8"):
        raise GraphNotUnderstood(f"it is not a {facts.kind} in {facts.precision}, as model.json says")
    if classes != len(facts.labels):
        raise GraphNotUnderstood(f"it has {classes} classes, and model.json names {len(facts.labels)}")
    if pair != facts.pair:
        raise GraphNotUnderstood(f"it reads {'two texts' if pair else 'one text'} a row, and model.json says otherwise")
