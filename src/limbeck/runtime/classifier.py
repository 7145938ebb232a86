"""An exported model in memory: texts in, labels and probabilities out."""

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime

from limbeck.artifacts.model_folder import ModelFacts, ModelFolder, open_model
from limbeck.runtime.batches import chunks_of, length_batches
from limbeck.runtime.inputs import Columns, inputs_of
from limbeck.runtime.probabilities import best_labels, label_sets, probabilities_of
from limbeck.runtime.row import Row, checked_rows

Logits = npt.NDArray[np.float32]


def load(folder: str | Path, *, threads: int | None = None) -> "Classifier":
    """The model in this folder, its files checked against its manifest.

    `threads` is how many batches are worked on at once; left out, one for each CPU this process may use. A single
    row always takes one thread. Raises ArtifactMissing, ArtifactDamaged or FormatTooNew; DependencyMissing where a
    model's text is cut by jieba, which is not installed.
    """
    return Classifier(open_model(Path(folder)), threads=threads)


class Classifier:
    """Keeps no state between calls, so that many threads may share one.

    Rows are texts, or pairs of texts where `facts.pair` says so, in any iterable. They are tokenised, sorted by
    length, padded as little as can be and run in batches; what comes back is in the order given.
    """

    def __init__(self, model: ModelFolder, *, threads: int | None = None) -> None:
        """Without the manifest check that `load` makes."""
        if threads is not None and threads < 1:
            raise ValueError(f"threads must be at least 1, not {threads}")
        self.facts: ModelFacts = model.facts()
        self._threads = threads or _usable_cpus()
        self._session = onnxruntime.InferenceSession(
            str(model.graph), _session_options(), providers=["CPUExecutionProvider"]
        )
        self._inputs = inputs_of(model, self.facts, names={value.name for value in self._session.get_inputs()})

    @property
    def labels(self) -> list[str]:
        """Class names, in the order of the columns of `predict_proba`."""
        return list(self.facts.labels)

    def predict(self, rows: Iterable[Row]) -> list[str] | list[list[str]]:
        """The most probable label of each row; where `facts.multi_label` says that a row may have several, a list of
        all that are at least as probable as not, in the order of the classes, maybe empty."""
        labels = self.facts.labels
        if self.facts.multi_label:
            return label_sets(self.predict_proba(rows), labels)
        return best_labels(self.logits(rows), labels)

    def predict_proba(self, rows: Iterable[Row]) -> npt.NDArray[np.float32]:
        """(rows, classes): probabilities, at the temperature that was fitted on dev when the model was exported.

        Each row sums to one, unless it may have several labels: then each is a probability of its own.
        """
        return probabilities_of(self.logits(rows) / self.facts.temperature, multi_label=self.facts.multi_label)

    def logits(self, rows: Iterable[Row]) -> Logits:
        """(rows, classes): what the network says, before temperature and softmax or sigmoid."""
        blocks = [self._chunk_logits(chunk) for chunk in chunks_of(checked_rows(rows, pair=self.facts.pair))]
        if not blocks:
            return np.zeros((0, len(self.facts.labels)), dtype=np.float32)
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)

    def _chunk_logits(self, rows: list[Row]) -> Logits:
        columns = self._inputs.encode(rows)
        if len(rows) == 1:
            return self._run(columns)
        batches = length_batches(self._inputs.lengths(columns))
        logits = np.empty((len(rows), len(self.facts.labels)), dtype=np.float32)
        parts = [[[column[row] for row in batch] for column in columns] for batch in batches]
        for batch, block in zip(batches, self._run_all(parts), strict=True):
            logits[batch] = block
        return logits

    def _run_all(self, batches: list[Columns]) -> list[Logits]:
        """Threads live no longer than the call: a pool kept for longer would be dead in a forked worker."""
        if len(batches) == 1 or self._threads == 1:
            return [self._run(batch) for batch in batches]
        with ThreadPoolExecutor(min(self._threads, len(batches))) as pool:
            return list(pool.map(self._run, batches))

    def _run(self, columns: Columns) -> Logits:
        logits: Logits = self._session.run(["logits"], self._inputs.feed(columns))[0]
        return logits


def _session_options() -> onnxruntime.SessionOptions:
    """One thread per run: measured, int8 LSTMs gain nothing from a second, and whole batches share out better."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only
    return options


def _usable_cpus() -> int:
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
