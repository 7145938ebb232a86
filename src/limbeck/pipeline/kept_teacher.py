"""The teacher as a model that stays: an int8 file under models/, for a cascade without PyTorch."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import ModelFolder, copy_model
from limbeck.artifacts.run_folder import RunFolder
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.export.profile import FORM, answers_fingerprint, profile_rows
from limbeck.export.teacher import can_be_exported, export_teacher
from limbeck.recipe.recipe import Recipe
from limbeck.timing.costs import int8_agreement
from limbeck.training.temperature import fitted_temperature

KEPT_TEACHER = "teacher-int8"  # folder under models/


def names_to_keep(recipe: Recipe) -> list[str]:
    """Folders under models/ that are none of the students'."""
    return [] if recipe.export.teacher == "none" else [KEPT_TEACHER]


def kept_teacher_of(
    recipe: Recipe,
    corpus: Corpus,
    teacher: TeacherFolder,
    labels: TeacherLabels,
    run: RunFolder,
    *,
    members: Sequence[TeacherFolder] = (),
) -> ModelFolder | None:
    """The teacher as a model of its own, if the recipe asks for it and there can be one; a note says why not."""
    if recipe.export.teacher == "none":
        return None
    if not can_be_exported(teacher, members):
        run.reporter.note(f"  the teacher is not kept as a model: it is of the kind '{teacher.facts.kind}'")
        return None
    section = {"precision": "int8", "calibrate": recipe.export.calibrate}
    inputs = {
        "teacher": teacher.fingerprint,
        "corpus": corpus.training_fingerprint,
        "teacher's answers on dev": answers_fingerprint(labels, corpus.splits["dev"]),
        "form of its profile": FORM,
    }

    def make(out: Path, key: Key) -> None:
        _export(recipe, corpus, teacher, labels, run, out=out, key=key, members=members)

    return run.step(
        f"models/{KEPT_TEACHER}", kind="model", key=Key(section=section, inputs=inputs), load=_if_there, make=make
    )


def _if_there(folder: Path) -> ModelFolder | None:
    return ModelFolder(folder) if folder.is_dir() else None


def _export(
    recipe: Recipe,
    corpus: Corpus,
    teacher: TeacherFolder,
    labels: TeacherLabels,
    run: RunFolder,
    *,
    out: Path,
    key: Key,
    members: Sequence[TeacherFolder],
) -> None:
    """Write it if it gives the teacher's labels on dev; otherwise there is none, also none of an earlier teacher.

    It is made somewhere else first: a run that is killed before the comparison has kept nothing.
    """
    shutil.rmtree(out, ignore_errors=True)
    place = run.folder / "exports" / KEPT_TEACHER
    try:
        made = export_teacher(
            teacher,
            language=corpus.language,
            pair=corpus.is_pair,
            precision="int8",
            out=place,
            key=key,
            reporter=run.reporter,
            members=members,
            temperature=_temperature(corpus, labels) if recipe.export.calibrate and corpus.task.has_classes else 1.0,
        )
        if made is not None and _is_the_teacher(made, corpus, labels, run):
            with written_atomically(out, kind="model", key=key) as scratch:
                copy_model(made, scratch)
    finally:
        shutil.rmtree(place, ignore_errors=True)
        shutil.rmtree(place.with_name(f"{place.name}.partial"), ignore_errors=True)


def _is_the_teacher(model: ModelFolder, corpus: Corpus, labels: TeacherLabels, run: RunFolder) -> bool:
    """Whether it agrees with the teacher on dev; a note says how often."""
    agreement = int8_agreement(model, labels=labels, rows=corpus.splits["dev"], reporter=run.reporter)
    if agreement is None:
        run.reporter.note(f"  models/{KEPT_TEACHER} is not kept")
        return False
    share = agreement["agreement"]
    if share is not None and not corpus.task.has_classes:
        note = f"Pearson {share:.3f} with the teacher on {agreement['agreement_rows']:,} dev rows"
        run.reporter.note(f"  {KEPT_TEACHER}: {model.size_mb():.1f} MB; {note}")
        return True
    same = "" if share is None else f"; the teacher's label on {share:.1%} of {agreement['agreement_rows']:,} dev rows"
    run.reporter.note(f"  {KEPT_TEACHER}: {model.size_mb():.1f} MB{same}")
    return True


def _temperature(corpus: Corpus, labels: TeacherLabels) -> float:
    """Fitted on the answers that the teacher gave to dev: its int8 file would take minutes for them."""
    dev = corpus.splits["dev"]
    some = dev.select(profile_rows(dev))
    known = some.select(np.flatnonzero(labels.covers(some.ids) & some.is_labelled))
    return fitted_temperature(labels.for_rows(known.ids), known.labels) if len(known) else 1.0
