"""The engine that runs every model everywhere: onnxruntime on padded batches, without graphs that would crash it."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as onnx_errors

from limbeck.artifacts.model_folder import ModelFacts
from limbeck.errors import ArtifactDamaged
from limbeck.runtime.batches import length_batches
from limbeck.runtime.graph_faults import fault_of_graph
from limbeck.runtime.inputs import Columns, Inputs

Logits = npt.NDArray[np.float32]
FAILURES = (  # of a graph that no Limbeck exported
    onnx_errors.Fail,
    onnx_errors.InvalidArgument,
    onnx_errors.InvalidGraph,
    onnx_errors.NotImplemented,
    onnx_errors.RuntimeException,
)
onnxruntime.disable_telemetry_events()  # if it was imported before limbeck.telemetry had switched it off


class OnnxEngine:
    """Sorts rows by length, for as little padding as possible, and runs several batches at once."""

    name = "onnxruntime"

    def __init__(self, graph: Path, inputs: Inputs, *, facts: ModelFacts, threads: int) -> None:
        """Raises ArtifactDamaged for a graph that it must not be given."""
        if fault := fault_of_graph(graph, facts):
            raise ArtifactDamaged(folder=graph.parent, faults=[fault])
        self._graph = graph
        self._session = opened(graph)
        self._names = [value.name for value in self._session.get_inputs()]
        self._inputs, self._classes, self._threads = inputs, len(facts.labels), threads

    def logits(self, columns: Columns) -> Logits:
        """(rows, classes), in the order of the rows; at least one row. Raises ArtifactDamaged."""
        rows = len(columns[0])
        if rows == 1:
            return self._run(columns)
        batches = length_batches(self._inputs.lengths(columns))
        logits = np.empty((rows, self._classes), dtype=np.float32)
        parts = [[[column[row] for row in batch] for column in columns] for batch in batches]
        for batch, block in zip(batches, self._run_all(parts), strict=True):
            logits[batch] = block
        return logits

    def _run_all(self, batches: list[Columns]) -> list[Logits]:
        """Threads end with the call: a pool that lives longer would be dead in a forked worker."""
        if len(batches) == 1 or self._threads == 1:
            return [self._run(batch) for batch in batches]
        with ThreadPoolExecutor(min(self._threads, len(batches))) as pool:
            return list(pool.map(self._run, batches))

    def _run(self, columns: Columns) -> Logits:
        feed = self._inputs.feed(columns)
        try:
            logits: Logits = self._session.run(["logits"], {name: feed[name] for name in self._names})[0]
        except FAILURES as error:
            first, *_ = str(error).splitlines()
            raise ArtifactDamaged(folder=self._graph.parent, faults=[f"its network cannot be run: {first}"]) from error
        rows, outputs = len(columns[0]), getattr(logits, "shape", None)
        if outputs != (rows, self._classes) or logits.dtype != np.float32:
            fault = f"its network has outputs of the shape {outputs} for {rows:,} rows and {self._classes:,} labels"
            raise ArtifactDamaged(folder=self._graph.parent, faults=[fault])
        return logits


def opened(graph: Path | bytes) -> onnxruntime.InferenceSession:
    """A session for a graph that may be given to onnxruntime."""
    return onnxruntime.InferenceSession(
        graph if isinstance(graph, bytes) else str(graph),
        _options(),
        providers=["CPUExecutionProvider"],
        enable_fallback=0,  # it would print to standard output, and try the same again
    )


def _options() -> onnxruntime.SessionOptions:
    """One thread per run: measured, int8 LSTMs gain nothing from a second, and parallel batches are faster.

    Every other option keeps its default: none that was tried gained more than noise, several lost (docs/speed.md).
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only
    return options
