"""The exported models of a run: every student in every precision, their blend, and the best of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.candidate import Candidate, RefusedCandidate
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.foreign import Foreign
from limbeck.artifacts.manifest import Key, fingerprint_of, read_manifest
from limbeck.artifacts.model_folder import ModelFolder, copy_model
from limbeck.artifacts.report import Report
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.run_folder import SEARCHED, RunFolder
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.distillation.student_files import Role
from limbeck.errors import ArtifactError
from limbeck.export.blend import export_blend
from limbeck.export.parity import ExportRefused
from limbeck.export.profile import FORM, Origin, answers_fingerprint, origin_of
from limbeck.export.run import export_student
from limbeck.pipeline.foreign import fingerprints_of
from limbeck.pipeline.kept_teacher import names_to_keep
from limbeck.pipeline.keys import settings_of
from limbeck.pipeline.students import Students
from limbeck.recipe.export import Precision
from limbeck.recipe.recipe import Recipe


@dataclass(frozen=True)
class Exports:
    """What a run can ship, and what is left out of it."""

    candidates: list[Candidate]
    refused: list[RefusedCandidate]


@dataclass(frozen=True)
class _Planned:
    """A student, once per seed, in one precision."""

    role: Role
    students: dict[int, StudentFolder]
    precision: Precision

    @property
    def best(self) -> int:
        """The seed that ships: the best on dev."""
        return max(self.students, key=lambda seed: (self.students[seed].facts.chosen_by, -seed))

    @property
    def name(self) -> str:
        """As in the report and under models/."""
        return self.students[self.best].facts.name + ("-int8" if self.precision == "int8" else "")


@dataclass(frozen=True)
class _Dev:
    """What is known about dev, and what belongs to no class: exports are compared, calibrated and profiled with it."""

    corpus: Corpus
    labels: TeacherLabels
    foreign: Foreign | None

    @property
    def origin(self) -> Origin:
        """What profiles say beyond model and dev."""
        train, classes = self.corpus.splits["train"], len(self.corpus.labels)
        return origin_of(train, classes=classes, teacher=self.labels, foreign=self.foreign)

    @property
    def rows(self) -> Rows:
        """The split."""
        return self.corpus.splits["dev"]


def exports_of(
    recipe: Recipe,
    corpus: Corpus,
    labels: TeacherLabels,
    students: Sequence[Students],
    run: RunFolder,
    *,
    foreign: Foreign | None = None,
) -> Exports:
    """Export every student, and their blend; the seed that is best on dev is shipped under models/. `foreign` are rows
    that belong to no class, to fit with when a model gives no label.

    A candidate with a file that is refused is left out. Raises ExportRefused if no distilled student remains.
    """
    planned = [
        _Planned(role, by_seed, precision)
        for of_kind in students
        for role, by_seed in of_kind.items()
        for precision in recipe.precisions_of(role, kind=next(iter(by_seed.values())).facts.kind)
    ]
    dev = _Dev(corpus, labels, foreign)
    candidates, refused = _accepted(recipe, dev, planned, run)
    if recipe.has_blend and (blend := _blend(recipe, dev, candidates, run)):
        candidates.append(blend)
    current = [*current_best(candidates, run), *_current_search(run)]
    run.keep_only("models", [*(candidate.name for candidate in candidates), *current, *names_to_keep(recipe)])
    return Exports(candidates, refused)


def _accepted(
    recipe: Recipe, dev: _Dev, planned: Sequence[_Planned], run: RunFolder
) -> tuple[list[Candidate], list[RefusedCandidate]]:
    """Those whose files predict what their students predict, and the others, of which each is reported at once."""
    accepted, refused = [], []
    distilled = {one.name for one in planned if one.role != "baseline"}
    for one in planned:
        keys = {seed: _key(recipe, dev, student, one.precision) for seed, student in one.students.items()}
        try:
            accepted.append(_candidate(recipe, dev, one, keys, run))
        except ExportRefused as error:
            distilled.discard(one.name)
            if not distilled:
                raise
            run.reporter.note(f"  {one.name} is left out of this run: {error.what}; {error.found}", style="warning")
            digest = fingerprint_of(" ".join(key.digest() for key in keys.values()))
            refused.append(RefusedCandidate(one.name, one.precision, error.found, error.advice, key=digest))
    return accepted, refused


def _candidate(
    recipe: Recipe,
    dev: _Dev,
    planned: _Planned,
    keys: Mapping[int, Key],
    run: RunFolder,
) -> Candidate:
    name, role = planned.name, planned.role
    exports = {
        seed: _export(recipe, dev, student, planned.precision, f"exports/{name}/{seed}", keys[seed], run)
        for seed, student in planned.students.items()
    }
    return Candidate(
        name=name,
        role="export" if planned.precision == "int8" and role != "baseline" else role,
        exports=exports,
        shipped=_ship(exports[planned.best], f"models/{name}", run),
        students=planned.students,
    )


def _blend(recipe: Recipe, dev: _Dev, candidates: Sequence[Candidate], run: RunFolder) -> Candidate | None:
    """One model of the students that ship, in the smallest precision: the distilled ones, and n-grams alone. None if
    fewer than two are left of them.
    """
    precision = recipe.export.smallest
    members = [
        candidate
        for candidate in candidates
        if (candidate.role != "baseline" or candidate.shipped.facts().kind == "ngrams")
        and candidate.shipped.facts().precision == precision
    ]
    if len(members) < 2:
        run.reporter.note("  no blend: fewer than two students are left to be its members", style="warning")
        return None
    main = members[0]
    assert main.shipped_place is not None, "every shipped model is a copy of an export"
    settings = settings_of(recipe, "exports")["export"].get("abstain")
    abstain = {} if settings is None else {"abstain": settings}
    seed, name = list(main.exports)[main.shipped_place], "blend-int8" if precision == "int8" else "blend"
    export = run.step(
        f"exports/{name}/{seed}",
        kind="model",
        key=Key(
            section={"calibrate": recipe.export.calibrate, "examples": recipe.export.examples} | abstain,
            inputs={
                "corpus": dev.corpus.training_fingerprint,
                "labels": dev.labels.fingerprint,
                **fingerprints_of(dev.foreign),
                **{member.name: read_manifest(member.shipped.folder, kind="model").fingerprint for member in members},
            },
        ),
        load=ModelFolder,
        make=lambda out, key: export_blend(
            recipe.export,
            models=[member.shipped for member in members],
            name=name,
            rows=dev.rows,
            out=out,
            key=key,
            reporter=run.reporter,
            teacher=dev.labels,
            origin=dev.origin,
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
    dev: _Dev,
    student: StudentFolder,
    precision: Precision,
    name: str,
    key: Key,
    run: RunFolder,
) -> ModelFolder:
    return run.step(
        name,
        kind="model",
        key=key,
        load=ModelFolder,
        make=lambda out, key: export_student(
            recipe.export,
            student=student,
            rows=dev.rows,
            precision=precision,
            out=out,
            key=key,
            reporter=run.reporter,
            origin=dev.origin,
        ),
    )


def _key(recipe: Recipe, dev: _Dev, student: StudentFolder, precision: Precision) -> Key:
    return Key(
        section={**settings_of(recipe, "exports"), "precision": precision},
        inputs={
            "student": student.fingerprint,
            "corpus": dev.corpus.training_fingerprint,
            "teacher's answers on dev": answers_fingerprint(dev.labels, dev.rows),
            "form of its profile": FORM,
            **fingerprints_of(dev.foreign),
        },
    )


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
