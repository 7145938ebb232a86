"""The teacher as an int8 file, for as long as it is judged and timed."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.run_folder import RunFolder
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.export.teacher import export_teacher
from limbeck.recipe.evaluation import Evaluation

FOLDER = "exports/teacher-int8"


@contextmanager
def int8_teacher(
    section: Evaluation, teacher: TeacherFolder, corpus: Corpus, work: RunFolder
) -> Iterator[ModelFolder | None]:
    """The file of an encoder, removed at the end: it is as large as the rest of a run, and nobody ships it.

    None where it is not asked for, where the teacher is none that can be exported, and for an ensemble.
    """
    folder = work.folder / FOLDER
    try:
        if section.teacher_int8 and teacher.is_encoder:
            yield export_teacher(
                teacher,
                language=corpus.language,
                pair=corpus.is_pair,
                precision="int8",
                out=folder,
                key=Key(section={"precision": "int8"}, inputs={"teacher": teacher.fingerprint}),
                reporter=work.reporter,
            )
        else:
            yield None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(folder.with_name(f"{folder.name}.partial"), ignore_errors=True)
