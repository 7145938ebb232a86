"""A student of another run as the teacher: checked against the corpus, evaluated on dev, copied with all its files."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.model_folder import ModelFacts
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_folder import TeacherFacts, TeacherFolder, save_teacher_facts
from limbeck.errors import TeacherError
from limbeck.progress import Reporter
from limbeck.recipe.teacher import StudentTeacher
from limbeck.teacher.head import numbered_lists
from limbeck.teacher.preparation import (
    NOT_JUDGED,
    BeforeRun,
    OpenTeacher,
    Preparation,
    ReadyTeacher,
    dev_facts,
    labelled,
    scale_fact,
)
from limbeck.teacher.student_asking import open_student
from limbeck.teacher.student_source import FoundStudent, find_student


class StudentUnfit(TeacherError):
    """The student given as the teacher was trained for another task than the corpus's."""

    def __init__(self, *, path: Path, differences: Sequence[str], theirs: Sequence[str], ours: Sequence[str]) -> None:
        self.differences = tuple(differences)
        names = [] if set(theirs) == set(ours) else [numbered_lists(theirs, ours, whose="the student")]
        super().__init__(
            f"the student '{path}' cannot be the teacher: it was trained for another task than the corpus's",
            found="\n".join([*differences, *names]),
            advice="Name a student that was trained on such rows; if only names differ, change them with "
            "corpus.label_names.",
        )


def prepare_student_teacher(section: StudentTeacher, given: Preparation) -> TeacherFolder:
    """Copy the student, so that its run may be deleted. Raises if it was trained for another task than the corpus's."""
    corpus, found = given.corpus, find_student(section.path)
    refuse_other_task(found, corpus)
    with written_atomically(given.out, kind="teacher", key=given.key) as scratch:
        for name in found.files:
            (scratch / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(found.folder / name, scratch / name)
        facts = TeacherFacts(
            name=found.name,
            kind="student",
            labels=corpus.labels,
            multi_label=corpus.is_multi_label,
            scale=scale_fact(corpus),
            max_length=found.facts.max_length,
            precision=found.facts.precision if isinstance(found.facts, ModelFacts) else "fp32",
            parameters=found.facts.parameters,
            parameters_without_embeddings=found.facts.parameters_without_embeddings,
            **_judged(open_student(scratch, labels=corpus.labels, scale=corpus.scale), corpus.splits["dev"]),
        )
        save_teacher_facts(scratch, facts)
    _report(found, facts, reporter=given.reporter)
    return TeacherFolder(given.out)


def student_inputs(section: StudentTeacher) -> dict[str, str]:
    """The fingerprint of the student's contents."""
    return {"student": find_student(section.path).fingerprint}


def ready_student(section: StudentTeacher, look: BeforeRun) -> ReadyTeacher:
    """The student, opened in its own folder. Raises if it was trained for another task than the corpus's."""
    found = find_student(section.path)
    refuse_other_task(found, look.corpus)
    precision = getattr(found.facts, "precision", "fp32")
    return ReadyTeacher(
        found.name, open_student(found.folder, labels=look.corpus.labels, scale=look.corpus.scale), precision
    )


def student_parameters(section: StudentTeacher, look: BeforeRun) -> int | None:
    """The student's number of parameters."""
    del look
    return find_student(section.path).facts.parameters


def refuse_other_task(found: FoundStudent, corpus: Corpus) -> None:
    """Raise unless texts per row, labels per row and class names are the same for student and corpus.

    The order of the classes may differ: logits are reordered by name.
    """
    facts, differences = found.facts, []
    if facts.pair != corpus.is_pair:
        differences.append(f"it reads {_texts(facts.pair)} per row; the corpus has {_texts(corpus.is_pair)}")
    if facts.task != corpus.task:
        differences.append(f"it gives a row {facts.task.in_words}; in the corpus a row has {corpus.task.in_words}")
    if sorted(facts.labels) != sorted(corpus.labels):
        differences.append(
            f"it knows {len(facts.labels)} classes, the corpus has {len(corpus.labels)}, not the same ones"
        )
    if differences:
        raise StudentUnfit(path=found.folder, differences=differences, theirs=facts.labels, ours=corpus.labels)


def _texts(pair: bool) -> str:
    return "two texts" if pair else "one text"


def _judged(student: OpenTeacher, dev: Rows) -> dict[str, Any]:
    """The facts about dev, on its rows that have a label."""
    rows = labelled(dev)
    return dev_facts(student.logits(rows.texts, rows.pairs), rows) if len(rows) else dict(NOT_JUDGED)


def _report(found: FoundStudent, facts: TeacherFacts, *, reporter: Reporter) -> None:
    best = f"; the best of {found.seeds} seeds by its own dev rows" if found.seeds > 1 else ""
    size = (facts.parameters or 0) / 1e6
    reporter.note(f"  teacher {facts.name}: {facts.on_dev()}, {size:.2f}M parameters{best}")
