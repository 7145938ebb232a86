"""The students of a run: their vocabularies, and one training for each kind, role and seed."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key, file_digest
from limbeck.artifacts.run_folder import RunFolder
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.artifacts.vocabulary_folder import VocabularyFolder
from limbeck.distillation.graph_vocabulary import build_graph_vocabulary
from limbeck.distillation.ngram_vocabulary import build_ngram_vocabulary
from limbeck.distillation.size_limit import SizeLimit
from limbeck.distillation.student_files import Role
from limbeck.distillation.transformer_vocabulary import build_transformer_vocabulary
from limbeck.distillation.vocabulary import build_vocabulary
from limbeck.export.graphs import graph_of, int8_of
from limbeck.pipeline.extra_text import ChosenText
from limbeck.pipeline.keys import settings_of, training_fingerprints
from limbeck.pipeline.one_student import (
    Job,
    StudentId,
    TrainingInputs,
    corpus_read,
    general_of,
    key_of,
    place_of,
    start_fingerprint,
    train_one,
)
from limbeck.pipeline.several_students import (
    how_many_at_once,
    how_many_together,
    rows_to_read,
    train_at_once,
    train_together,
)
from limbeck.pipeline.teachers import Teachers
from limbeck.progress import Reporter
from limbeck.recipe.distillation import Distillation
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.student import WITHOUT_FILE, AnyStudent, Ngrams, Transformer, WordStudent
from limbeck.recipe.textgcn import TextGcn
from limbeck.teacher.checkpoint import find_checkpoint
from limbeck.training.tracks import Tracks

Students = dict[Role, dict[int, StudentFolder]]  # of one kind


def vocabularies_of(
    recipe: Recipe, corpus: Corpus, chosen_text: ChosenText, teachers: Teachers, run: RunFolder
) -> list[VocabularyFolder]:
    """The vocabulary of each student, counted in all the text that it will read; the first is that of `[student]`."""
    main, *others = recipe.for_each_student()
    return [
        _vocabulary(main, corpus, chosen_text, teachers, run, place="vocabulary"),
        *(
            _vocabulary(other, corpus, chosen_text, teachers, run, place=f"vocabularies/{other.student.kind}")
            for other in others
        ),
    ]


def _vocabulary(
    recipe: Recipe, corpus: Corpus, chosen_text: ChosenText, teachers: Teachers, run: RunFolder, *, place: str
) -> VocabularyFolder:
    return run.step(
        place,
        kind="vocabulary",
        key=Key(
            section={**settings_of(recipe, "vocabulary"), "form": chosen_text.form},
            inputs={
                "teacher": teachers.teacher.fingerprint,
                **training_fingerprints(corpus, chosen_text.parts),
                **chosen_text.fingerprints,
                "corpus": corpus_read(corpus, recipe.student),
                **_word_vectors(recipe.student),
            },
        ),
        load=VocabularyFolder,
        make=lambda out, key: _make_vocabulary(recipe, corpus, chosen_text, teachers, run, out=out, key=key),
    )


def _word_vectors(student: AnyStudent) -> dict[str, str]:
    """Fingerprints of their files, and of a general student; "teacher" and "random" are in the key by name."""
    if not isinstance(student, WordStudent):
        return start_fingerprint(student)
    sources = [name if name in WITHOUT_FILE else file_digest(Path(name)) for name in student.vector_sources]
    listed = student.vocabulary.path
    words = {} if listed is None else {"words": file_digest(Path(listed))}
    return {"word_vectors": " + ".join(sources), **words, **start_fingerprint(student)}


def _make_vocabulary(
    recipe: Recipe,
    corpus: Corpus,
    chosen_text: ChosenText,
    teachers: Teachers,
    run: RunFolder,
    *,
    out: Path,
    key: Key,
) -> VocabularyFolder:
    section, size_limit, encoder = recipe.student, size_limit_of(recipe), teachers.encoder
    if isinstance(section, Transformer):
        return build_transformer_vocabulary(
            section,
            corpus=corpus,
            extra=[*chosen_text.rows, *chosen_text.foreign],
            form=chosen_text.form,
            encoder=encoder.folder if encoder else None,
            out=out,
            key=key,
            reporter=run.reporter,
            size_limit=size_limit,
            start=find_checkpoint(section.checkpoint, what="student") if section.checkpoint else None,
        )
    if isinstance(section, Ngrams):
        return build_ngram_vocabulary(
            section,
            corpus=corpus,
            extra=[*chosen_text.rows, *chosen_text.foreign],
            form=chosen_text.form,
            teacher=teachers.teacher,
            out=out,
            key=key,
            reporter=run.reporter,
            size_limit=size_limit,
        )
    if isinstance(section, TextGcn):
        return build_graph_vocabulary(
            section,
            corpus=corpus,
            form=chosen_text.form,
            teacher=teachers.teacher,
            out=out,
            key=key,
            reporter=run.reporter,
            size_limit=size_limit,
        )
    return build_vocabulary(
        section,
        corpus=corpus,
        extra=[*chosen_text.rows, *chosen_text.foreign],
        form=chosen_text.form,
        teacher=teachers.teacher,
        encoder=encoder.folder if encoder else None,
        open_encoder=encoder,
        out=out,
        key=key,
        reporter=run.reporter,
        size_limit=size_limit,
        general=general_of(section),
    )


def students_of(
    recipe: Recipe,
    corpus: Corpus,
    chosen_text: ChosenText,
    labels: TeacherLabels,
    vocabularies: Sequence[VocabularyFolder],
    teachers: Teachers,
    run: RunFolder,
    *,
    tracks: Tracks,
) -> list[Students]:
    """Of `[student]` and of each candidate the distilled student, and of the first also the baseline, once per seed
    each; trained one after the other, or several at once."""
    each = [
        TrainingInputs(one, corpus, chosen_text, labels, vocabulary, teachers, tracks)
        for one, vocabulary in zip(recipe.for_each_student(), vocabularies, strict=True)
    ]
    jobs = [(student_id, inputs) for inputs in each for student_id in _student_ids(inputs.recipe.distillation)]
    at_once = how_many_at_once(recipe.distillation, students=len(jobs), rows=partial(rows_to_read, jobs))
    if at_once > 1:
        train_at_once(jobs, run, at_once=at_once)
        return [_by_role(inputs, lambda job: StudentFolder(run.folder / place_of(*job))) for inputs in each]
    return [_by_role(inputs, lambda job: _student(*job, run)) for inputs in each]


def _student_ids(section: Distillation) -> list[StudentId]:
    roles: list[Role] = ["baseline", "student"] if section.baseline else ["student"]
    return list(dict.fromkeys(StudentId(role, seed) for role in roles for seed in section.seeds))


def _by_role(inputs: TrainingInputs, make: Callable[[Job], StudentFolder]) -> Students:
    made: Students = {}
    for student_id in _student_ids(inputs.recipe.distillation):
        made.setdefault(student_id.role, {})[student_id.seed] = make((student_id, inputs))
    return made


def _student(student_id: StudentId, inputs: TrainingInputs, run: RunFolder) -> StudentFolder:
    return run.step(
        place_of(student_id, inputs),
        kind="student",
        key=key_of(student_id, inputs),
        load=StudentFolder,
        make=lambda out, key: _trained(student_id, inputs, out=out, key=key, reporter=run.reporter),
    )


def _trained(
    student_id: StudentId, inputs: TrainingInputs, *, out: Path, key: Key, reporter: Reporter
) -> StudentFolder:
    """The student, trained here or by several processes; a graph of all documents is one batch, and for one process."""
    recipe = inputs.recipe
    processes = how_many_together(recipe.distillation)
    if processes == 1 or (isinstance(recipe.student, TextGcn) and recipe.student.transductive):
        return train_one(student_id, inputs, out=out, key=key, reporter=reporter)
    return train_together((student_id, inputs), out=out, key=key, reporter=reporter, processes=processes)


def size_limit_of(recipe: Recipe) -> SizeLimit | None:
    """The limit, and a function for the bytes of a student's exported graph; None without a limit."""
    max_size_mb = recipe.student.max_size_mb
    if max_size_mb is None:
        return None
    precision, pair = recipe.export.smallest, recipe.corpus.pair is not None

    def graph_bytes(student: Any) -> int:
        graph = graph_of(student, pair=pair)
        return int((int8_of(student, graph) if precision == "int8" else graph).ByteSize())

    return SizeLimit(max_size_mb, precision=precision, graph_bytes=graph_bytes)
