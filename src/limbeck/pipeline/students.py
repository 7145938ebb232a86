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
from limbeck.export.graphs import graph_of, int8_of
from limbeck.pipeline.extra_text import ChosenText
from limbeck.pipeline.keys import settings, training_fingerprints
from limbeck.pipeline.one_student import StudentId, TrainingInputs, given, key_of, place_of, train_one
from limbeck.pipeline.several_students import how_many_at_once, rows_to_read, train_at_once
from limbeck.pipeline.teachers import Teachers
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.student import WITHOUT_FILE, BiLstm, Transformer, WordStudent
from limbeck.training.tracks import Tracks

# What the tokens, and the vectors they start with, do not follow from.
NOT_OF_PIECES = ("dropout", "max_length", "start", "teacher_layers")
NOT_OF_WORDS = ("dropout", "pooling", "max_length", "tune_vectors", "word_vectors")

Students = dict[Role, dict[int, StudentFolder]]


def vocabulary_of(
    recipe: Recipe, corpus: Corpus, chosen_text: ChosenText, teachers: Teachers, work: RunFolder
) -> VocabularyFolder:
    """The student's tokens, counted in all it will read."""
    if isinstance(recipe.student, Transformer):
        return _pieces(recipe.student, corpus, chosen_text, teachers, work, size_limit=size_limit_of(recipe))
    return _words(recipe.student, corpus, chosen_text, teachers, work, size_limit=size_limit_of(recipe))


def _words(
    section: WordStudent,
    corpus: Corpus,
    chosen_text: ChosenText,
    teachers: Teachers,
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
                "form": chosen_text.form,
            },
            inputs={**_read_by(corpus, chosen_text, teachers), "word_vectors": " + ".join(vectors)},
        ),
        load=VocabularyFolder,
        make=lambda out, key: build_vocabulary(
            section,
            corpus=corpus,
            extra=chosen_text.rows,
            form=chosen_text.form,
            teacher=teachers.teacher,
            encoder=teachers.encoder.folder if teachers.encoder else None,
            open_encoder=teachers.encoder,
            out=out,
            key=key,
            reporter=work.reporter,
            size_limit=size_limit,
        ),
    )


def _room_taken(section: WordStudent) -> dict[str, Any]:
    """The one pooling with weights of its own, which leave inputs for fewer words below the size of the teacher."""
    attends = isinstance(section, BiLstm) and section.pooling == "attention"
    return {"pooling": "attention"} if attends else {}


def _weighed_as(limit: SizeLimit | None) -> dict[str, str]:
    return {} if limit is None else {"precision": limit.precision}


def _pieces(
    section: Transformer,
    corpus: Corpus,
    chosen_text: ChosenText,
    teachers: Teachers,
    work: RunFolder,
    *,
    size_limit: SizeLimit | None,
) -> VocabularyFolder:
    shape = {} if size_limit is None else {"shape": settings(section, without=NOT_OF_PIECES), **_weighed_as(size_limit)}
    return work.step(
        "vocabulary",
        kind="vocabulary",
        key=Key(
            section={"family": section.family, **settings(section.vocabulary), **shape, "form": chosen_text.form},
            inputs=_read_by(corpus, chosen_text, teachers),
        ),
        load=VocabularyFolder,
        make=lambda out, key: build_transformer_vocabulary(
            section,
            corpus=corpus,
            extra=chosen_text.rows,
            form=chosen_text.form,
            encoder=teachers.encoder.folder if teachers.encoder else None,
            out=out,
            key=key,
            reporter=work.reporter,
            size_limit=size_limit,
        ),
    )


def _read_by(corpus: Corpus, chosen_text: ChosenText, teachers: Teachers) -> dict[str, str]:
    return {
        "teacher": teachers.teacher.fingerprint,
        **training_fingerprints(corpus, chosen_text.parts),
        **chosen_text.fingerprints,
    }


def students_of(
    recipe: Recipe,
    corpus: Corpus,
    chosen_text: ChosenText,
    labels: TeacherLabels,
    vocabulary: VocabularyFolder,
    teachers: Teachers,
    work: RunFolder,
    *,
    tracks: Tracks,
) -> Students:
    """The baseline and the distilled student, each once per seed; one after the other, or several at once."""
    inputs = TrainingInputs(recipe, corpus, chosen_text, labels, vocabulary, teachers, tracks)
    roles: list[Role] = ["baseline", "student"] if recipe.distillation.baseline else ["student"]
    seeds = recipe.distillation.seeds
    student_ids = list(dict.fromkeys(StudentId(role, seed) for role in roles for seed in seeds))
    rows = partial(rows_to_read, student_ids, inputs)
    at_once = how_many_at_once(recipe.distillation, students=len(student_ids), rows=rows)
    if at_once > 1:
        train_at_once(student_ids, inputs, work, at_once=at_once)
        made = {student_id: StudentFolder(work.folder / place_of(student_id, inputs)) for student_id in student_ids}
    else:
        made = {student_id: _student(student_id, inputs, work) for student_id in student_ids}
    return {role: {seed: made[StudentId(role, seed)] for seed in seeds} for role in roles}


def _student(student_id: StudentId, inputs: TrainingInputs, work: RunFolder) -> StudentFolder:
    return work.step(
        place_of(student_id, inputs),
        kind="student",
        key=key_of(student_id, inputs),
        load=StudentFolder,
        make=lambda out, key: train_one(student_id, inputs, out=out, key=key, reporter=work.reporter),
    )


def size_limit_of(recipe: Recipe) -> SizeLimit | None:
    """The limit, with the export's own graphs to weigh students by; None where the recipe sets none."""
    max_size_mb = recipe.student.max_size_mb
    if max_size_mb is None:
        return None
    is_int8, pair = "int8" in recipe.export.precisions, recipe.corpus.pair is not None

    def graph_bytes(student: Any) -> int:
        graph = graph_of(student, pair=pair)
        return int((int8_of(student, graph) if is_int8 else graph).ByteSize())

    return SizeLimit(max_size_mb, precision="int8" if is_int8 else "fp32", graph_bytes=graph_bytes)
