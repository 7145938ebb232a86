"""One student of a run: its key, and its training."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from limbeck.artifacts.chosen_rows import ChosenRows
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.general_folder import GeneralFolder
from limbeck.artifacts.manifest import Key, checkpoint_fingerprint, file_digest
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.artifacts.transfer_text import TransferText
from limbeck.artifacts.vocabulary_folder import VocabularyFolder
from limbeck.distillation.run import Checkpoint, Origins, train_student
from limbeck.distillation.student_files import Role
from limbeck.distillation.terms.custom import custom_files
from limbeck.distillation.transductive import train_transductive
from limbeck.kinds import STUDENT_KINDS
from limbeck.pipeline.extra_text import ChosenText
from limbeck.pipeline.keys import settings_of, training_fingerprints
from limbeck.pipeline.teachers import OpenedOnce, Teachers, before_fine_tuning, checkpoint_key, encoder_section
from limbeck.progress import Reporter
from limbeck.recipe.files import general_folder
from limbeck.recipe.no_teacher import NoTeacher
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.student import AnyStudent, Transformer, WordStudent
from limbeck.recipe.textgcn import TextGcn
from limbeck.teacher.checkpoint import find_checkpoint
from limbeck.teacher.loading import load_encoder
from limbeck.training.tracks import Tracks


@dataclass(frozen=True)
class TrainingInputs:
    """Everything the students of one kind are trained from: finished artifacts, each in its folder; and the recipe,
    with that kind as its only student."""

    recipe: Recipe
    corpus: Corpus
    chosen_text: ChosenText
    labels: TeacherLabels
    vocabulary: VocabularyFolder
    teachers: Teachers
    tracks: Tracks

    def as_json(self) -> dict[str, Any]:
        """The folders of all artifacts, for another process."""
        chosen = self.chosen_text.chosen
        return {
            "recipe": self.recipe.model_dump(mode="json"),
            "corpus": str(self.corpus.folder),
            "parts": {name: str(text.folder) for name, text in self.chosen_text.parts.items()},
            "chosen": str(chosen.folder) if chosen else None,
            "taught": str(self.chosen_text.taught.folder) if self.chosen_text.taught else None,
            "labels": str(self.labels.folder),
            "vocabulary": str(self.vocabulary.folder),
            "teacher": str(self.teachers.teacher.folder),
            "members": {name: str(member.folder.folder) for name, member in self.teachers.members.items()},
            "tracks": {**asdict(self.tracks), "folder": str(self.tracks.folder)},
        }

    @classmethod
    def from_json(cls, places: Mapping[str, Any]) -> "TrainingInputs":
        """The same, opened in another process."""
        members = {name: TeacherFolder(Path(place)) for name, place in places["members"].items()}
        return cls(
            recipe=Recipe.model_validate(places["recipe"]),
            corpus=Corpus(Path(places["corpus"])),
            chosen_text=ChosenText(
                {name: TransferText(Path(place)) for name, place in places["parts"].items()},
                ChosenRows(Path(places["chosen"])) if places["chosen"] else None,
                TransferText(Path(places["taught"])) if places["taught"] else None,
            ),
            labels=TeacherLabels(Path(places["labels"])),
            vocabulary=VocabularyFolder(Path(places["vocabulary"])),
            teachers=Teachers(
                TeacherFolder(Path(places["teacher"])), {name: OpenedOnce(folder) for name, folder in members.items()}
            ),
            tracks=Tracks(**{**places["tracks"], "folder": Path(places["tracks"]["folder"])}),
        )


@dataclass(frozen=True)
class StudentId:
    """Identifies one student among those of its kind: its role and its seed."""

    role: Role
    seed: int

    @property
    def is_alone(self) -> bool:
        """Whether it is trained without a teacher."""
        return self.role == "baseline"


Job = tuple[StudentId, TrainingInputs]  # one student of a run, and what it is trained from


def place_of(student_id: StudentId, inputs: TrainingInputs) -> str:
    """The student's folder in the run."""
    return f"students/{inputs.recipe.student.kind}{'-alone' if student_id.is_alone else ''}/{student_id.seed}"


def key_of(student_id: StudentId, inputs: TrainingInputs) -> Key:
    """The key of a student. It does not contain the seed, as each seed has its own folder."""
    recipe, alone = inputs.recipe, student_id.is_alone
    student, _ = _student_and_origins(inputs, alone=alone)
    return Key(
        section=settings_of(recipe.model_copy(update={"student": student}), "baseline" if alone else "students"),
        inputs={
            "corpus": corpus_read(inputs.corpus, student),
            "vocabulary": inputs.vocabulary.fingerprint,
            **start_fingerprint(student),
            **(_inputs_of_baseline(recipe) if alone else _inputs_of_student(inputs)),
        },
    )


def corpus_read(corpus: Corpus, student: AnyStudent) -> str:
    """Fingerprint of the rows that a student learns with: without test rows, but for one whose graph has them."""
    is_transductive = isinstance(student, TextGcn) and student.transductive
    return corpus.fingerprint if is_transductive else corpus.training_fingerprint


