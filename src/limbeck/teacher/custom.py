"""A user's function as the teacher: built once, called with a limited number of texts, each answer checked."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import file_digest
from limbeck.artifacts.score_scale import ScoreScale
from limbeck.artifacts.teacher_folder import TeacherFacts, TeacherFolder, fingerprint_of_teacher, save_teacher_facts
from limbeck.errors import TeacherError, some
from limbeck.progress import Bar
from limbeck.recipe.calls import CallUnusable, files_of_call, refuse_arguments, reported, resolve_call
from limbeck.recipe.teacher import CustomTeacher
from limbeck.teacher.answer_values import are_probabilities, logits_of
from limbeck.teacher.preparation import BeforeRun, Logits, Preparation, ReadyTeacher, dev_facts, labelled, scale_fact

CUSTOM = "custom.json"  # everything its answers depend on: another file is another teacher in the label store
BUILT = "It is called once with labels, the class names, and with `options`, and returns a function of a list of texts."
FAILED = "Earlier answers are in the label store. Fix what failed, and run the same command again."

Answer = Callable[[list[Any]], Any]


class CustomTeacherUnusable(TeacherError):
    """A user's function as the teacher cannot be imported, fails, or returns something unusable."""

    def __init__(self, *, call: str, reason: str, advice: str = "") -> None:
        self.call, self.reason = call, reason
        advice = advice or "Python must find it: install its package, or put PYTHONPATH=. before the command."
        super().__init__(f"the teacher '{call}' cannot be used", found=reason, advice=advice)


class CustomAnswers:
    """The function, used like any other teacher: texts in order, a limited number per call."""

    def __init__(self, described: dict[str, Any], *, texts_per_call: int) -> None:
        self._call, self._labels = str(described["call"]), list(described["labels"])
        self._is_logits, self._least = described["answers"] == "logits", float(described["least_probability"])
        self._multi_label = bool(described["multi_label"])
        self._scale = ScoreScale.from_json(described["scale"]) if "scale" in described else None
        self._answer = _built(self._call, labels=self._labels, options=described["options"])
        self.texts_per_call = texts_per_call

    def logits(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None,
        *,
        tokens_per_batch: int | None = None,
        bar: Bar | None = None,
    ) -> Logits:
        """(rows, classes) in the order of the texts. Raises CustomTeacherUnusable."""
        del tokens_per_batch  # only the function knows its tokens
        rows: list[Any] = list(texts) if pairs is None else list(zip(texts, pairs, strict=True))
        found = np.zeros((len(rows), len(self._labels)), dtype=np.float32)
        for start in range(0, len(rows), self.texts_per_call):
            block = rows[start : start + self.texts_per_call]
            found[start : start + len(block)] = self._checked(self._asked(block), texts=len(block))
            if bar:
                bar.advance(len(block))
        return found

    def _asked(self, block: list[Any]) -> Any:
        try:
            return self._answer(block)
        except Exception as error:  # whatever the function uses: a model, a network connection, a file
            raise self._unusable(f"it failed: {reported(error)}", advice=FAILED) from error

    def _checked(self, answer: Any, *, texts: int) -> Logits:
        """The answer as logits. Raises unless it has a finite number for each text and each class."""
        wanted = (texts, len(self._labels))
        try:
            with np.errstate(over="ignore"):  # what does not fit into 32 bits becomes infinite, and is refused below
                values: Logits = np.asarray(answer, dtype=np.float32)
        except Exception as error:  # rows of different lengths, names of classes, a tensor on a GPU
            found = f"it returned {type(answer).__name__}, which is not an array of numbers: {_first_line(error)}"
            raise self._unusable(found, wanted=wanted) from error
        if self._scale and values.ndim == 1:
            values = values[:, np.newaxis]
        if values.shape != wanted:
            raise self._unusable(f"it returned an array of shape {values.shape} for {texts:,} texts", wanted=wanted)
        bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
        if len(bad):
            found = f"row {bad[0]} of {texts:,} is not finite: {_numbers(values[bad[0]])}"
            raise self._unusable(found, wanted=wanted)
        if self._scale:
            return self._scale.standard(values).astype(np.float32)
        if self._is_logits:
            return values
        bad = np.flatnonzero(~are_probabilities(values, multi_label=self._multi_label))
        if len(bad):
            row = values[bad[0]]
            why = "" if self._multi_label else f", whose sum is {row.sum():.4g}"
            found = f"row {bad[0]} of {texts:,} is not a row of probabilities: {_numbers(row)}{why}"
            raise self._unusable(found, wanted=wanted)
        return logits_of(values, least=self._least, multi_label=self._multi_label)

    def _unusable(
        self, reason: str, *, wanted: tuple[int, int] | None = None, advice: str = ""
    ) -> CustomTeacherUnusable:
        if wanted and self._scale:
            advice = f"Expected: an array of {wanted[0]:,} numbers, a score for each text in order, as in the corpus."
        elif wanted:
            kind = "logits" if self._is_logits else "probabilities, each from 0 to 1"
            kind += "" if self._is_logits or self._multi_label else ", with sum 1"
            other = "" if self._is_logits else ' If it returns logits, set answers = "logits".'
            advice = (
                f"Expected: an array of shape {wanted} of {kind}, a row for each text in order, a column for each "
                f"class in the order of `labels` ({some(self._labels, most=6)}).{other}"
            )
        return CustomTeacherUnusable(call=self._call, reason=reason, advice=advice)


