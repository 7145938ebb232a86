"""The students of a run: their vocabulary, and one training for each role and seed."""

from pathlib import Path
from typing import Any

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key, file_digest
from limbeck.artifacts.run_folder import RunFolder
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.artifacts.vocabulary_folder import VocabularyFolder
from limbeck.distillation.run import Origins, Role, train_student
from limbeck.distillation.size_limit import SizeLimit
from limbeck.distillation.terms.custom import custom_files
from limbeck.distillation.transformer_vocabulary import build_transformer_vocabulary
from limbeck.distillation.vocabulary import build_vocabulary
from limbeck.pipeline.extra_text import Lessons
from limbeck.pipeline.keys import lessons, settings
from limbeck.pipeline.size_limit import size_limit_of
from limbeck.pipeline.teachers import Staff, encoder_section, untaught, untaught_fingerprint
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.student import WITHOUT_FILE, AnyStudent, AnyWordStudent, BiLstm, Transformer, source_kind
from limbeck.training.tracks import Tracks

ADDED_LATER = (
    "max_size_mb",
    "vector_rank",
    "average",
)  # left out of keys where not given: what was made before them stays
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
                **_given(settings(section, without=NOT_OF_WORDS)),
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


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in ADDED_LATER or value is not None}


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
    """The baseline and the distilled student, each once per seed."""
    roles: list[Role] = ["baseline", "student"] if recipe.distillation.baseline else ["student"]
    return {
        role: {
            seed: _student(recipe, role, seed, corpus, taught, labels, vocabulary, staff, work, tracks=tracks)
            for seed in recipe.distillation.seeds
        }
        for role in roles
    }


def _student(
    recipe: Recipe,
    role: Role,
    seed: int,
    corpus: Corpus,
    taught: Lessons,
    labels: TeacherLabels,
    vocabulary: VocabularyFolder,
    staff: Staff,
    work: RunFolder,
    *,
    tracks: Tracks,
) -> StudentFolder:
    section, alone = recipe.distillation, role == "baseline"
    student, origins = _beginning(recipe, corpus, staff, alone=alone)
    left_out = ("seeds", "baseline", "losses", "stages") if alone else ("seeds", "baseline")
    return work.step(
        f"students/{student.kind}{'-alone' if alone else ''}/{seed}",
        kind="student",
        key=Key(
            section={"student": _settings(student), "distillation": _given(settings(section, without=left_out))},
            inputs={
                "corpus": corpus.lessons_fingerprint,
                "vocabulary": vocabulary.fingerprint,
                **(_known_to_anyone(recipe) if alone else _said(recipe, corpus, taught, labels)),
            },
        ),
        load=StudentFolder,
        make=lambda out, key: train_student(
            section,
            student=student,
            role=role,
            seed=seed,
            corpus=corpus,
            extra=[] if alone else taught.rows,
            labels=None if alone else labels,
            vocabulary=vocabulary,
            out=out,
            key=key,
            reporter=work.reporter,
            tracks=tracks,
            origins=origins,
        ),
    )


def _said(recipe: Recipe, corpus: Corpus, taught: Lessons, labels: TeacherLabels) -> dict[str, str]:
    """What the teacher says of train and transfer text follows from who it is; labels of test rows teach nothing."""
    files = custom_files(recipe.distillation.every_loss)
    return {
        "teacher": labels.facts["teacher"],
        **lessons(corpus, taught.parts),
        **taught.fingerprints,
        **({"features": recipe.features} if "features" in recipe.distillation.needs else {}),
        **{f"loss {call}": file_digest(file) if file else "" for call, file in files.items()},
    }


def _known_to_anyone(recipe: Recipe) -> dict[str, str]:
    """What a baseline starts from: the checkpoint that the teacher was before."""
    is_transformer = isinstance(recipe.student, Transformer)
    return {"checkpoint": untaught_fingerprint(encoder_section(recipe))} if is_transformer else {}


def _settings(student: AnyStudent) -> dict[str, Any]:
    values = _given(settings(student, without=("max_size_mb",)))  # the vocabulary has the limit
    if isinstance(student, Transformer):
        return values
    start = " + ".join(source_kind(source) for source in student.vector_sources)  # the vocabulary has the files
    return {**values, "word_vectors": start}


def _beginning(recipe: Recipe, corpus: Corpus, staff: Staff, *, alone: bool) -> tuple[AnyStudent, Origins]:
    """The student, and what it may start from.

    A baseline starts only from what anyone has, the checkpoint before it was taught. Where that is the teacher itself,
    it has the teacher's shape alone, and starts at random.
    """
    student, encoder = recipe.student, staff.encoder
    if not isinstance(student, Transformer) or encoder is None:
        return student, Origins()
    if not alone:
        reads_along = "layers" in recipe.distillation.needs
        once = encoder if reads_along else encoder.anew  # for its first weights alone it need not stay in memory
        return student, Origins(start_from=lambda: once().model, teacher=encoder if reads_along else None)
    before = untaught(encoder_section(recipe), corpus)
    if before is None:
        return student.model_copy(update={"start": "random"}), Origins(start_from=lambda: encoder.anew().model)
    return student, Origins(start_from=before)
