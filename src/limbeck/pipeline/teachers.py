"""The teacher of a run: a single one, or an ensemble whose members are prepared and asked one by one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

from limbeck.artifacts.answers import Logits
from limbeck.artifacts.atomic_folder import copied
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.file_systems import is_address
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.pretrained_folder import PretrainedFolder
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.run_folder import RunFolder
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.labeling import label
from limbeck.labeling.asking import asked_rows
from limbeck.labeling.run import label_nothing
from limbeck.labeling.source import Runner, TeacherSource
from limbeck.labeling.store import Root, SharedStore
from limbeck.pipeline.keys import ExtraText, settings_of, texts
from limbeck.pipeline.pretraining import Pretrained
from limbeck.recipe.decisions import settings
from limbeck.recipe.endpoint import EndpointTeacher
from limbeck.recipe.no_teacher import NoTeacher
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

LABEL_STORE = ".label-store"
PORTABLE = ("encoder", "student", "custom")  # kinds whose answers need what is in their folder, and nothing else


class OpenedOnce:
    """A teacher that is loaded on first use: often every answer is already in the label store."""

    def __init__(self, folder: TeacherFolder, section: AnyTeacher | None = None) -> None:
        self.folder, self.section = folder, section

    @cached_property
    def _teacher(self) -> Any:
        return opened(self.folder, self.section)

    def __call__(self) -> Any:
        return self._teacher

    def __reduce__(self) -> tuple[Any, ...]:
        return OpenedOnce, (self.folder, self.section)  # another process loads it for itself

    @property
    def place(self) -> Path:
        """The folder with its files."""
        return self.folder.folder

    def opened_in(self, folder: Path) -> Any:
        """The teacher, of a copy of its folder."""
        return opened(TeacherFolder(folder), self.section)

    def reloaded(self) -> Any:
        """A copy loaded for the caller alone, who can release its memory."""
        return opened(self.folder, self.section)


@dataclass(frozen=True)
class Teachers:
    """The teacher of a run, and its members by name: all members of an ensemble, or the teacher alone."""

    teacher: TeacherFolder
    members: dict[str, OpenedOnce] = field(default_factory=dict)

    @property
    def encoder(self) -> OpenedOnce | None:
        """The first member with token states and a vocabulary; None if all are files or students."""
        return next((member for member in self.members.values() if member.folder.is_encoder), None)

    def unloaded(self) -> "Teachers":
        """The same teachers, not loaded."""
        return Teachers(self.teacher, {name: OpenedOnce(one.folder, one.section) for name, one in self.members.items()})

    @property
    def sources(self) -> list[TeacherSource]:
        """The members in the form that the labeling room takes."""
        facts = self.teacher.facts
        weights = dict(zip(facts.members, facts.weights, strict=True))
        return [
            TeacherSource(
                name=name,
                fingerprint=member.folder.fingerprint,
                open=member,
                weight=weights.get(name, 1.0),
                temperature=member.folder.facts.temperature or 1.0,
                portable=member if member.folder.facts.kind in PORTABLE else None,
                shift=member.folder.facts.shift or 0.0,
            )
            for name, member in self.members.items()
        ]

    @property
    def folders(self) -> list[TeacherFolder]:
        """The folders of the members."""
        return [member.folder for member in self.members.values()]


def teachers_of(recipe: Recipe, corpus: Corpus, pretrained: Pretrained, run: RunFolder, *, tracks: Tracks) -> Teachers:
    """Prepare every teacher of the recipe, or reuse it. Raises if one only guesses."""
    section = recipe.teacher
    prepare = partial(_prepared, recipe=recipe, corpus=corpus, pretrained=pretrained, run=run, tracks=tracks)
    if isinstance(section, NoTeacher):
        return Teachers(prepare(section, "teacher"))
    if not isinstance(section, EnsembleTeacher):
        teacher = prepare(section, "teacher", table="[teacher]")
        return Teachers(teacher, {teacher.facts.name: OpenedOnce(teacher, section)})
    table = f"its [[teacher.members]] table{' (with teacher.seeds: in [teacher])' if section.is_of_seeds else ''}"
    named = member_names(section.members)
    members = {name: prepare(member, f"teachers/{name}", table=table) for name, member in named.items()}
    together = prepare(section, "teacher", members=members)
    return Teachers(together, {name: OpenedOnce(folder, named[name]) for name, folder in members.items()})


def _prepared(
    section: AnyTeacher,
    name: str,
    *,
    recipe: Recipe,
    corpus: Corpus,
    pretrained: Pretrained,
    run: RunFolder,
    tracks: Tracks,
    table: str | None = None,
    members: Mapping[str, TeacherFolder] | None = None,
) -> TeacherFolder:
    """One teacher, or an ensemble. If `table` (where it is defined) is given, a teacher that guesses is refused."""
    before = None if isinstance(section, EnsembleTeacher | NoTeacher) else pretrained.of(section)

    def make(out: Path, key: Key) -> None:
        if kind_of(section).is_fine_tuned(section) and _copied(out, key, run):
            return
        prepare_teacher(
            section,
            corpus=corpus,
            out=out,
            key=key,
            reporter=run.reporter,
            tracks=tracks,
            pretrained=before.folder if before else None,
            members=members,
            ask=_asking(recipe, corpus, run),
        )

    key = _key(section, corpus=corpus, pretrained=before, members=members or {})
    teacher = run.step(name, kind="teacher", key=key, load=TeacherFolder, make=make)
    if table is not None and not isinstance(section, NoTeacher):
        refuse_guessing(
            teacher.facts,
            near_chance=section.near_chance,
            table=table,
            reporter=run.reporter,
            has_read_together=corpus.is_pair and kind_of(section).is_fine_tuned(section) and not teacher.reads_apart,
        )
    return teacher


def _copied(out: Path, key: Key, run: RunFolder) -> bool:
    """Whether a run beside this one, or this one itself, had a teacher with the same key, which was copied.

    Fine-tuning takes longest, and the same settings and rows give the same teacher; its answers are in the label store
    under the same fingerprint, so that it is not even asked again.
    """
    places = [path for pattern in ("*/teacher", "*/teachers/*") for path in run.folder.parent.glob(pattern)]
    source = copied(out, kind="teacher", key=key, among=sorted(path for path in places if path != out))
    if source is not None:
        run.reporter.note(f"  copied from {source}: it has the same settings and training rows")
    return source is not None


def _key(
    section: AnyTeacher, *, corpus: Corpus, pretrained: PretrainedFolder | None, members: Mapping[str, TeacherFolder]
) -> Key:
    """The settings that determine the answers, and what the teacher is made from."""
    kind = kind_of(section)
    return Key(
        # Ordered: students take their word pieces from the first encoder among the members.
        section={"teacher": settings(section, "teacher"), **({"members": list(members)} if members else {})},
        inputs={
            **kind.inputs(section),
            **({"pretrained": pretrained.fingerprint} if pretrained else {}),
            "corpus": corpus.training_fingerprint,
            **{f"member {name}": folder.fingerprint for name, folder in members.items()},
        },
    )


def _asking(recipe: Recipe, corpus: Corpus, run: RunFolder) -> AskAndKeep:
    """Asks the teacher through the label store, so that its answers from judging it on dev are reused."""

    def ask(teacher: OpenTeacher, *, name: str, fingerprint: str, rows: Rows) -> Logits:
        source = TeacherSource(name=name, fingerprint=fingerprint, open=lambda: teacher)
        root, classes = store_of(recipe, run.folder), len(corpus.labels)
        return asked_rows(source, recipe.labeling, rows=rows, classes=classes, root=root, reporter=run.reporter)

    return ask


def store_of(recipe: Recipe, folder: Path) -> Root:
    """The label store of the run in this folder."""
    return root_of(recipe.labeling.store, folder)


def root_of(store: str | None, folder: Path) -> Root:
    """The label store that a recipe names, for the run in this folder."""
    local = folder.parent / LABEL_STORE
    if store is None:
        return local
    return SharedStore(store, local) if is_address(store) else Path(store)


def encoder_section(recipe: Recipe) -> EncoderTeacher:
    """The table of the encoder; of several teachers, the first encoder's."""
    return next(member for member in each_teacher(recipe.teacher) if isinstance(member, EncoderTeacher))


