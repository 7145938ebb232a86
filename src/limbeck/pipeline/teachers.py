"""The teacher of a run: one, or an ensemble whose members are prepared and asked each by itself."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

from limbeck.artifacts.answers import Logits
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.pretrained_folder import PretrainedFolder
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.run_folder import RunFolder
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.labeling import label
from limbeck.labeling.asking import asked_rows
from limbeck.labeling.source import TeacherSource
from limbeck.pipeline.keys import ExtraText, settings_of, texts
from limbeck.pipeline.pretraining import Pretrained
from limbeck.recipe.decisions import settings
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.teacher import AnyTeacher, EncoderTeacher, EnsembleTeacher, FileTeacher, each_teacher
from limbeck.teacher.chance import refuse_guessing
from limbeck.teacher.checkpoint import checkpoint_fingerprint
from limbeck.teacher.ensemble import guessing_of_labels
from limbeck.teacher.fine_tune import start_encoder
from limbeck.teacher.kinds import kind_of
from limbeck.teacher.preparation import AskAndKeep, OpenTeacher
from limbeck.teacher.run import member_names, opened, prepare_teacher
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
    prepare = partial(_prepared, recipe=recipe, corpus=corpus, pretrained=pretrained, work=work, tracks=tracks)
    if not isinstance(section, EnsembleTeacher):
        teacher = prepare(section, "teacher", table="[teacher]")
        return Teachers(teacher, {teacher.facts.name: OpenedOnce(teacher)})
    table = f"its [[teacher.members]] table{' (with teacher.seeds: in [teacher])' if section.is_of_seeds else ''}"
    members = {
        name: prepare(member, f"teachers/{name}", table=table) for name, member in member_names(section.members).items()
    }
    together = prepare(section, "teacher", members=members)
    return Teachers(together, {name: OpenedOnce(folder) for name, folder in members.items()})


def _prepared(
    section: AnyTeacher,
    name: str,
    *,
    recipe: Recipe,
    corpus: Corpus,
    pretrained: Pretrained,
    work: RunFolder,
    tracks: Tracks,
    table: str | None = None,
    members: Mapping[str, TeacherFolder] | None = None,
) -> TeacherFolder:
    """One teacher, or several joined; with the `table` that it comes from, one that guesses is refused."""
    before = None if isinstance(section, EnsembleTeacher) else pretrained.of(section)
    teacher = work.step(
        name,
        kind="teacher",
        key=_key(section, corpus=corpus, pretrained=before, members=members or {}),
        load=TeacherFolder,
        make=lambda out, key: prepare_teacher(
            section,
            corpus=corpus,
            out=out,
            key=key,
            reporter=work.reporter,
            tracks=tracks,
            pretrained=before.folder if before else None,
            members=members,
            ask=_asking(recipe, corpus, work),
        ),
    )
    if table is not None:
        refuse_guessing(
            teacher.facts,
            near_chance=section.near_chance,
            table=table,
            reporter=work.reporter,
            has_read_together=corpus.is_pair and kind_of(section).is_fine_tuned(section) and not teacher.reads_apart,
        )
    return teacher


def _key(
    section: AnyTeacher, *, corpus: Corpus, pretrained: PretrainedFolder | None, members: Mapping[str, TeacherFolder]
) -> Key:
    """What the kind says decides about the answers, and what the teacher is made from."""
    kind = kind_of(section)
    return Key(
        # In order: the first encoder among the members lends its word pieces to students.
        section={"teacher": settings(section, "teacher"), **({"members": list(members)} if members else {})},
        inputs={
            **kind.inputs(section),
            **({"pretrained": pretrained.fingerprint} if pretrained else {}),
            "corpus": corpus.training_fingerprint,
            **{f"member {name}": folder.fingerprint for name, folder in members.items()},
        },
    )


def _asking(recipe: Recipe, corpus: Corpus, work: RunFolder) -> AskAndKeep:
    """Asking by way of the label store, so that what a teacher answers while it is judged is not asked again."""

    def ask(teacher: OpenTeacher, *, name: str, fingerprint: str, rows: Rows) -> Logits:
        source = TeacherSource(name=name, fingerprint=fingerprint, open=lambda: teacher)
        root, classes = _store(recipe, work), len(corpus.labels)
        return asked_rows(source, recipe.labeling, rows=rows, classes=classes, root=root, reporter=work.reporter)

    return ask


def _store(recipe: Recipe, work: RunFolder) -> Path:
    """The folder of the label store."""
    return Path(recipe.labeling.store) if recipe.labeling.store else work.folder.parent / STORE


def encoder_section(recipe: Recipe) -> EncoderTeacher:
    """The table of the encoder, or of the first among several teachers."""
    return next(member for member in each_teacher(recipe.teacher) if isinstance(member, EncoderTeacher))


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
            store=_store(recipe, work),
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
    files = (member for member in each_teacher(recipe.teacher) if isinstance(member, FileTeacher))
    return next((file.uncovered for file in files), "stop")


def teacher_sources(run: Path) -> list[TeacherSource]:
    """The teachers of a run on disk, as the labeling room asks them."""
    teacher = TeacherFolder(run / "teacher")
    facts = teacher.facts
    folders = {name: TeacherFolder(run / "teachers" / name) for name in facts.members} or {facts.name: teacher}
    return Teachers(teacher, {name: OpenedOnce(folder) for name, folder in folders.items()}).sources
