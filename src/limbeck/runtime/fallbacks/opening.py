"""Opens what `fallback` names, a folder or an address, and refuses what cannot take the student's place."""

import os
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, assert_never, get_args
from urllib.parse import quote

import numpy as np

from limbeck.artifacts.model_folder import ModelFacts, ModelFolder
from limbeck.errors import ArtifactMissing, NeedsClasses, some
from limbeck.runtime.cascade import Cascade, CascadeClassifier
from limbeck.runtime.classifier import Classifier, load, local_folder
from limbeck.runtime.engine import EngineChoice
from limbeck.runtime.fallbacks.answers import WantedAnswer
from limbeck.runtime.fallbacks.connections import RefusedByServer, Server, checked_url
from limbeck.runtime.fallbacks.detection import FormatName, detected, models_of, without_ending
from limbeck.runtime.fallbacks.fallback import (
    Fallback,
    FallbackFailed,
    FallbackOptionsWrong,
    FallbackUnusable,
    refuse_other_labels,
)
from limbeck.runtime.fallbacks.formats import (
    AnswerFormat,
    HuggingFaceFormat,
    LimbeckFormat,
    TeiFormat,
    VllmFormat,
)
from limbeck.runtime.fallbacks.kserve import KserveFormat
from limbeck.runtime.fallbacks.openai_chat import INSTRUCTION, OpenAiFormat
from limbeck.runtime.probabilities import Floats
from limbeck.runtime.row import Row
from limbeck.runtime.thresholds import refuse_numbers, threshold_of

SECONDS = 10.0  # for an answer of a server
OTHER_MODEL = "Give a model that was trained for the same task."
NO_SUCH_MODEL = 404
NAME_ONE = "Name it with --fallback-model."
NO_ANSWER = (
    f"{OTHER_MODEL} If its server only needs longer, give it more seconds with --fallback-timeout; with "
    "--fallback-format it is not asked before it is needed."
)


@dataclass(frozen=True)
class FallbackOptions:
    """How a fallback is asked; None, or "auto", where that is found out, or has a default."""

    format: FormatName | Literal["auto"] | None = None
    model: str | None = None  # the name of the model that a server is to use
    timeout: float | None = None  # seconds; a server has 10, a folder as long as it likes
    key_from: str | None = None  # the name of an environment variable; the key itself is in no option
    instruction: str | None = None  # for a language model, in front of the choices


def cascade_of(
    student: str | Path,
    fallback: str | Path,
    *,
    share: float | None = None,
    threshold: float | None = None,
    options: FallbackOptions | None = None,
    abstain: bool = True,
    threads: int | None = None,
    engine: EngineChoice = "auto",
) -> CascadeClassifier:
    """What `limbeck.load` gives for a student with a fallback."""
    refuse_numbers(share=share, threshold=threshold)
    student = local_folder(student)
    classifier = load(student, abstain=abstain, threads=threads, engine=engine)
    refuse_scores(classifier.facts)
    found = threshold_of(ModelFolder(Path(student)), share=share, threshold=threshold)
    behind = open_fallback(fallback, classifier.facts, options=options, threads=threads, engine=engine)
    return CascadeClassifier(Cascade(classifier, behind, threshold=found))


def refuse_scores(student: ModelFacts) -> None:
    """Raise NeedsClasses: a cascade asks where the student is not confident, and a score has no confidence."""
    if not student.task.has_classes:
        raise NeedsClasses(what="a cascade", name=student.name, advice="Leave the fallback out.")


class LocalFallback:
    """A model of this machine."""

    def __init__(self, classifier: Classifier, *, name: str, labels: Sequence[str], slow_seconds: float | None) -> None:
        """`labels` are the student's, in its order."""
        self.name, self.slow_seconds, self._classifier = name, slow_seconds, classifier
        self.rows_at_once: int | None = None
        self._places = [classifier.labels.index(label) for label in labels]

    def predict_proba(self, rows: list[Row]) -> Floats:
        """(rows, classes)"""
        return np.asarray(self._classifier.predict_proba(rows)[:, self._places])

    def portable(self) -> "LocalFallback":
        """The same, whose pickle holds the files of the model."""
        found = copy(self)
        found._classifier = self._classifier.portable()
        return found

    def close(self) -> None:
        """Nothing: nobody waits for another process here."""


