"""The models of one server: by name, one of them the default, and replaced as a whole when their folders change."""

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.manifest import read_manifest
from limbeck.artifacts.model_folder import README, ModelFacts, ModelFolder, open_model
from limbeck.artifacts.model_profile import ModelProfile
from limbeck.errors import ServingError, did_you_mean, some
from limbeck.runtime.cascade import Cascade
from limbeck.runtime.classifier import Classifier, load
from limbeck.runtime.engine import EngineChoice
from limbeck.runtime.explain import prepare_explanations
from limbeck.runtime.fallbacks.opening import FallbackOptions, open_fallback, refuse_scores
from limbeck.runtime.row import Row
from limbeck.runtime.thresholds import threshold_of
from limbeck.runtime.unknown_words import WordCounter, word_counter
from limbeck.serving.wire.questions import AskedModel
from limbeck.serving.wire.refusals import Refused

FIRST_PAUSE, LONGEST_PAUSE = 5.0, 60.0  # seconds, until a folder that could not be loaded is tried again
DIGITS_OF_VERSION = 12
LONGEST_NAME = 100  # it is part of an address
NAME = re.compile(rf"[\w.+-]{{1,{LONGEST_NAME}}}")
NO_NAME = re.compile(r"[^\w.+-]+")


class ModelNameTaken(ServingError):
    """Two folders hold models of the same name."""

    def __init__(self, *, name: str, folders: Sequence[Path]) -> None:
        self.name = name
        super().__init__(
            f"two models have the name '{name}'",
            found=some([f"'{folder}'" for folder in folders]),
            advice="Give each a name of its own: `limbeck serve one=FOLDER two=FOLDER`.",
        )


class ModelNameUnusable(ServingError):
    """A name that cannot be part of an address."""

    def __init__(self, *, name: str) -> None:
        self.name = name
        super().__init__(
            f"'{name}' cannot be the name of a model in an address",
            advice="Give it one of letters, digits and . _ + -: `limbeck serve NAME=FOLDER`.",
        )


class Served(Protocol):
    """What a server needs of a classifier."""

    @property
    def facts(self) -> ModelFacts: ...
    @property
    def folder(self) -> Path: ...
    @property
    def engine(self) -> str: ...
    def logits(self, rows: Iterable[Row]) -> npt.NDArray[np.float32]: ...


@dataclass(frozen=True)
class ModelSource:
    """Where a model of the server comes from."""

    folder: Path
    name: str | None = None  # default: the one in its model.json

    @classmethod
    def named(cls, argument: str) -> "ModelSource":
        """`FOLDER`, or `NAME=FOLDER`; a folder that exists is never taken apart."""
        name, equals, folder = argument.partition("=")
        if not equals or Path(argument).exists() or not NAME.fullmatch(name):
            return cls(Path(argument))
        return cls(Path(folder), name)


@dataclass(frozen=True)
class ServedModel:
    """One model, ready to answer."""

    name: str
    classifier: Served
    size_mb: float
    profile: ModelProfile | None = None
    cascade: Cascade | None = None
    words: WordCounter | None = None  # None: the model knows no words
    version: str = ""  # the beginning of the hash of its files
    asked: AskedModel = field(init=False)

    def __post_init__(self) -> None:
        facts = self.classifier.facts
        asked = AskedModel(
            name=self.name,
            labels=tuple(facts.labels),
            pair=facts.pair,
            multi_label=facts.multi_label,
            max_length=facts.max_length,
            version=self.version,
            abstains=facts.abstain is not None,
            scale=facts.scale,
        )
        object.__setattr__(self, "asked", asked)

    @property
    def facts(self) -> ModelFacts:
        """The content of its model.json."""
        return self.classifier.facts

    @property
    def merges(self) -> bool:
        """Whether rows of several requests may be computed together: only where no row's answer depends on others."""
        return self.classifier.engine.startswith("native")

    def compute(self, rows: list[Row]) -> Any:
        """(rows, classes): logits"""
        return self.classifier.logits(rows)


@dataclass(frozen=True)
class Behind:
    """What answers where a model is unsure: a folder or an address, and when."""

    where: str
    share: float | None = None
    threshold: float | None = None
    options: FallbackOptions = field(default_factory=FallbackOptions)

    def __call__(self, student: Classifier) -> Cascade:
        """The cascade of a model. Raises FallbackUnusable and ThresholdUnknown."""
        refuse_scores(student.facts)
        threshold = threshold_of(ModelFolder(student.folder), share=self.share, threshold=self.threshold)
        found = open_fallback(self.where, student.facts, options=self.options, threads=1)
        return Cascade(student, found, threshold=threshold)