def prepare_custom(section: CustomTeacher, given: Preparation) -> TeacherFolder:
    """Write its description, and evaluate it on dev; its answers on dev are stored like all its answers."""
    corpus, described = given.corpus, _described(section, given.corpus)
    with written_atomically(given.out, kind="teacher", key=given.key) as scratch:
        (scratch / CUSTOM).write_text(json.dumps(described, indent=1, ensure_ascii=False), encoding="utf-8")
        facts = TeacherFacts(
            name=section.name or section.function_name,
            kind="custom",
            labels=corpus.labels,
            multi_label=corpus.is_multi_label,
            scale=scale_fact(corpus),
            dev_accuracy=None,
            texts_per_call=section.texts_per_call,
        )
        dev = labelled(corpus.splits["dev"])
        answering = CustomAnswers(described, texts_per_call=section.texts_per_call)
        fingerprint = fingerprint_of_teacher({CUSTOM: file_digest(scratch / CUSTOM)}, facts)
        if len(dev):
            logits = given.ask(answering, name=facts.name, fingerprint=fingerprint, rows=dev)
            facts = replace(facts, **dev_facts(logits, dev))
        save_teacher_facts(scratch, facts)
    accuracy = facts.on_dev() if facts.dev_rows else "not evaluated: no dev row has a label"
    given.reporter.note(f"  teacher {facts.name} ({section.call}): {accuracy}")
    return TeacherFolder(given.out)


def open_custom(teacher: TeacherFolder) -> CustomAnswers:
    """The function of a prepared teacher, built again."""
    described = json.loads((teacher.folder / CUSTOM).read_text(encoding="utf-8"))
    return CustomAnswers(described, texts_per_call=teacher.facts.texts_per_call or 1)


def custom_inputs(section: CustomTeacher) -> dict[str, str]:
    """Digests of the function's source files. Raises CustomTeacherUnusable."""
    return {f"source {name}": digest for name, digest in _source(section.call).items()}


def custom_problems(section: CustomTeacher) -> list[str]:
    """Whether the function cannot be imported, or does not accept its options."""
    try:
        refuse_arguments(resolve_call(section.call), {"labels": [], **section.options})
    except CallUnusable as reason:
        return [f"call: '{section.call}' cannot be used: {_first_line_of(str(reason))}"]
    return []


def ready_custom(section: CustomTeacher, look: BeforeRun) -> ReadyTeacher:
    """The function, built for the classes of the corpus."""
    answering = CustomAnswers(_described(section, look.corpus), texts_per_call=section.texts_per_call)
    return ReadyTeacher(section.name or section.function_name, answering)


def _described(section: CustomTeacher, corpus: Corpus) -> dict[str, Any]:
    """Everything that its answers depend on."""
    return {
        "call": section.call,
        "options": section.options,
        "answers": section.answers,
        "least_probability": section.least_probability,
        "source": _source(section.call),
        "labels": corpus.labels,
        "multi_label": corpus.is_multi_label,
        **({} if corpus.scale is None else {"scale": corpus.scale.as_json()}),
    }


def _source(call: str) -> dict[str, str]:
    """Name and digest of the function's source files."""
    try:
        files: list[Path] = files_of_call(call)
    except CallUnusable as reason:
        raise CustomTeacherUnusable(call=call, reason=_first_line_of(str(reason))) from reason
    return {f"{file.name} {number}" if number else file.name: file_digest(file) for number, file in enumerate(files)}


def _built(call: str, *, labels: list[str], options: dict[str, Any]) -> Answer:
    try:
        build = resolve_call(call)
    except CallUnusable as reason:
        raise CustomTeacherUnusable(call=call, reason=_first_line_of(str(reason))) from reason
    try:
        answer = build(labels=list(labels), **options)
    except Exception as error:
        raise CustomTeacherUnusable(call=call, reason=f"it failed: {reported(error)}", advice=BUILT) from error
    if not callable(answer):
        found = f"it returned {type(answer).__name__}, which is not a function"
        raise CustomTeacherUnusable(call=call, reason=found, advice=BUILT)
    built: Answer = answer
    return built


def _first_line(error: Exception) -> str:
    return _first_line_of(f"{type(error).__name__}: {error}")


def _first_line_of(text: str) -> str:
    return text.splitlines()[0].strip()


def _numbers(row: Any) -> str:
    return some([f"{value:.4g}" for value in row], most=6)
