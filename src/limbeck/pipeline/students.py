"""The students of a run: their vocabulary, and one training for each role and seed."""

from functools import partial
from pathlib import Path
from typing import Any

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key, file_digest
from limbeck.artifacts.run_folder import RunFolder
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.artifacts.vocabulary_folder import VocabularyFolder
from limbeck.distillation.run import Role
from limbeck.distillation.size_limit import SizeLimit
from limbeck.distillation.transformer_vocabulary import build_transformer_vocabulary
from limbeck.distillation.vocabulary import build_vocabulary
from limbeck.pipeline.extra_text import Lessons
from limbeck.pipeline.keys import lessons, settings
from limbeck.pipeline.one_student import Classroom, Pupil, given, key_of, place_of, train_pupil
from limbeck.pipeline.several_students import how_many_at_once, rows_to_read, train_at_once
from limbeck.pipeline.size_limit import size_limit_of
from limbeck.pipeline.teachers import Staff
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.student import WITHOUT_FILE, AnyWordStudent, BiLstm, Transformer
from limbeck.training.tracks import Tracks

# What the tokens, and the vectors they start with, do not follow from.
NOT_OF_PIECES = ("dropout", "max_length", "start", "teacher_layers")
NOT_OF_WORDS = ("dropout", "pooling", "max_length", "tune_vectors", "word_vectors")

Students = dict[Role, dict[int, StudentFolder]]


def vocabulary_of(recipe: Recipe, corpus: Corpus, taught: Lessons, staff: Staff, work: RunFolder) -> VocabularyFolder:
    """The student's tokens, counted in all it will read."""
    if isinstance(recipe.student, Transformer):
        return _pieces(recipe.student, corpus, taught, staff, work, size_limit=size_limit_of(recipe))
    return _words(recipe.student, corpus, taught, staff, work, size_limit=size_limit_of(recipe))


def _words(
    section: AnyWordStudent,
    corpus: Corpus,
    taught: Lessons,
    staff: Staff,
    work: RunFolder,
    *,
    size_limit: SizeLimit | None,
) -> VocabularyFolder:
    vectors = [source if source in WITHOUT_FILE else file_digest(Path(source)) for source in section.vector_sources]
    return work.step(
        "vocabulary",
        kind="vocabulary",
        key=Key(
            section={
                **given(settings(section, without=NOT_OF_WORDS)),
                **_room_taken(section),
                **_weighed_as(size_limit),
                "form": taught.form,
            },
            inputs={**_read_by(corpus, taught, staff), "word_vectors": " + ".join(vectors)},
        ),
        load=VocabularyFolder,
        make=lambda out, key: build_vocabulary(
            section,
            corpus=corpus,
            extra=taught.rows,
            form=taught.form,
            teacher=staff.teacher,
            encoder=staff.encoder.folder if staff.encoder else None,
            open_encoder=staff.encoder,
            out=out,
            key=key,
            reporter=work.reporter,
            size_limit=size_limit,
        ),
    )


def _room_taken(section: AnyWordStudent) -> dict[str, Any]:
    """The one pooling with weights of its own, which leave room for fewer words below the size of the teacher."""
    attends = isinstance(section, BiLstm) and section.pooling == "attention"
    return {"pooling": "attention"} if attends else {}


def _weighed_as(limit: SizeLimit | None) -> dict[str, str]:
    return {} if limit is None else {"precision": limit.precision}


def _pieces(
    section: Transformer,
    corpus: Corpus,
    taught: Lessons,
    staff: Staff,
    work: RunFolder,
    *,
    size_limit: SizeLimit | None,
) -> VocabularyFolder:
    shape = {} if size_limit is None else {"shape": settings(section, without=NOT_OF_PIECES), **_weighed_as(size_limit)}
    return work.step(
        "vocabulary",
        kind="vocabulary",
        key=Key(
            section={"family": section.family, **settings(section.vocabulary), **shape, "form": taught.form},
            inputs=_read_by(corpus, taught, staff),
        ),
        load=VocabularyFolder,
        make=lambda out, key: build_transformer_vocabulary(
            section,
            corpus=corpus,
            extra=taught.rows,
            form=taught.form,
            encoder=staff.encoder.folder if staff.encoder else None,
            out=out,
            key=key,
            reporter=work.reporter,
            size_limit=size_limit,
        ),
    )


def _read_by(corpus: Corpus, taught: Lessons, staff: Staff) -> dict[str, str]:
    return {"teacher": staff.teacher.fingerprint, **lessons(corpus, taught.parts), **taught.fingerprints}


def students_of(
    recipe: Recipe,
    corpus: Corpus,
    taught: Lessons,
    labels: TeacherLabels,
    vocabulary: VocabularyFolder,
    staff: Staff,
    work: RunFolder,
    *,
    tracks: Tracks,
) -> Students:
    """The baseline and the distilled student, each once per seed; one after the other, or several at once."""
    room = Classroom(recipe, corpus, taught, labels, vocabulary, staff, tracks)
    roles: list[Role] = ["baseline", "student"] if recipe.distillation.baseline else ["student"]
    seeds = recipe.distillation.seeds
    pupils = list(dict.fromkeys(Pupil(role, seed) for role in roles for seed in seeds))
    rows = partial(rows_to_read, pupils, room)
    at_once = how_many_at_once(recipe.distillation, students=len(pupils), rows=rows)
    if at_once > 1:
        train_at_once(pupils, room, work, at_once=at_once)
        made = {pupil: StudentFolder(work.folder / place_of(pupil, room)) for pupil in pupils}
    else:
        made = {pupil: _student(pupil, room, work) for pupil in pupils}
    return {role: {seed: made[Pupil(role, seed)] for seed in seeds} for role in roles}


def _student(pupil: Pupil, room: Classroom, work: RunFolder) -> StudentFolder:
    return work.step(
        place_of(pupil, room),
        kind="student",
        key=key_of(pupil, room),
        load=StudentFolder,
        make=lambda out, key: train_pupil(pupil, room, out=out, key=key, reporter=work.reporter),
    )