def general_of(student: AnyStudent) -> GeneralFolder | None:
    """The general student that it starts from."""
    if isinstance(student, WordStudent) and student.is_general:
        return GeneralFolder(general_folder(student.start))
    return None


def start_fingerprint(student: AnyStudent) -> dict[str, str]:
    """Of a general student or a checkpoint that it starts from, for a key; nothing without one."""
    if isinstance(student, Transformer):
        return {"start": checkpoint_fingerprint(student.checkpoint)} if student.checkpoint else {}
    general = general_of(student)
    return {"general": general.fingerprint} if general else {}


def train_one(
    student_id: StudentId, inputs: TrainingInputs, *, out: Path, key: Key, reporter: Reporter
) -> StudentFolder:
    """Train a student, or continue its training."""
    student, origins = _student_and_origins(inputs, alone=student_id.is_alone)
    if isinstance(student, TextGcn) and student.transductive:
        return train_transductive(
            student,
            inputs.recipe.distillation,
            seed=student_id.seed,
            corpus=inputs.corpus,
            vocabulary=inputs.vocabulary,
            out=out,
            key=key,
            reporter=reporter,
        )
    has_no_teacher = student_id.is_alone or isinstance(inputs.recipe.teacher, NoTeacher)
    return train_student(
        inputs.recipe.distillation,
        student=student,
        role=student_id.role,
        seed=student_id.seed,
        corpus=inputs.corpus,
        extra=[] if student_id.is_alone else inputs.chosen_text.rows,
        foreign=[] if student_id.is_alone else inputs.chosen_text.foreign,
        labels=None if has_no_teacher else inputs.labels,
        vocabulary=inputs.vocabulary,
        out=out,
        key=key,
        reporter=reporter,
        tracks=inputs.tracks,
        origins=origins,
    )


def _inputs_of_student(inputs: TrainingInputs) -> dict[str, str]:
    """Inputs of a distilled student. The teacher's labels are determined by the teacher and the texts."""
    recipe, chosen_text = inputs.recipe, inputs.chosen_text
    files = custom_files(recipe.distillation.every_loss)
    return {
        "teacher": inputs.labels.facts["teacher"],
        **training_fingerprints(inputs.corpus, chosen_text.parts),
        **chosen_text.fingerprints,
        **({"features": recipe.features} if "features" in recipe.distillation.needs else {}),
        **{f"loss {call}": file_digest(file) if file else "" for call, file in files.items()},
    }


def _inputs_of_baseline(recipe: Recipe) -> dict[str, str]:
    """The checkpoint that the baseline of a transformer starts from, as the teacher did."""
    is_own = isinstance(recipe.student, Transformer) and recipe.student.checkpoint is not None
    has_start = STUDENT_KINDS[recipe.student.kind].starts_from == "teacher_layers" and not is_own
    return {"checkpoint": checkpoint_key(encoder_section(recipe))} if has_start else {}


def _student_and_origins(inputs: TrainingInputs, *, alone: bool) -> tuple[AnyStudent, Origins]:
    """The student, and where its initial weights come from.

    A baseline must not learn from the teacher, so it starts from the checkpoint before fine-tuning. If the teacher was
    not fine-tuned, the baseline has only the teacher's shape, and starts from random weights. A checkpoint of the
    student's own knows nothing of the task: both start from it.
    """
    recipe, encoder = inputs.recipe, inputs.teachers.encoder
    student = recipe.student
    if isinstance(student, Transformer) and student.checkpoint is not None:
        reads_along = encoder is not None and not alone and "layers" in recipe.distillation.needs
        checkpoint = _opened(student.checkpoint, student, inputs.corpus)
        return student, Origins(checkpoint=checkpoint, teacher=encoder if reads_along else None)
    if not isinstance(student, Transformer) or encoder is None:
        return student, Origins(general=general_of(student))
    if not alone:
        needs_layers = "layers" in recipe.distillation.needs
        load = encoder if needs_layers else encoder.reloaded  # for initial weights alone it need not stay in memory
        return student, Origins(start_from=lambda: load().model, teacher=encoder if needs_layers else None)
    before = before_fine_tuning(encoder_section(recipe), inputs.corpus)
    if before is None:
        return student.model_copy(update={"start": "random"}), Origins(start_from=lambda: encoder.reloaded().model)
    return student, Origins(start_from=before)


def _opened(name: str, student: Transformer, corpus: Corpus) -> Checkpoint:
    """The checkpoint as a classifier for the classes of the corpus."""

    def opened() -> tuple[Any, Collection[str]]:
        encoder = load_encoder(
            find_checkpoint(name, what="student"),
            max_length=student.max_length,
            arithmetic="fp32",
            labels=corpus.labels,
            task=corpus.task,
        )
        return encoder.model, encoder.fresh

    return Checkpoint(Path(name).name, opened)
