"""An exported model in memory: texts in, labels and probabilities out."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import get_args

import numpy as np

from limbeck.artifacts.model_folder import ModelFacts, ModelFolder, open_model
from limbeck.runtime.batches import chunks_of
from limbeck.runtime.engine import EngineChoice, Logits, open_engine
from limbeck.runtime.inputs import inputs_of
from limbeck.runtime.probabilities import Floats, best_labels, label_sets, probabilities_of
from limbeck.runtime.row import Row


def load(folder: str | Path, *, threads: int | None = None, engine: EngineChoice = "auto") -> "Classifier":
    """The model in this folder, its files checked against its manifest.

    `threads` is how many rows or batches are worked on at once; left out, one for each CPU this process may use. A
    single row always takes one thread. `engine` is what runs the network: "native", for students of words on x86-64
    with AVX2; "onnx", onnxruntime, for all of them everywhere; "auto", the first of the two that can.

    Raises ArtifactMissing, ArtifactDamaged or FormatTooNew; DependencyMissing where a model's text is cut by jieba,
    which is not installed; EngineUnusable where "native" is asked for and cannot be had.
    """
    return Classifier(open_model(Path(folder)), threads=threads, engine=engine)


class Classifier:
    """Keeps nothing between calls but what it has worked out of words already, so many threads may share one.

    Rows are texts, or pairs of texts where `facts.pair` says so, in any iterable. They are taken and tokenised chunk by
    chunk, and run by the engine; what comes back is in the order given.
    """

    def __init__(self, model: ModelFolder, *, threads: int | None = None, engine: EngineChoice = "auto") -> None:
        """Without the manifest check that `load` makes."""
        if threads is not None and threads < 1:
            raise ValueError(f"threads must be at least 1, not {threads}")
        if engine not in get_args(EngineChoice):
            raise ValueError(f"engine must be one of {', '.join(get_args(EngineChoice))}, not {engine!r}")
        self.facts: ModelFacts = model.facts()
        self._inputs = inputs_of(model, self.facts)
        self._engine = open_engine(model, self.facts, self._inputs, choice=engine, threads=threads or _usable_cpus())

    @property
    def labels(self) -> list[str]:
        """Class names, in the order of the columns of `predict_proba`."""
        return list(self.facts.labels)

    @property
    def engine(self) -> str:
        """What runs the network: "onnxruntime", or "native" and what of the processor it uses."""
        return self._engine.name

    def predict(self, rows: Iterable[Row]) -> list[str] | list[list[str]]:
        """The most probable label of each row; where `facts.multi_label` says that a row may have several, a list of
        all that are at least as probable as not, in the order of the classes, maybe empty."""
        labels = self.facts.labels
        if self.facts.multi_label:
            return label_sets(self.predict_proba(rows), labels)
        return best_labels(self.logits(rows), labels)

    def predict_proba(self, rows: Iterable[Row]) -> Floats:
        """(rows, classes): probabilities, at the temperature that was fitted on dev when the model was exported.

        Each row sums to one, unless it may have several labels: then each is a probability of its own.
        """
        return probabilities_of(self.logits(rows) / self.facts.temperature, multi_label=self.facts.multi_label)

    def logits(self, rows: Iterable[Row]) -> Logits:
        """(rows, classes): what the network says, before temperature and softmax or sigmoid."""
        blocks = [self._engine.logits(self._inputs.encode(chunk)) for chunk in chunks_of(rows, pair=self.facts.pair)]
        if not blocks:
            return np.zeros((0, len(self.facts.labels)), dtype=np.float32)
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


def _usable_cpus() -> int:
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
