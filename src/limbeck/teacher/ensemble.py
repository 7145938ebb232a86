"""An ensemble of teachers: its members and their weights."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NoReturn

import numpy as np

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_folder import TeacherFacts, TeacherFolder, save_teacher_facts
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.errors import TeacherError
from limbeck.recipe.teacher import EnsembleTeacher
from limbeck.teacher.preparation import Preparation, dev_facts, scale_fact


class MemberUnjudged(TeacherError):
    """A member of an ensemble that is weighted by accuracy on dev, and has no accuracy there."""

    def __init__(self, *, name: str) -> None:
        super().__init__(
            f"cannot weight '{name}' by its accuracy on dev: it answers no dev row, or none correctly",
            advice='Complete its file with the dev rows, or combine the members with "mean_probabilities".',
        )


def join_teachers(section: EnsembleTeacher, given: Preparation) -> TeacherFolder:
    """Write its members and their weights; their answers are combined when rows are labelled."""
    corpus, members = given.corpus, given.members
    parameters = [member.facts.parameters for member in members.values()]
    without_embeddings = [member.facts.parameters_without_embeddings for member in members.values()]
    facts = TeacherFacts(
        name=_together(members.values()),
        kind="ensemble",
        labels=corpus.labels,
        multi_label=corpus.is_multi_label,
        scale=scale_fact(corpus),
        dev_accuracy=None,
        parameters=_sum(parameters),
        parameters_without_embeddings=_sum(without_embeddings),
        members={name: member.fingerprint for name, member in members.items()},
        weights=_weights(section, members),
        combine="mean_logits" if section.combine == "mean_logits" or corpus.scale else "mean_probabilities",
    )
    with written_atomically(given.out, kind="teacher", key=given.key) as scratch:
        save_teacher_facts(scratch, facts)
    return TeacherFolder(given.out)


def refuse_to_open(teacher: TeacherFolder) -> NoReturn:
    """Raise: an ensemble is not opened, its members are asked one by one."""
    raise ValueError(f"{teacher.facts.name} is an ensemble: its members are asked, not the ensemble")


def _together(members: Iterable[TeacherFolder]) -> str:
    """The members' names, equal ones counted: "3 × bert-base-uncased + llm"."""
    counts = Counter(member.facts.name for member in members)
    return " + ".join(name if count == 1 else f"{count} × {name}" for name, count in counts.items())


def guessing_of_labels(facts: TeacherFacts, *, labels: TeacherLabels, rows: Rows) -> TeacherFacts:
    """The facts with the ensemble's accuracy on dev, which is known once the members have answered."""
    rows = rows.select(np.flatnonzero(rows.is_labelled & labels.covers(rows.ids)))
    if not len(rows):
        return facts
    return replace(facts, **dev_facts(labels.for_rows(rows.ids), rows))


def _weights(section: EnsembleTeacher, members: Mapping[str, TeacherFolder]) -> list[float]:
    """Equal weights, or by accuracy (scores: correlation) on dev; they sum to one."""
    if section.combine != "weighted":
        return [1 / len(members)] * len(members)
    accuracies = []
    for name, member in members.items():
        facts = member.facts
        accuracy = facts.dev_accuracy if facts.task.has_classes else max(0.0, facts.dev_spearman or 0.0)
        if not facts.dev_rows or not accuracy:
            raise MemberUnjudged(name=name)
        accuracies.append(accuracy)
    return [accuracy / sum(accuracies) for accuracy in accuracies]


def _sum(numbers: Sequence[int | None]) -> int | None:
    """None if one of them is unknown: a file has no size."""
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None
