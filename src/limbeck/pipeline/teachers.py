"""The teacher of a run: one, or an ensemble whose members are prepared and asked each by itself."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key, file_digest
from limbeck.artifacts.run_folder import RunFolder
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.errors import PathUnusable
from limbeck.labeling.run import label
from limbeck.labeling.source import TeacherSource
from limbeck.pipeline.keys import ExtraText, settings_of, texts
from limbeck.pipeline.pretraining import Pretrained
from limbeck.recipe.decisions import settings
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.teacher import AnyMember, EncoderTeacher, EnsembleTeacher, FileTeacher, StudentTeacher
from limbeck.teacher.chance import refuse_guessing
from limbeck.teacher.checkpoint import checkpoint_fingerprint
from limbeck.teacher.ensemble import guessing_of_labels, join_teachers, member_names
from limbeck.teacher.fine_tune import start_encoder
from limbeck.teacher.run import opened, prepare_teacher
from limbeck.teacher.student_source import find_student
from limbeck.training.tracks import Tracks

STORE = ".label-store"


class OpenedOnce:
    """A teacher, loaded when it is first asked and not before: often every answer is in the store."""

    def __init__(self, folder: TeacherFolder) -> None:
        self.folder = folder

    @cached_property
    def _teacher(self) -> Any:
        return opened(self.folder)

    def __call__(self) -> Any:
        return self._teacher

    def anew(self) -> Any:
        """The teacher loaded for the caller alone, who may let go of it."""
        return opened(self.folder)


@dataclass(frozen=True)
class Teachers:
    """The teacher of a run, and its members by name: of an ensemble all of them, else the teacher alone."""

    teacher: TeacherFolder
    members: dict[str, OpenedOnce] = field(default_factory=dict)

    @property
    def encoder(self) -> OpenedOnce | None:
        """The first member that has states of tokens and a vocabulary; None where all are files or students."""
        return next((member for member in self.members.values() if member.folder.is_encoder), None)

    def unloaded(self) -> "Teachers":
        """The same teachers, none of them in memory."""
        return Teachers(self.teacher, {name: OpenedOnce(member.folder) for name, member in self.members.items()})

    @property
    def sources(self) -> list[TeacherSource]:
        """The members as the labeling room asks them."""
        facts = self.teacher.facts
        weights = dict(zip(facts.members, facts.weights, strict=True))
        return [
            TeacherSource(name=name, fingerprint=member.folder.fingerprint, open=member, weight=weights.get(name, 1.0))
            for name, member in self.members.items()
        ]

    @property
    def folders(self) -> list[TeacherFolder]:
        """Where the members are."""
        return [member.folder for member in self.members.values()]


def teachers_of(recipe: Recipe, corpus: Corpus, pretrained: Pretrained, work: RunFolder, *, tracks: Tracks) -> Teachers:
    """Prepare every teacher of the recipe, or reuse it; one that only guesses is refused."""
    section = recipe.teacher
    if not isinstance(section, EnsembleTeacher):
        teacher = _member(section, "teacher", corpus, pretrained, work, tracks=tracks, table="[teacher]")
        return Teachers(teacher, {teacher.facts.name: OpenedOnce(teacher)})
    table = f"its [[teacher.members]] table{' (with teacher.seeds: in [teacher])' if section.is_of_seeds else ''}"
    members = {
        name: _member(member, f"teachers/{name}", corpus, pretrained, work, tracks=tracks, table=table)
        for name, member in member_names(section.members).items()
    }
    together = work.step(
        "teacher",
        kind="teacher",
        key=Key(
            # In order: the first encoder among them lends its word pieces to students.
            section={**settings_of(recipe, "teacher"), "members": list(members)},
            inputs={
                "corpus": corpus.training_fingerprint,
                **{f"member {name}": folder.fingerprint for name, folder in members.items()},
            },
        ),
        load=TeacherFolder,
        make=lambda out, key: join_teachers(section, members=members, corpus=corpus, out=out, key=key),
    )
    return Teachers(together, {name: OpenedOnce(folder) for name, folder in members.items()})


def _member(
    section: AnyMember,
    name: str,
    corpus: Corpus,
    pretrained: Pretrained,
    work: RunFolder,
    *,
    tracks: Tracks,
    table: str,
) -> TeacherFolder:
    before = pretrained.of(section)
    origin = {**_origin(section), **({} if before is None else {"pretrained": before.fingerprint})}
    teacher = work.step(
        name,
        kind="teacher",
        key=Key(section={"teacher": _settings(section)}, inputs={**origin, "corpus": corpus.training_fingerprint}),
        load=TeacherFolder,
        make=lambda out, key: prepare_teacher(
            section,
            corpus=corpus,
            out=out,
            key=key,
            reporter=work.reporter,
            tracks=tracks,
            pretrained=before.folder if before else None,
        ),
    )
    refuse_guessing(
        teacher.facts,
        near_chance=section.near_chance,
        table=table,
        reporter=work.reporter,
        has_read_together=corpus.is_pair and _is_fine_tuned(section) and not teacher.reads_apart,
    )
    return teacher


def _is_fine_tuned(section: AnyMember) -> bool:
    return isinstance(section, EncoderTeacher) and section.train != "none"


def _settings(section: AnyMember) -> dict[str, Any]:
    """The settings in the key of a teacher: those that decide its answers."""
    return settings(section, "teacher")


def _origin(section: AnyMember) -> dict[str, str]:
    if isinstance(section, StudentTeacher):
        return {"student": find_student(section.path).fingerprint}
    if isinstance(section, FileTeacher):
        if not Path(section.path).is_file():
            reason, advice = "it is a folder", "Give the file of probabilities in it as teacher.path."
            raise PathUnusable(path=section.path, reason=reason, advice=advice)
        return {"file": file_digest(Path(section.path))}
    return {"checkpoint": checkpoint_fingerprint(section.checkpoint)}


def encoder_section(recipe: Recipe) -> EncoderTeacher:
    """The table of the encoder, or of the first among several teachers."""
    members = recipe.teacher.members if isinstance(recipe.teacher, EnsembleTeacher) else [recipe.teacher]
    return next(member for member in members if isinstance(member, EncoderTeacher))


def untaught(section: EncoderTeacher, corpus: Corpus) -> Callable[[], Any] | None:
    """The checkpoint that the encoder was before it was fine-tuned; None where it was taken as it is."""
    return None if section.train == "none" else lambda: start_encoder(section, corpus=corpus).model


def untaught_fingerprint(section: EncoderTeacher) -> str:
    """Of that checkpoint; the weights that it does not bring follow from the seed."""
    return f"{checkpoint_fingerprint(section.checkpoint)} {section.seed}"


def labels_of(recipe: Recipe, corpus: Corpus, extra: ExtraText, teachers: Teachers, work: RunFolder) -> TeacherLabels:
    """Labels of all rows: the student learns from train and extra text, the report needs dev and test."""
    section = recipe.labeling.model_copy(update={"features": recipe.features})
    facts = teachers.teacher.facts
    uncovered = _uncovered(recipe)
    labels = work.step(
        "labels",
        kind="labels",
        key=Key(
            section=settings_of(recipe, "labels"),
            inputs={"teacher": teachers.teacher.fingerprint, **texts(corpus, extra)},
        ),
        load=TeacherLabels,
        make=lambda out, key: label(
            section,
            rows={**corpus.splits, **{name: text.rows for name, text in extra.items()}},
            classes=len(corpus.labels),
            multi_label=corpus.is_multi_label,
            sources=teachers.sources,
            combine="mean_logits" if facts.combine == "mean_logits" else "mean_probabilities",
            uncovered=uncovered,
            fingerprint=teachers.teacher.fingerprint,
            store=Path(section.store) if section.store else work.folder.parent / STORE,
            out=out,
            key=key,
            reporter=work.reporter,
        ),
    )
    if isinstance(recipe.teacher, EnsembleTeacher):
        together = guessing_of_labels(facts, labels=labels, rows=corpus.splits["dev"])
        refuse_guessing(together, near_chance=recipe.teacher.near_chance, table="[teacher]", reporter=work.reporter)
    return labels


def _uncovered(recipe: Recipe) -> Literal["stop", "skip"]:
    section = recipe.teacher
    members = section.members if isinstance(section, EnsembleTeacher) else [section]
    return next((member.uncovered for member in members if isinstance(member, FileTeacher)), "stop")


def teacher_sources(run: Path) -> list[TeacherSource]:
    """The teachers of a run on disk, as the labeling room asks them."""
    teacher = TeacherFolder(run / "teacher")
    facts = teacher.facts
    folders = {name: TeacherFolder(run / "teachers" / name) for name in facts.members} or {facts.name: teacher}
    return Teachers(teacher, {name: OpenedOnce(folder) for name, folder in folders.items()}).sources
