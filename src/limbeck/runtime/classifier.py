"""An exported model in memory: texts in, labels and probabilities, or scores, out."""

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, overload

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.model_folder import ModelFacts, ModelFolder, open_model
from limbeck.errors import ArtifactDamaged, LimbeckError, NeedsClasses, some
from limbeck.runtime.abstaining import Scored, decided, scored
from limbeck.runtime.batches import chunks_of
from limbeck.runtime.data_frames import GivenFrame, Table, frame_of
from limbeck.runtime.engine import EngineChoice, Logits, open_network
from limbeck.runtime.explain import Explanation, explanation
from limbeck.runtime.pickling import ModelFiles, from_files, from_folder
from limbeck.runtime.probabilities import Floats, best_labels, label_sets, probabilities_of
from limbeck.runtime.row import Row
from limbeck.tasks import SCORE
from limbeck.text.tokenizer_limits import TokenizerRefused

if TYPE_CHECKING:  # they are only loaded for a cascade
    from limbeck.runtime.cascade import CascadeClassifier
    from limbeck.runtime.fallbacks.detection import FormatName

MOST_SHOWN = 200  # characters of an error of a library


@overload
def load(
    folder: str | Path, *, abstain: bool = True, threads: int | None = None, engine: EngineChoice = "auto"
) -> "Classifier": ...
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
    abstain: bool = True,
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
    abstain: bool = True,
    threads: int | None = None,
    engine: EngineChoice = "auto",
) -> "Classifier | CascadeClassifier":
    """The model in this folder, its files checked against its manifest; `hf://user/model` is fetched from the hub.

    `threads` is how many rows or batches are computed at once. Default: one for each CPU that this process may use. A
    single row always uses one thread. `engine` is what runs the network: "native", for word-level students;
    "onnx", onnxruntime, for all models everywhere; "auto", the faster of the two that can run the model.

    A model that was exported with `[export.abstain]` gives no label where it is not sure enough: docs/abstaining.md.
    With `abstain` false it always gives one.

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
    FallbackUnusable, FallbackOptionsWrong and ThresholdUnknown; for an address HubModelUnusable.
    """
    if fallback is None and share is None and threshold is None:
        return _loaded(folder, abstain=abstain, threads=threads, engine=engine)
    from limbeck.runtime.fallbacks.fallback import FallbackMissing, options_in_python
    from limbeck.runtime.fallbacks.opening import FallbackOptions, cascade_of

    options = FallbackOptions(
        fallback_format, fallback_model, fallback_timeout, fallback_key_from, fallback_instruction
    )
    with options_in_python():
        if fallback is None:
            raise FallbackMissing(option="share" if threshold is None else "threshold")
        return cascade_of(
            folder,
            fallback,
            share=share,
            threshold=threshold,
            options=options,
            abstain=abstain,
            threads=threads,
            engine=engine,
        )


def local_folder(place: str | Path) -> Path:
    """The folder itself, or that of the cache for a model of the hub. Raises HubModelUnusable."""
    if not str(place).startswith("hf:/"):
        return Path(place)
    from limbeck.runtime.hub_model import fetched, hub_address

    return fetched(hub_address(place))


