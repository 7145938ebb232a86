"""A language model behind an address as the teacher: described, asked about dev, judged there."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import DIGEST_BYTES
from limbeck.artifacts.rows import Rows, draw_order
from limbeck.artifacts.score_scale import ScoreScale
from limbeck.artifacts.teacher_folder import (
    QUALITY,
    TeacherFacts,
    TeacherFolder,
    fingerprint_of_teacher,
    save_teacher_facts,
)
from limbeck.errors import TeacherError
from limbeck.recipe.endpoint import INSTRUCTION, EndpointTeacher
from limbeck.teacher.endpoints.asking import EndpointAnswers
from limbeck.teacher.endpoints.levels import levels_of, nearest, symbols_of
from limbeck.teacher.endpoints.quality import measured
from limbeck.teacher.endpoints.questions import LETTERS, Questions
from limbeck.teacher.preparation import Logits, Preparation, dev_facts, labelled
from limbeck.training.temperature import fitted_temperature

ENDPOINT = "endpoint.json"  # everything its answers depend on: another file is another teacher in the label store
SETTINGS = "settings.json"  # how it is asked; its answers do not depend on that
VERSION = 1  # of questions and readings: raise it when they change
LONGEST_NUMBERED = 1000
FEWEST_FOR_LINE = 30  # labelled rows of dev to fit a line to
RATE = "Rate the text."  # instead of the default instruction, which is about classes


class ExampleUnusable(TeacherError):
    """The examples of the recipe do not fit the corpus."""


class LabelSpace(Protocol):
    """What a question depends on: a corpus, or what is known of one that does not exist yet."""

    @property
    def labels(self) -> list[str]: ...
    @property
    def is_multi_label(self) -> bool: ...
    @property
    def is_pair(self) -> bool: ...
    @property
    def scale(self) -> ScoreScale | None: ...
    @property
    def splits(self) -> Mapping[str, Rows]: ...


def prepare_endpoint(section: EndpointTeacher, given: Preparation) -> TeacherFolder:
    """Write its description, and evaluate it on dev; its answers on dev are stored like all its answers."""
    corpus, described = given.corpus, described_for(section, given.corpus)
    with written_atomically(given.out, kind="teacher", key=given.key) as scratch:
        (scratch / ENDPOINT).write_bytes(_as_bytes(described))
        (scratch / SETTINGS).write_text(section.model_dump_json(indent=1), encoding="utf-8")
        facts, dev = facts_of(section, corpus), labelled(corpus.splits["dev"])
        answering = EndpointAnswers(section, Questions(described))
        if len(dev):
            print_ = fingerprint_for(section, corpus)
            logits = given.ask(answering, name=facts.name, fingerprint=print_, rows=dev)
            is_answered = ~np.isnan(logits).any(axis=1)
            logits, dev = logits[is_answered], dev.select(np.flatnonzero(is_answered))
            facts = replace(facts, **_fitted(logits, dev, scale=corpus.scale, to_dev=section.calibration == "dev"))
            facts = replace(facts, **dev_facts((logits - (facts.shift or 0)) / (facts.temperature or 1), dev))
            if len(dev) and corpus.scale is None:
                quality = measured(logits, dev, Questions(described), temperature=facts.temperature or 1.0)
                (scratch / QUALITY).write_text(json.dumps(quality, indent=1, ensure_ascii=False), encoding="utf-8")
        save_teacher_facts(scratch, facts)
    good = facts.on_dev() if facts.dev_rows else "not evaluated: no dev row has label and answer"
    is_tempered = corpus.scale is None and facts.temperature not in (None, 1.0)
    tempered = f"; its logits are divided by {facts.temperature:.2f}" if is_tempered else ""
    given.reporter.note(f"  teacher {facts.name} ({section.model}): {good}{tempered}")
    return TeacherFolder(given.out)


def _fitted(logits: Logits, dev: Rows, *, scale: ScoreScale | None, to_dev: bool) -> dict[str, Any]:
    """What its answers are divided by when they are used, fitted to dev; of scores, which are in their own units in the
    store, also what is subtracted before: with few rows their mean and standard deviation, else by a line."""
    if scale is None:
        return {"temperature": fitted_temperature(logits, dev.labels) if to_dev and len(dev) else 1.0}
    if to_dev and len(dev) >= FEWEST_FOR_LINE and float(logits.std()) > 0:
        slope, start = np.polyfit(logits[:, 0].astype(np.float64), dev.labels, 1)
        if slope > 0:
            return {"temperature": float(1 / slope), "shift": float(-start / slope)}
    return {"temperature": scale.sd, "shift": scale.mean}


def open_endpoint(teacher: TeacherFolder) -> EndpointAnswers:
    """A prepared teacher, opened: nothing is sent before it is asked."""
    settings = (teacher.folder / SETTINGS).read_text(encoding="utf-8")
    return EndpointAnswers(EndpointTeacher.model_validate_json(settings), questions_of(teacher))


def questions_of(teacher: TeacherFolder) -> Questions:
    """What a prepared teacher is asked."""
    return Questions(json.loads((teacher.folder / ENDPOINT).read_text(encoding="utf-8")))


def facts_of(section: EndpointTeacher, corpus: LabelSpace) -> TeacherFacts:
    """Its facts before it is evaluated."""
    return TeacherFacts(
        name=section.shown_name,
        kind="endpoint",
        labels=corpus.labels,
        multi_label=corpus.is_multi_label,
        dev_accuracy=None,
        scale=None if corpus.scale is None else corpus.scale.as_json(),
        temperature=None if corpus.scale is None else corpus.scale.sd,
        shift=None if corpus.scale is None else corpus.scale.mean,
    )


def fingerprint_for(section: EndpointTeacher, corpus: LabelSpace) -> str:
    """The name of its folder in the label store: of model, question and settings, not of the address."""
    digest = blake2b(_as_bytes(described_for(section, corpus)), digest_size=DIGEST_BYTES).hexdigest()
    return fingerprint_of_teacher({ENDPOINT: digest}, facts_of(section, corpus))


def described_for(section: EndpointTeacher, corpus: LabelSpace) -> dict[str, Any]:
    """Everything that its answers depend on, for these classes. Raises ExampleUnusable."""
    keys = (
        "model",
        "instruction",
        "answers",
        "samples",
        "sampling_temperature",
        "order",
        "structured_output",
        "max_characters",
        "options",
    )
    _refuse_classes(section, corpus)
    levels = [] if corpus.scale is None else levels_of(corpus.scale)
    names = list(symbols_of(levels)) if levels else corpus.labels
    given = {key: getattr(section, key) for key in keys}
    if levels and section.instruction == INSTRUCTION:
        given["instruction"] = RATE
    return {
        "version": VERSION,
        **given,
        "least_probability": section.least_probability,
        "descriptions": _known_descriptions(section.descriptions, names),
        "labels": names,
        "multi_label": corpus.is_multi_label,
        "examples": _scored(section, corpus, levels) if levels else _examples(section, corpus),
        **({"levels": levels} if levels else {}),
    }


def _as_bytes(described: Mapping[str, Any]) -> bytes:
    return json.dumps(described, indent=1, ensure_ascii=False).encode()


def _refuse_classes(section: EndpointTeacher, corpus: LabelSpace) -> None:
    """One token has at most as many classes as there are letters; JSON and votes take numbers."""
    most = LONGEST_NUMBERED if section.answers in ("votes", "confidence") else len(LETTERS)
    if len(corpus.labels) > most:
        what = f"{len(corpus.labels)} classes are too many for answers of one token: there are {most} letters"
        raise TeacherError(what, advice='Set answers = "votes" in [teacher]: then classes have numbers.')


def _known_descriptions(descriptions: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    if unknown := [name for name in descriptions if name not in names]:
        advice = f"The classes are: {', '.join(names[:20])}."
        raise ExampleUnusable(f"teacher.descriptions has '{unknown[0]}', which is not a class", advice=advice)
    return dict(descriptions)


def _examples(section: EndpointTeacher, corpus: LabelSpace) -> list[dict[str, Any]]:
    given = [example.model_dump(mode="json") for example in section.examples]
    for number, example in enumerate(given):
        unknown = [name for name in example["labels"] if name not in corpus.labels]
        is_one = corpus.is_multi_label or len(example["labels"]) == 1
        if unknown or not is_one or (example["pair"] is not None) != corpus.is_pair:
            needs = "classes of the corpus" if corpus.is_multi_label else "one class of the corpus"
            what = f"teacher.examples.{number} does not fit the corpus"
            advice = f"It needs {needs} in labels, and a pair only where rows are pairs."
            raise ExampleUnusable(what, found=f"labels: {example['labels']}", advice=advice)
    return [*given, *_drawn(labelled(corpus.splits["train"]), section.examples_from_train, corpus)]


def _scored(section: EndpointTeacher, corpus: LabelSpace, levels: Sequence[float]) -> list[dict[str, Any]]:
    """Examples with scores, as the digits that the model should answer: given ones, and rows of train from low to high
    scores."""
    symbols, found = symbols_of(levels), []
    for number, example in enumerate(section.examples):
        try:
            (score,) = map(float, example.labels)
        except ValueError:
            what = f"teacher.examples.{number} does not fit the corpus"
            raise ExampleUnusable(
                what, found=f"labels: {example.labels}", advice="It needs a score in labels."
            ) from None
        found.append({**example.model_dump(mode="json"), "labels": [symbols[nearest(score, levels)]]})
    train, scale = labelled(corpus.splits["train"]), corpus.scale
    if not section.examples_from_train or not len(train) or scale is None:
        return found
    order = np.array(sorted(range(len(train)), key=lambda at: (train.labels[at], draw_order(0, train.ids[at]))))
    for at in order[np.linspace(0, len(order) - 1, num=section.examples_from_train, dtype=np.int64)]:
        texts, pairs = train.texts_at(np.array([at]))
        level = symbols[nearest(float(scale.scores(train.labels[at])), levels)]
        found.append({"text": texts[0], "pair": pairs[0] if pairs else None, "labels": [level]})
    return found


def _drawn(train: Rows, count: int, corpus: LabelSpace) -> list[dict[str, Any]]:
    """So many rows of train, in turn of each class, always the same ones."""
    order = sorted(range(len(train)), key=lambda at: draw_order(0, train.ids[at]))
    by_class: dict[Any, list[int]] = {}
    for at in order:
        label = train.labels[at]
        by_class.setdefault(tuple(label.tolist()) if corpus.is_multi_label else int(label), []).append(at)
    turns = [rows[turn] for turn in range(count) for _, rows in sorted(by_class.items()) if turn < len(rows)]
    return [_example(train, at, corpus) for at in turns[:count]]


def _example(train: Rows, at: int, corpus: LabelSpace) -> dict[str, Any]:
    texts, pairs = train.texts_at(np.array([at]))
    label = train.labels[at]
    labels = [name for name, yes in zip(corpus.labels, label, strict=True) if yes] if corpus.is_multi_label else None
    return {"text": texts[0], "pair": pairs[0] if pairs else None, "labels": labels or _one(corpus, label)}


def _one(corpus: LabelSpace, label: Any) -> list[str]:
    return [] if corpus.is_multi_label else [corpus.labels[int(label)]]