class ServerFallback:
    """A model behind a server, asked for some rows at a time."""

    def __init__(self, format: AnswerFormat, *, name: str, made_from: tuple[str, ModelFacts, FallbackOptions]) -> None:
        """`made_from`: the address, the student, and options that leave no question open."""
        self.name, self.format, self._made_from = name, format, made_from
        self.slow_seconds: float | None = None  # what takes too long is a failure already
        self.rows_at_once: int | None = format.rows_at_once

    def __reduce__(self) -> tuple[Any, ...]:
        """Opened again without a question; the key is in no pickle, each process reads its environment variable."""
        return _server, self._made_from

    def portable(self) -> "ServerFallback":
        """Itself: an address is one everywhere."""
        return self

    def predict_proba(self, rows: list[Row]) -> Floats:
        """(rows, classes). Raises FallbackFailed at the first question that fails; all have one time-out together."""
        size, deadline = self.format.rows_at_once, self.format.server.deadline()
        questions = (rows[at : at + size] for at in range(0, len(rows), size))
        return np.concatenate([self.format.ask(asked, deadline=deadline) for asked in questions])

    def close(self) -> None:
        """Ask nothing more; whoever waits for an answer gets FallbackFailed."""
        self.format.server.close()


def is_address(where: str | Path) -> bool:
    """Whether a fallback is a server, not a folder."""
    return isinstance(where, str) and where.startswith(("http://", "https://"))


def open_fallback(
    where: str | Path,
    student: ModelFacts,
    *,
    options: FallbackOptions | None = None,
    threads: int | None = None,
    engine: EngineChoice = "auto",
) -> Fallback:
    """The fallback for a student: a folder of an exported model, or the address of a server.

    A server is asked which format it speaks, and for one row, unless the options name a format: then nothing is asked
    before it is needed. Raises FallbackUnusable if it has other labels or reads other rows, and what `load` raises.
    """
    options = options or FallbackOptions()
    _refuse_options(options)
    refuse_scores(student)
    if is_address(where):
        return _server(str(where), student, options)
    return _local(local_folder(where), student, options, threads=threads, engine=engine)


def _refuse_options(options: FallbackOptions) -> None:
    if options.timeout is not None and not 0 < options.timeout < float("inf"):
        what = f"--fallback-timeout must be a number of seconds above 0, not {options.timeout}"
        raise FallbackOptionsWrong(what, advice=f"Omit it for the default of a server, {SECONDS:g}.")
    formats = ("auto", *get_args(FormatName))
    if options.format is not None and options.format not in formats:
        what = f"--fallback-format: there is no format {options.format!r:.40}"
        raise FallbackOptionsWrong(what, advice=f"Give one of {', '.join(formats)}.")


def _local(
    folder: Path, student: ModelFacts, options: FallbackOptions, *, threads: int | None, engine: EngineChoice
) -> LocalFallback:
    try:
        classifier = load(folder, threads=threads, engine=engine)
    except ArtifactMissing as error:
        advice = (
            "Give the folder of an exported model, or the http address of a server. A run keeps its teacher as such a "
            'folder, models/teacher-int8, if its recipe has teacher = "int8" in [export].'
        )
        raise FallbackUnusable(name=str(folder), reason=f"it is not a model: {error.reason}", advice=advice) from None
    facts = classifier.facts
    _refuse_other_rows(facts.pair, facts.multi_label, student=student, name=str(folder))
    refuse_other_labels(facts.labels, wanted=student.labels, name=str(folder))
    return LocalFallback(classifier, name=str(folder), labels=student.labels, slow_seconds=options.timeout)


def _refuse_other_rows(pair: object, multi_label: object, *, student: ModelFacts, name: str) -> None:
    if bool(pair) != student.pair:
        reads = "one text per row, the student two" if student.pair else "two texts per row, the student one"
        raise FallbackUnusable(name=name, reason=f"it reads {reads}", advice=OTHER_MODEL)
    if bool(multi_label) != student.multi_label:
        gives = "one label per row, the student several" if student.multi_label else "several labels, the student one"
        raise FallbackUnusable(name=name, reason=f"it gives {gives}", advice=OTHER_MODEL)