class ServedModels:
    """The models by name. A set of models is replaced by one assignment, so no request sees half of it."""

    def __init__(self, models: Sequence[ServedModel]) -> None:
        """The first is the default. Raises ModelNameTaken or ModelNameUnusable."""
        self._models = _by_name(models)
        self._sources: Sequence[ModelSource] = ()
        self._engine: EngineChoice = "auto"
        self._fallback: Behind | None = None
        self._abstain = True
        self._stamps: list[object] = []
        self._failed: list[object] = []  # stamps of what could not be loaded
        self._pause, self._retry_at = FIRST_PAUSE, 0.0
        self.loaded_at = time.time()
        self.last_fault = ""

    @classmethod
    def open(
        cls,
        sources: Sequence[ModelSource],
        *,
        engine: EngineChoice = "auto",
        fallback: Behind | None = None,
        abstain: bool = True,
    ) -> "ServedModels":
        """The models in these folders. `fallback` adds to a model what answers where it is unsure. Without `abstain`
        every model always gives a label.

        Raises as `limbeck.load` does, ModelNameTaken and ModelNameUnusable.
        """
        stamps = [_stamp(source) for source in sources]
        found = cls([_opened(source, engine=engine, fallback=fallback, abstain=abstain) for source in sources])
        found._sources, found._engine, found._fallback, found._stamps = sources, engine, fallback, stamps
        found._abstain = abstain
        return found

    def __iter__(self) -> Iterator[ServedModel]:
        return iter(self._models.values())

    def __len__(self) -> int:
        return len(self._models)

    @property
    def default(self) -> ServedModel:
        """The first of them."""
        return next(iter(self._models.values()))

    def by_name(self, name: str | None) -> ServedModel:
        """The model of this name; None means the default. Raises Refused (404)."""
        if name is None:
            return self.default
        if (found := self._models.get(name)) is None:
            raise Refused(404, f"there is no model of that name here{did_you_mean(name, list(self._models))}")
        return found

    def choose(self, name: str | None) -> AskedModel:
        """What a format needs to know of the model of this name."""
        return self.by_name(name).asked

    def have_changed(self) -> bool:
        """Whether a folder holds another model than the one that was loaded; one that failed is tried again later."""
        stamps = [_stamp(source) for source in self._sources]
        return stamps != self._stamps and (stamps != self._failed or time.monotonic() >= self._retry_at)

    def reload(self) -> None:
        """Read all folders again. If one of them cannot be read, all models stay as they are, and it raises."""
        stamps = [_stamp(source) for source in self._sources]
        try:
            opened = [
                _opened(source, engine=self._engine, fallback=self._fallback, abstain=self._abstain)
                for source in self._sources
            ]
            models = _by_name(opened)
        except BaseException:
            self._failed, self._retry_at = stamps, time.monotonic() + self._pause
            self._pause = min(LONGEST_PAUSE, 2 * self._pause)
            raise
        self._models, self._stamps, self._pause, self.last_fault = models, stamps, FIRST_PAUSE, ""
        self.loaded_at = time.time()


def _opened(source: ModelSource, *, engine: EngineChoice, fallback: Behind | None, abstain: bool) -> ServedModel:
    classifier = load(source.folder, abstain=abstain, threads=1, engine=engine)
    prepare_explanations(classifier)  # now: the folder may be exchanged later
    folder = open_model(source.folder)
    return ServedModel(
        name=source.name or NO_NAME.sub("-", classifier.facts.name)[:LONGEST_NAME],
        classifier=classifier,
        size_mb=folder.size_mb(),
        profile=folder.profile(),
        cascade=fallback(classifier) if fallback else None,
        words=word_counter(folder, classifier.facts),
        version=read_manifest(source.folder, kind="model").fingerprint[:DIGITS_OF_VERSION],
    )


def _by_name(models: Sequence[ServedModel]) -> dict[str, ServedModel]:
    found: dict[str, ServedModel] = {}
    for model in models:
        if not NAME.fullmatch(model.name):
            raise ModelNameUnusable(name=model.name)
        if model.name in found:
            raise ModelNameTaken(name=model.name, folders=[])
        found[model.name] = model
    return found


def _stamp(source: ModelSource) -> object:
    """Changes when another model is put in place of this one, or a file of it is written."""
    try:
        files = sorted(path for path in source.folder.rglob("*") if path.name != README)
        about = [path.stat() for path in files]
    except OSError:
        return None
    return [(one.st_ino, one.st_mtime_ns, one.st_size) for one in about]


def reloaded(models: ServedModels) -> str:
    """What came of an attempt to load all models again, for the log; empty for a fault that was reported already."""
    before = {model.name: model.facts.labels for model in models}
    try:
        models.reload()
    except Exception as error:  # whatever is wrong with the new ones, the old ones go on
        fault = f"The models stay as they were, for one cannot be loaded: {error}"
        is_known, models.last_fault = fault == models.last_fault, fault
        return "" if is_known else fault
    after = {model.name: model.facts.labels for model in models}
    return f"Loaded again: {some(list(after))}.{_changed(before, after)}"


def _changed(before: Mapping[str, list[str]], after: Mapping[str, list[str]]) -> str:
    """What clients may stumble over, as sentences."""
    gone = [name for name in before if name not in after]
    other = [name for name, labels in after.items() if before.get(name, labels) != labels]
    said = [f" {some(gone)} is no longer a name of a model: NAME=FOLDER keeps it."] if gone else []
    return "".join([*said, f" {some(other)} has other labels than before." if other else ""])
