"""The exported models of a run: every student in every precision, their blend, and the best of them."""

from collections.abc import Sequence
from pathlib import Path

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.candidate import Candidate
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key, read_manifest
from limbeck.artifacts.model_folder import ModelFolder, copy_model
from limbeck.artifacts.report import Report
from limbeck.artifacts.run_folder import SEARCHED, RunFolder
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.errors import ArtifactError
from limbeck.export.blend import export_blend
from limbeck.export.profile import FORM, Origin, answers_fingerprint, origin_of
from limbeck.export.run import export_student
from limbeck.pipeline.kept_teacher import names_to_keep
from limbeck.pipeline.keys import settings_of
from limbeck.pipeline.students import Students
from limbeck.recipe.export import Precision
from limbeck.recipe.recipe import Recipe


def candidates_of(
    recipe: Recipe, corpus: Corpus, labels: TeacherLabels, students: Sequence[Students], run: RunFolder
) -> list[Candidate]:
    """Export every student, and their blend; the seed that is best on dev is shipped under models/."""
    candidates = []
    for role, by_seed in ((role, by_seed) for of_kind in students for role, by_seed in of_kind.items()):
        best = max(by_seed, key=lambda seed: (by_seed[seed].facts.chosen_by, -seed))
        for precision in recipe.precisions_of(role, kind=by_seed[best].facts.kind):
            name = by_seed[best].facts.name + ("-int8" if precision == "int8" else "")
            exports = {
                seed: _export(recipe, corpus, labels, student, precision, f"exports/{name}/{seed}", run)
                for seed, student in by_seed.items()
            }
            candidates.append(
                Candidate(
                    name=name,
                    role="export" if precision == "int8" and role != "baseline" else role,
                    exports=exports,
                    shipped=_ship(exports[best], f"models/{name}", run),
                    students=by_seed,
                )
            )
    if recipe.has_blend:
        candidates.append(_blend(recipe, corpus, labels, candidates, run))
    current = [*current_best(candidates, run), *_current_search(run)]
    run.keep_only("models", [*(candidate.name for candidate in candidates), *current, *names_to_keep(recipe)])
    return candidates


def _blend(
    recipe: Recipe, corpus: Corpus, labels: TeacherLabels, candidates: Sequence[Candidate], run: RunFolder
) -> Candidate:
    """One model of the students that ship, in the smallest precision: the distilled ones, and n-grams alone."""
    precision = recipe.export.smallest
    members = [
        candidate
        for candidate in candidates
        if (candidate.role != "baseline" or candidate.shipped.facts().kind == "ngrams")
        and candidate.shipped.facts().precision == precision
    ]
    main = members[0]
    assert main.shipped_place is not None, "every shipped model is a copy of an export"
    seed, name = list(main.exports)[main.shipped_place], "blend-int8" if precision == "int8" else "blend"
    export = run.step(
        f"exports/{name}/{seed}",
        kind="model",
        key=Key(
            section={"calibrate": recipe.export.calibrate, "examples": recipe.export.examples},
            inputs={
                "corpus": corpus.training_fingerprint,
                "labels": labels.fingerprint,
                **{member.name: read_manifest(member.shipped.folder, kind="model").fingerprint for member in members},
            },
        ),
        load=ModelFolder,
        make=lambda out, key: export_blend(
            recipe.export,
            models=[member.shipped for member in members],
            name=name,
            rows=corpus.splits["dev"],
            out=out,
            key=key,
            reporter=run.reporter,
            teacher=labels,
            origin=_origin(corpus, labels),
        ),
    )
    chosen = {member.folder for member in export.facts().members}
    return Candidate(
        name=name,
        role="export" if precision == "int8" else "student",
        exports={seed: export},
        shipped=_ship(export, f"models/{name}", run),
        students={},
        members=tuple(member for member in members if member.name in chosen),
    )


def _export(
    recipe: Recipe,
    corpus: Corpus,
    labels: TeacherLabels,
    student: StudentFolder,
    precision: Precision,
    name: str,
    run: RunFolder,
) -> ModelFolder:
    section = recipe.export
    return run.step(
        name,
        kind="model",
        key=Key(
            section={**settings_of(recipe, "exports"), "precision": precision},
            inputs={
                "student": student.fingerprint,
                "corpus": corpus.training_fingerprint,
                "teacher's answers on dev": answers_fingerprint(labels, corpus.splits["dev"]),
                "form of its profile": FORM,
            },
        ),
        load=ModelFolder,
        make=lambda out, key: export_student(
            section,
            student=student,
            rows=corpus.splits["dev"],
            precision=precision,
            out=out,
            key=key,
            reporter=run.reporter,
            origin=_origin(corpus, labels),
        ),
    )


def _origin(corpus: Corpus, labels: TeacherLabels) -> Origin:
    return origin_of(corpus.splits["train"], classes=len(corpus.labels), teacher=labels)


def _ship(export: ModelFolder, name: str, run: RunFolder) -> ModelFolder:
    """Copy an export to where users look for it."""

    def copy(out: Path, key: Key) -> None:
        with written_atomically(out, kind="model", key=key) as scratch:
            copy_model(export, scratch)

    fingerprint = read_manifest(export.folder, kind="model").fingerprint
    return run.step(
        name, kind="model", key=Key(section={}, inputs={"export": fingerprint}), load=ModelFolder, make=copy
    )


BEST = "best"  # folder under models/


def current_best(candidates: Sequence[Candidate], run: RunFolder) -> list[str]:
    """The name of the folder of the best model, if it is a copy of a current one: an older one would look like it."""
    try:
        found = read_manifest(run.folder / "models" / BEST, kind="model").fingerprint
    except ArtifactError:
        return []
    shipped = {read_manifest(candidate.shipped.folder, kind="model").fingerprint for candidate in candidates}
    return [BEST] if found in shipped else []


def _current_search(run: RunFolder) -> list[str]:
    """The name of the folder of the model that a search has chosen, if the labels are still those of the search."""
    try:
        found = read_manifest(run.folder / "models" / SEARCHED, kind="model").key.inputs.get("labels")
        return [SEARCHED] if found == read_manifest(run.folder / "labels", kind="labels").fingerprint else []
    except ArtifactError:
        return []


def ship_best(
    report: Report, candidates: Sequence[Candidate], run: RunFolder, *, others: Sequence[str] = ()
) -> list[ModelFolder]:
    """Copy the model that the report names as the best to models/best; `others` are folders that stay beside it."""
    named = [candidate for candidate in candidates if candidate.name == report.data.get("best")]
    copies = [_ship(candidate.shipped, f"models/{BEST}", run) for candidate in named]
    current = [*([BEST] if copies else []), *_current_search(run)]
    run.keep_only("models", [*(candidate.name for candidate in candidates), *current, *others])
    return copies
