"""An exported model in memory: texts in, labels and probabilities, or scores, out."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, get_args, overload

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.model_folder import ModelFacts, ModelFolder, open_model
from limbeck.errors import ArtifactDamaged, LimbeckError, NeedsClasses
from limbeck.runtime.batches import chunks_of
from limbeck.runtime.engine import EngineChoice, Logits, open_network
from limbeck.runtime.explain import Explanation, explanation
from limbeck.runtime.probabilities import Floats, best_labels, label_sets, probabilities_of
from limbeck.runtime.row import Row
from limbeck.text.tokenizer_limits import TokenizerRefused

if TYPE_CHECKING:  # they are only loaded for a cascade
    from limbeck.runtime.cascade import CascadeClassifier
    from limbeck.runtime.fallbacks.detection import FormatName

MOST_SHOWN = 200  # characters of an error of a library


@overload
def load(folder: str | Path, *, threads: int | None = None, engine: EngineChoice = "auto") -> "Classifier": ...
@overload
def load(
    folder: str | Path,
    *,
    fallback: str | Path,
    share: float | None = None,
    threshold: float | None = None,
    fallback_format: "FormatName | None" = None,
    fallback_model: str | None = None,
    fallback_timeout: float | None = None,
    fallback_key_from: str | None = None,
    fallback_instruction: str | None = None,
    threads: int | None = None,
    engine: EngineChoice = "auto",
) -> "CascadeClassifier": ...
def load(
    folder: str | Path,
    *,
    fallback: str | Path | None = None,
    share: float | None = None,
    threshold: float | None = None,
    fallback_format: "FormatName | None" = None,
    fallback_model: str | None = None,
    fallback_timeout: float | None = None,
    fallback_key_from: str | None = None,
    fallback_instruction: str | None = None,
    threads: int | None = None,
    engine: EngineChoice = "auto",
) -> "Classifier | CascadeClassifier":
    """The model in this folder, its files checked against its manifest.

    `threads` is how many rows or batches are computed at once. Default: one for each CPU that this process may use. A
    single row always uses one thread. `engine` is what runs the network: "native", for word-level students on x86-64
    with AVX2; "onnx", onnxruntime, for all models everywhere; "auto", the first of the two that can run the model.

    With a `fallback`, another model that the folder of a model or the address of a server gives, it answers by itself
    only what it is sure of: docs/cascade.md. The fallback gets the `share` of the texts that it is least sure of, by
    its confidence on dev; or those with a confidence of at most `threshold`; or with neither of the two so many that
    both together were as accurate on dev as the teacher: if the student is so by itself, none, and `note` of the result
    says so. `fallback_format` is the format of the server, which is asked
    otherwise; `fallback_model` the name of its model; `fallback_timeout` how many seconds it has; `fallback_key_from`
    the name of an environment variable with its key; `fallback_instruction` what a language model is asked to do.

    Raises ArtifactMissing, ArtifactDamaged (also for a network or a tokenizer that cannot be opened, or does not fit to
    the classes) or FormatTooNew; DependencyMissing if the model needs jieba to segment text
    and it is not installed; EngineUnusable if "native" is asked for and cannot run the model; for a fallback
    FallbackUnusable, FallbackOptionsWrong and ThresholdUnknown.
    """
    if fallback is None and share is None and threshold is None:
        return _loaded(Path(folder), threads=threads, engine=engine)
    from limbeck.runtime.fallbacks.fallback import FallbackMissing, options_in_python
    from limbeck.runtime.fallbacks.opening import FallbackOptions, cascade_of

    options = FallbackOptions(
        fallback_format, fallback_model, fallback_timeout, fallback_key_from, fallback_instruction
    )
    with options_in_python():
        if fallback is None:
            raise FallbackMissing(option="share" if threshold is None else "threshold")
        return cascade_of(
            folder, fallback, share=share, threshold=threshold, options=options, threads=threads, engine=engine
        )


def _loaded(folder: Path, *, threads: int | None, engine: EngineChoice) -> "Classifier":
    _refuse_arguments(threads=threads, engine=engine)
    model = open_model(folder)
    found = Classifier(model, threads=threads, engine=engine)
    shape = found.logits([("", "") if found.facts.pair else ""]).shape
    if shape != (1, len(found.labels)):
        fault = f"its network has {shape[-1]:,} outputs for {len(found.labels):,} labels"
        raise ArtifactDamaged(folder=model.folder, faults=[fault])
    return found


PASSING = (ImportError, KeyboardInterrupt, SystemExit, GeneratorExit)


def _damaged(folder: Path, error: BaseException) -> BaseException:
    """Whatever a library raises for a file that is not what it should be; a panic of Rust is not even an Exception."""
    if isinstance(error, TokenizerRefused):
        return ArtifactDamaged(folder=folder, faults=[f"its tokenizer cannot be used: {error.reason}"])
    if isinstance(error, (LimbeckError, *PASSING)):
        return error
    first, *_ = f"{type(error).__name__}: {error}".splitlines()
    return ArtifactDamaged(folder=folder, faults=[f"its network or tokenizer cannot be used: {first[:MOST_SHOWN]}"])


def _refuse_arguments(*, threads: int | None, engine: str) -> None:
    if threads is not None and threads < 1:
        raise ValueError(f"threads must be at least 1, not {threads}")
    if engine not in get_args(EngineChoice):
        raise ValueError(f"engine must be one of {', '.join(get_args(EngineChoice))}, not {engine!r}")


class Classifier:
    """Keeps nothing between calls but a cache of words, so many threads may share one.

    Rows are texts, or pairs of texts if `facts.pair` is set, in any iterable. They are read and tokenised chunk by
    chunk, and run by the engine; results are in the order of the rows.
    """

    def __init__(self, model: ModelFolder, *, threads: int | None = None, engine: EngineChoice = "auto") -> None:
        """Without the manifest check of `load`. Raises ArtifactDamaged, as do its methods."""
        _refuse_arguments(threads=threads, engine=engine)
        self.facts: ModelFacts = model.facts()
        self._folder = model.folder
        try:
            self._network = open_network(model, self.facts, choice=engine, threads=threads or _usable_cpus())
        except BaseException as error:
            raise _damaged(model.folder, error) from error

    @property
    def labels(self) -> list[str]:
        """Class names, in the order of the columns of `predict_proba`."""
        return list(self.facts.labels)

    @property
    def folder(self) -> Path:
        """Where it was loaded from."""
        return self._folder

    @property
    def engine(self) -> str:
        """What runs the network: "onnxruntime", or "native" and the instruction set that it uses; for a blend, those of
        its members."""
        return self._network.name

    def predict(self, rows: Iterable[Row]) -> list[str] | list[list[str]] | list[float]:
        """The most probable label of each row; if `facts.multi_label` is set, a list of all labels with a probability
        of at least 0.5, in the order of the classes, possibly empty. A model of scores gives a number for each row."""
        labels = self.facts.labels
        if self.facts.scale:
            found: list[float] = self.scores(rows).tolist()
            return found
        if self.facts.multi_label:
            return label_sets(self.predict_proba(rows), labels)
        return best_labels(self.logits(rows), labels)

    def predict_proba(self, rows: Iterable[Row]) -> Floats:
        """(rows, classes): probabilities, at the temperature that was fitted on dev when the model was exported.

        Each row sums to one; multi-label: each probability is independent of the others. Raises NeedsClasses for a
        model of scores.
        """
        if self.facts.scale:
            advice = "Use predict, which gives the scores."
            raise NeedsClasses(what="predict_proba", name=self.facts.name, advice=advice)
        return probabilities_of(self.logits(rows) / self.facts.temperature, multi_label=self.facts.multi_label)

    def scores(self, rows: Iterable[Row]) -> npt.NDArray[np.float64]:
        """(rows): the score of each row, in the units and, unless the model says otherwise, the range of its training.
        Raises TypeError for a model of classes."""
        if self.facts.scale is None:
            raise TypeError(f"{self.facts.name} gives labels, not scores")
        return self.facts.scale.scores(self.logits(rows)[:, 0])

    def logits(self, rows: Iterable[Row]) -> Logits:
        """(rows, classes): the output of the network, before temperature and softmax or sigmoid. For a blend: the
        logits of its members, each divided by its own temperature, in a weighted sum. For scores: (rows, 1), in
        standard units."""
        blocks = [self._logits(chunk) for chunk in chunks_of(rows, pair=self.facts.pair)]
        if not blocks:
            return np.zeros((0, len(self.facts.labels)), dtype=np.float32)
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)

    def explain(self, rows: Iterable[Row], *, label: str | None = None) -> list[Explanation]:
        """For each row its parts in reading order, and how much each moved the margin of `label`, by default of the
        most probable one (see `limbeck.runtime.explain.explanation`). It takes far longer than a prediction."""
        chunks = chunks_of(rows, pair=self.facts.pair)
        return [explanation(self, row, label=label) for chunk in chunks for row in chunk]

    def _logits(self, rows: list[Row]) -> Logits:
        try:
            return self._network.logits(rows)
        except BaseException as error:
            raise _damaged(self._folder, error) from error


def _usable_cpus() -> int:
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
