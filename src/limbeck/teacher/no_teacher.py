"""A run without a teacher, prepared as the others are: a folder that says that there is none, and nothing to open."""

from typing import NoReturn

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.teacher_folder import TeacherFacts, TeacherFolder, save_teacher_facts
from limbeck.recipe.no_teacher import NONE, NoTeacher
from limbeck.teacher.preparation import Preparation, scale_fact


def prepare_nothing(section: NoTeacher, given: Preparation) -> TeacherFolder:
    """Only teacher.json: no checkpoint is looked for, and no row is read."""
    corpus = given.corpus
    with written_atomically(given.out, kind="teacher", key=given.key) as scratch:
        facts = TeacherFacts(
            name=section.kind,
            kind=NONE,
            labels=corpus.labels,
            multi_label=corpus.is_multi_label,
            scale=scale_fact(corpus),
            dev_accuracy=None,
            dev_rows=0,
        )
        save_teacher_facts(scratch, facts)
    given.reporter.note("  no teacher: students learn from the labels alone")
    return TeacherFolder(given.out)


def refuse_to_ask(teacher: TeacherFolder) -> NoReturn:
    """There is nothing to open; whoever asks has not looked at the kind."""
    raise ValueError(f"{teacher.folder} says that its run has no teacher")