def _server(url: str, student: ModelFacts, options: FallbackOptions) -> ServerFallback:
    checked_url(url)
    base, named = without_ending(url)
    server = Server(base, timeout=options.timeout or SECONDS, key=_key(options.key_from))
    said = named if options.format is None or options.format == "auto" else options.format
    wanted = WantedAnswer(tuple(student.labels), student.pair, student.multi_label, server.url)
    format = said or detected(server)
    if said is None and format == "limbeck":
        _refuse_other_server(server, student, options.model)
    spoken = _format(format, server, wanted, options)
    known = replace(options, format=format, model=getattr(spoken, "model", None))
    fallback = ServerFallback(spoken, name=server.url, made_from=(url, student, known))
    if said is None:
        _refuse_unless_it_answers(fallback, format, pair=student.pair)
    return fallback


def _refuse_other_server(server: Server, student: ModelFacts, model: str | None) -> None:
    """By what a server of Limbeck says of its model."""
    answered = _about(server, model)
    about = answered if isinstance(answered, dict) else {}
    labels = about["labels"] if isinstance(about.get("labels"), list) else []
    _refuse_other_rows(about.get("pair"), about.get("multi_label"), student=student, name=server.url)
    refuse_other_labels([label for label in labels if isinstance(label, str)], wanted=student.labels, name=server.url)


def _about(server: Server, model: str | None) -> Any:
    """What a server of Limbeck says of the model of this name, or of its default."""
    try:
        return server.get("/model" if model is None else f"/models/{quote(model, safe='')}")
    except FallbackFailed as error:
        reason, advice = f"it does not say what its model is: {error.reason}", NO_ANSWER
        if model is not None and isinstance(error, RefusedByServer) and error.status == NO_SUCH_MODEL:
            reason, advice = f"it has no model '{model[:80]}'{_those_of(_listed(server))}", NAME_ONE
        raise FallbackUnusable(name=server.url, reason=reason, advice=advice) from error


def _refuse_unless_it_answers(fallback: ServerFallback, format: FormatName, *, pair: bool) -> None:
    try:
        fallback.predict_proba([("a", "a")] if pair else ["a"])
    except FallbackFailed as error:
        reason = f"it was asked for one row, in the format {format}: {error.reason}"
        raise FallbackUnusable(name=fallback.name, reason=reason, advice=NO_ANSWER) from error


def _format(name: FormatName, server: Server, wanted: WantedAnswer, options: FallbackOptions) -> AnswerFormat:
    match name:
        case "limbeck":
            return LimbeckFormat(server, wanted, options.model)
        case "tei":
            return TeiFormat(server, wanted)
        case "hf":
            return HuggingFaceFormat(server, wanted)
        case "vllm":
            if wanted.pair:
                raise FallbackUnusable(name=server.url, reason="this format has no pairs of texts", advice=OTHER_MODEL)
            return VllmFormat(server, wanted, options.model)
        case "kserve":
            return KserveFormat(server, wanted, _named_model(options.model, [], server))
        case "openai":
            model = _named_model(options.model, [] if options.model else _listed(server), server)
            instruction = options.instruction or INSTRUCTION
            return OpenAiFormat(server, wanted, model, instruction=instruction)
        case _:
            assert_never(name)


def _listed(server: Server) -> list[str]:
    try:
        return models_of(server)
    except FallbackFailed:
        return []


def _named_model(asked: str | None, listed: Sequence[str], server: Server) -> str:
    """The model that is asked for, or the only one that there is."""
    if asked or len(listed) == 1:
        return asked or listed[0]
    reason = f"the name of a model is needed{_those_of(listed)}"
    raise FallbackUnusable(name=server.url, reason=reason, advice=NAME_ONE)


def _those_of(listed: Sequence[str]) -> str:
    return f"; it has {some([name[:80] for name in listed])}" if listed else ""


def _key(variable: str | None) -> str | None:
    """The key in an environment variable; it is in no message."""
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key or not all(32 < ord(character) < 127 for character in key):
        state = "has characters that no key has" if key else "is not set"
        advice = "Give the name of a variable that holds the key, not the key itself."
        raise FallbackUnusable(name=variable[:40], reason=f"this environment variable {state}", advice=advice)
    return key