def before_fine_tuning(section: EncoderTeacher, corpus: Corpus) -> Callable[[], Any] | None:
    """Loads the checkpoint that the encoder was fine-tuned from; None if it is used as it is."""
    return None if section.train == "none" else lambda: start_encoder(section, corpus=corpus).model


def checkpoint_key(section: EncoderTeacher) -> str:
    """Fingerprint of that checkpoint, with the seed that determines the weights it does not have."""
    return f"{checkpoint_fingerprint(section.checkpoint)} {section.seed}"


def labels_of(
    recipe: Recipe,
    corpus: Corpus,
    extra: ExtraText,
    teachers: Teachers,
    run: RunFolder,
    *,
    runner: Runner | None = None,
) -> TeacherLabels:
    """Labels of all rows: the student is trained on train and extra text, the report needs dev and test."""
    section = recipe.labeling.model_copy(update={"features": recipe.features})
    facts = teachers.teacher.facts
    uncovered = _uncovered(recipe)
    rows = {**corpus.splits, **{name: text.rows for name, text in extra.items()}}
    fingerprint, store, classes = teachers.teacher.fingerprint, store_of(recipe, run.folder), len(corpus.labels)

    def make(out: Path, key: Key) -> None:
        if isinstance(recipe.teacher, NoTeacher):
            label_nothing(rows, classes=classes, fingerprint=fingerprint, store=store, out=out, key=key)
            return
        label(
            section,
            rows=rows,
            classes=classes,
            multi_label=corpus.is_multi_label,
            sources=teachers.sources,
            combine="mean_logits" if facts.combine == "mean_logits" else "mean_probabilities",
            uncovered=uncovered,
            fingerprint=fingerprint,
            store=store,
            out=out,
            key=key,
            reporter=run.reporter,
            runner=runner,
        )

    labels = run.step(
        "labels",
        kind="labels",
        key=Key(
            section=settings_of(recipe, "labels"),
            inputs={"teacher": fingerprint, **_temperatures(teachers), **texts(corpus, extra)},
        ),
        load=TeacherLabels,
        make=make,
    )
    if isinstance(recipe.teacher, EnsembleTeacher):
        together = guessing_of_labels(facts, labels=labels, rows=corpus.splits["dev"])
        refuse_guessing(together, near_chance=recipe.teacher.near_chance, table="[teacher]", reporter=run.reporter)
    return labels


def _temperatures(teachers: Teachers) -> dict[str, str]:
    """Fitted on dev, not part of the fingerprint that the label store is named by: nothing is asked again for them."""
    found = {name: member.folder.facts for name, member in teachers.members.items()}
    shifted = {f"shift {name}": str(facts.shift) for name, facts in found.items() if facts.shift}
    tempered = {name: facts.temperature for name, facts in found.items()}
    return {**shifted, **{f"temperature {name}": str(one) for name, one in tempered.items() if one not in (None, 1.0)}}


def _uncovered(recipe: Recipe) -> Literal["stop", "skip"]:
    members = (one for one in each_teacher(recipe.teacher) if isinstance(one, FileTeacher | EndpointTeacher))
    return next((member.uncovered for member in members), "stop")


def teacher_sources(folder: Path) -> list[TeacherSource]:
    """The teachers of the run in `folder`, in the form that the labeling room takes."""
    teacher = TeacherFolder(folder / "teacher")
    facts = teacher.facts
    folders = {name: TeacherFolder(folder / "teachers" / name) for name in facts.members} or {facts.name: teacher}
    return Teachers(teacher, {name: OpenedOnce(folder) for name, folder in folders.items()}).sources