def _loaded(folder: str | Path, *, abstain: bool, threads: int | None, engine: EngineChoice) -> "Classifier":
    _refuse_arguments(threads=threads, engine=engine)
    model = open_model(local_folder(folder))
    found = Classifier(model, abstain=abstain, threads=threads, engine=engine)
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
    chunk, and run by the engine; results are in the order of the rows. For a column or a table of pandas, Polars or
    Arrow, `predict` and `predict_proba` give a column and a table of the same library; of pandas, with its index.

    A pickle holds the path of the folder, or with `portable()` the files of the model. Copies are the same object.
    """

    _carried: ModelFiles | None = None  # what a pickle holds in place of the path

    def __init__(
        self,
        model: ModelFolder,
        *,
        abstain: bool = True,
        threads: int | None = None,
        engine: EngineChoice = "auto",
    ) -> None:
        """Without the manifest check of `load`. Raises ArtifactDamaged, as do its methods."""
        _refuse_arguments(threads=threads, engine=engine)
        facts = model.facts()
        self.facts: ModelFacts = facts if abstain else replace(facts, abstain=None)
        self._folder, self._abstains, self._threads, self._choice = model.folder, abstain, threads, engine
        try:
            self._network = open_network(model, self.facts, choice=engine, threads=threads or _usable_cpus())
        except BaseException as error:
            raise _damaged(model.folder, error) from error

    def __repr__(self) -> str:
        return f"<limbeck.Classifier {described(self.facts)}, {self.engine}, '{self.folder}'>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._carried is not None:
            return from_files, (self._carried, self._threads, self._choice, self._abstains)
        return from_folder, (str(self._folder.resolve()), self._threads, self._choice, self._abstains)

    def __copy__(self) -> "Classifier":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Classifier":
        return self

    def portable(self) -> "Classifier":
        """The same model, whose pickle holds its files: for processes that do not see its folder.

        Its own files are a copy among the temporary ones, which is removed when it is not used any more.
        """
        if self._carried:
            return self
        return from_files(ModelFiles.of(self._folder), self._threads, self._choice, self._abstains)

    @property
    def labels(self) -> list[str]:
        """Class names, in the order of the columns of `predict_proba`."""
        return list(self.facts.labels)

    @property
    def classes_(self) -> npt.NDArray[np.str_]:
        """The same as an array, under the name that scikit-learn has for them."""
        return np.array(self.facts.labels)

    @property
    def folder(self) -> Path:
        """Where it was loaded from."""
        return self._folder

    @property
    def engine(self) -> str:
        """What runs the network: "onnxruntime", or "native" and the instruction set that it uses; for a blend, those of
        its members."""
        return self._network.name

    @overload
    def predict(self, rows: Iterable[Row]) -> list[str] | list[str | None] | list[list[str]] | list[float]: ...
    @overload
    def predict(self, rows: Table) -> Any: ...
    def predict(self, rows: Iterable[Row] | Table) -> Any:
        """The most probable label of each row; if `facts.multi_label` is set, a list of all labels with a probability
        of at least 0.5, in the order of the classes, possibly empty. A model that abstains gives None, or the answer
        that its recipe names, where it is not sure enough; a model of scores a number for each row."""
        if frame := self._frame(rows):
            found = self.predict(self._rows(frame))
            return frame.labels(found) if self.facts.scale is None else frame.labels(found, name=SCORE)
        if self.facts.scale:
            return self.scores(rows).tolist()
        labels, abstain = self.facts.labels, self.facts.abstain
        if self.facts.multi_label:
            return label_sets(self.predict_proba(rows), labels)
        if abstain is None:
            return best_labels(self.logits(rows), labels)
        places = decided(self.logits(rows), abstain, temperature=self.facts.temperature)
        return [abstain.answer if place < 0 else labels[place] for place in places]

    def scored(self, rows: Iterable[Row]) -> Scored | None:
        """How sure it is of each row, and where it gives no label; None for a model that always gives one."""
        return scored(self.logits(rows), self.facts)

    @overload
    def predict_proba(self, rows: Iterable[Row]) -> Floats: ...
    @overload
    def predict_proba(self, rows: Table) -> Any: ...
    def predict_proba(self, rows: Iterable[Row] | Table) -> Any:
        """(rows, classes): probabilities, at the temperature that was fitted on dev when the model was exported.

        Each row sums to one; multi-label: each probability is independent of the others. Raises NeedsClasses for a
        model of scores.
        """
        if self.facts.scale:
            advice = "Use predict, which gives the scores."
            raise NeedsClasses(what="predict_proba", name=self.facts.name, advice=advice)
        if frame := self._frame(rows):
            return frame.probabilities(self.predict_proba(self._rows(frame)), self.facts.labels)
        return probabilities_of(self.logits(rows) / self.facts.temperature, multi_label=self.facts.multi_label)

    def scores(self, rows: Iterable[Row] | Table) -> npt.NDArray[np.float64]:
        """(rows): the score of each row, in the units and, unless the model says otherwise, the range of its training.
        Raises TypeError for a model of classes."""
        if self.facts.scale is None:
            raise TypeError(f"{self.facts.name} gives labels, not scores")
        return self.facts.scale.scores(self.logits(rows)[:, 0])

    def logits(self, rows: Iterable[Row] | Table) -> Logits:
        """(rows, classes): the output of the network, before temperature and softmax or sigmoid. For a blend: the
        logits of its members, each divided by its own temperature, in a weighted sum. For scores: (rows, 1), in
        standard units."""
        blocks = [self._logits(chunk) for chunk in self._chunks(rows)]
        if not blocks:
            return np.zeros((0, len(self.facts.labels)), dtype=np.float32)
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)

    def explain(self, rows: Iterable[Row] | Table, *, label: str | None = None) -> list[Explanation]:
        """For each row its parts in reading order, and how much each moved the margin of `label`, by default of the
        most probable one (see `limbeck.runtime.explain.explanation`). It takes far longer than a prediction."""
        return [explanation(self, row, label=label) for chunk in self._chunks(rows) for row in chunk]

    def _frame(self, rows: object) -> GivenFrame | None:
        return None if type(rows) is list else frame_of(rows)  # for a single row, every microsecond counts

    def _rows(self, frame: GivenFrame) -> Iterable[Row]:
        return frame.rows(pair=self.facts.pair, folder=self._folder)

    def _chunks(self, rows: Any) -> Iterable[list[Row]]:
        frame = self._frame(rows)
        return chunks_of(self._rows(frame) if frame else rows, pair=self.facts.pair)

    def _logits(self, rows: list[Row]) -> Logits:
        try:
            return self._network.logits(rows)
        except BaseException as error:
            raise _damaged(self._folder, error) from error


def described(facts: ModelFacts) -> str:
    """What a model is, in a few words, for people."""
    labels = f"{len(facts.labels):,} labels ({some(facts.labels)})"
    reads = "pairs of texts" if facts.pair else "texts"
    return f"'{facts.name}' {facts.precision}: {reads}, {labels}{', several a row' if facts.multi_label else ''}"


def _usable_cpus() -> int:
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
