"""Several teachers as one: who they are, and how much the word of each counts."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import assert_never

import numpy as np

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key, fingerprint_of
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_folder import TeacherFacts, TeacherFolder, save_teacher_facts
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.errors import MemberUnjudged
from limbeck.recipe.decisions import decides_nothing, fields_marked
from limbeck.recipe.teacher import AnyMember, EncoderTeacher, EnsembleTeacher, FileTeacher, StudentTeacher
from limbeck.teacher.student_source import find_student
from limbeck.training.skill import judged, skill


def member_names(members: Sequence[AnyMember]) -> dict[str, AnyMember]:
    """A name for each, fit for a folder: its checkpoint's or file's, or a student's with its run's in front.

    Members of the same name are told apart by their settings, not by their place: leaving one out must not make the
    others change folders and be trained again. The same member twice gets a number.
    """
    plain = [_plain_name(member) for member in members]
    named: dict[str, AnyMember] = {}
    for member, name in zip(members, plain, strict=True):
        if plain.count(name) > 1:
            decisive = member.model_dump_json(exclude=set(fields_marked(type(member), decides_nothing())))
            name = f"{name}-{fingerprint_of(decisive)[:6]}"
        number = 1
        while (f"{name}-{number}" if number > 1 else name) in named:
            number += 1
        named[f"{name}-{number}" if number > 1 else name] = member
    return named


def _plain_name(member: AnyMember) -> str:
    """Letters, digits and . _ - alone; never "." or "..", nor hidden: the folder of a run is not left."""
    match member:
        case EncoderTeacher():
            own = Path(member.checkpoint).name
        case FileTeacher():
            own = member.name or Path(member.path).stem
        case StudentTeacher():
            own = find_student(member.path).name
        case _:
            assert_never(member)
    return re.sub(r"^\.+$|^\.|^$|[^\w.-]", lambda found: "_" * max(len(found[0]), 1), own)


def join_teachers(
    section: EnsembleTeacher, *, members: Mapping[str, TeacherFolder], corpus: Corpus, out: Path, key: Key
) -> TeacherFolder:
    """Write down who is in it and with what weight; its answers are combined where labels are made."""
    parameters = [member.facts.parameters for member in members.values()]
    beside_words = [member.facts.parameters_without_embeddings for member in members.values()]
    facts = TeacherFacts(
        name=_together(members.values()),
        kind="ensemble",
        labels=corpus.labels,
        multi_label=corpus.is_multi_label,
        dev_accuracy=None,
        parameters=_sum(parameters),
        parameters_without_embeddings=_sum(beside_words),
        members={name: member.fingerprint for name, member in members.items()},
        weights=_weights(section, members),
        combine="mean_logits" if section.combine == "mean_logits" else "mean_probabilities",
    )
    with written_atomically(out, kind="teacher", key=key) as scratch:
        save_teacher_facts(scratch, facts)
    return TeacherFolder(out)


def _together(members: Iterable[TeacherFolder]) -> str:
    """Their own names, those of one name counted: "3 × bert-base-uncased + llm"."""
    counts = Counter(member.facts.name for member in members)
    return " + ".join(name if count == 1 else f"{count} × {name}" for name, count in counts.items())


def guessing_of_labels(facts: TeacherFacts, *, labels: TeacherLabels, rows: Rows) -> TeacherFacts:
    """The facts with how well the members do together on dev, which is known once they have been asked."""
    rows = rows.select(np.flatnonzero(rows.is_labelled & labels.covers(rows.ids)))
    if not len(rows):
        return facts
    logits = labels.for_rows(rows.ids)
    accuracy = judged(logits, rows.labels)["dev_accuracy"]
    return replace(facts, dev_accuracy=accuracy, dev_skill=skill(logits, rows.labels), dev_rows=len(rows))


def _weights(section: EnsembleTeacher, members: Mapping[str, TeacherFolder]) -> list[float]:
    """The same for all, or by accuracy on dev; they sum to one."""
    if section.combine != "weighted":
        return [1 / len(members)] * len(members)
    accuracies = []
    for name, member in members.items():
        if not member.facts.dev_rows or not member.facts.dev_accuracy:
            raise MemberUnjudged(name=name)
        accuracies.append(member.facts.dev_accuracy)
    return [accuracy / sum(accuracies) for accuracy in accuracies]


def _sum(numbers: Sequence[int | None]) -> int | None:
    """None where one of them is not known: a file has no size."""
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None
