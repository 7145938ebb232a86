"""The complete recipe: one field per section."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from limbeck.kinds import STUDENT_KINDS
from limbeck.recipe.augmentation import Augmentation, Pairing
from limbeck.recipe.base import Locate, Section
from limbeck.recipe.corpus import CorpusSection
from limbeck.recipe.decisions import decides, decides_nothing
from limbeck.recipe.distillation import Distillation
from limbeck.recipe.evaluation import Evaluation
from limbeck.recipe.export import Export
from limbeck.recipe.kinds import Student
from limbeck.recipe.labeling import Labeling
from limbeck.recipe.losses import Need, needs_of
from limbeck.recipe.student import SHORTEST, BiLstm, WordStudent
from limbeck.recipe.teacher import EncoderTeacher, EnsembleTeacher, FileTeacher, Teacher, each_teacher
from limbeck.recipe.transfer import Transfer


class Tracking(Section):
    """Losses, learning rate and dev accuracy of every training, for the trackers that accelerate supports."""

    trackers: list[str] = []
    """Names of trackers, e.g. ["tensorboard"], ["wandb"] or ["mlflow"]; each must be installed. Default: no
    tracking."""
    project: str = Field(default="limbeck", pattern=r"^\w[\w .-]*$")
    """Name of the project in the tracker."""


class Recipe(Section):
    """What a run does, from files to report."""

    name: Annotated[str | None, decides_nothing()] = Field(default=None, pattern=r"^[\w.-]+$")
    """Name of the run and of its folder. Default: the recipe file's name."""
    corpus: Annotated[CorpusSection, decides("corpus")]
    """The labelled rows."""
    transfer: Annotated[Transfer | None, decides("transfer")] = None
    """Unlabelled text the teacher will label."""
    augmentation: Annotated[Augmentation | None, decides("augmented")] = None
    """Changed copies of training rows and transfer text, which the teacher will label too."""
    teacher: Annotated[Teacher, decides("teacher")] = EncoderTeacher()
    """The big model: an encoder, a file of its answers, a student of another run, your own function, or several of
    them."""
    labeling: Annotated[Labeling, decides("labels")] = Labeling()
    """How the teacher labels rows."""
    student: Annotated[Student, decides("vocabulary", "sized_vocabulary", "students", "baseline")] = BiLstm()
    """The small model."""
    distillation: Annotated[Distillation, decides("students", "baseline")] = Distillation()
    """How the small model is trained."""
    export: Annotated[Export, decides("exports")] = Export()
    """The exported files."""
    evaluation: Annotated[Evaluation, decides("report")] = Evaluation()
    """How quality and speed are measured."""
    tracking: Annotated[Tracking, decides_nothing()] = Tracking()
    """Curves for TensorBoard and the like."""

    @model_validator(mode="before")
    @classmethod
    def _a_transformer_reads_as_far_as_its_teacher(cls, given: Any) -> Any:
        """Otherwise a transformer that replaces a Bi-LSTM would read only the beginning of long texts."""
        student = given.get("student") if isinstance(given, Mapping) else None
        if not isinstance(student, Mapping) or "max_length" in student:
            return given
        kind = STUDENT_KINDS.get(str(student.get("kind")))
        if kind is None or kind.tokenizer != "framed":
            return given
        length = _length_of_teacher(given.get("teacher"))
        return given if length is None else {**given, "student": {**student, "max_length": length}}

    @model_validator(mode="after")
    def _sections_agree(self) -> Self:
        unlabelled = "transfer text has" if self.transfer else "changed copies have" if self.augmentation else None
        if unlabelled and self.distillation.needs == {"labels"}:
            raise ValueError(
                f"{unlabelled} no labels, so a loss on the teacher's logits is needed: "
                "add logit_mse or soft_targets to distillation.losses"
            )
        if self.transfer is not None:
            if self.transfer.choice == "nearest" and self.features == "none":
                raise ValueError('transfer.choice = "nearest" needs features: set labeling.features = "mean"')
            if (self.corpus.pair is None) != (self.transfer.pair is None):
                raise ValueError("corpus.pair and transfer.pair must both be given, or neither")
        methods = self.augmentation.methods if self.augmentation else []
        if self.augmentation and self.augmentation.transfer_copies and self.transfer is None:
            raise ValueError(
                "augmentation.transfer_copies copies transfer text, but the recipe has no [transfer]: add it"
            )
        if self.corpus.pair is None and any(isinstance(method, Pairing) for method in methods):
            raise ValueError("pairing makes new pairs, but the corpus has no pairs: remove it, or set corpus.pair")
        self._teacher_fits()
        self._losses_fit()
        if self.corpus.pair is not None and isinstance(self.student, WordStudent) and self.student.why_not_pairs:
            raise ValueError(self.student.why_not_pairs)
        return self

    @property
    def features(self) -> Literal["none", "cls", "mean"]:
        """The vectors that are stored with the teacher's labels, with "auto" resolved."""
        asked = self.labeling.features
        if asked != "auto":
            return asked
        if "features" in self.distillation.needs:
            return "cls"
        return "mean" if self.transfer is not None and self.transfer.choice == "nearest" else "none"

    def _teacher_fits(self) -> None:
        """The teacher must have what later stages need from it."""
        members = each_teacher(self.teacher)
        if any(
            isinstance(member, FileTeacher) and (member.pair is None) != (self.corpus.pair is None)
            for member in members
        ):
            raise ValueError("corpus.pair and the `pair` of a teacher that is a file must both be given, or neither")
        if any(isinstance(member, EncoderTeacher) and member.pairs == "apart" for member in members):
            if self.corpus.pair is None:
                raise ValueError('teacher.pairs = "apart" is for rows of two texts: remove it, or set corpus.pair')
            if STUDENT_KINDS[self.student.kind].pairs == "together":
                raise ValueError(
                    f"a {self.student.kind} reads both texts of a row together, so it cannot start from a teacher with "
                    'pairs = "apart": set teacher.pairs = "together", or student.kind = "bilstm"'
                )
        kind = STUDENT_KINDS[self.student.kind]
        if kind.starts_from == "teacher_layers" and any(
            isinstance(member, EncoderTeacher) and member.head == "mean" for member in members
        ):
            raise ValueError(
                f'a {self.student.kind} takes over its teacher\'s head, and cannot with teacher.head = "mean": set '
                'teacher.head = "own", or student.kind = "bilstm"'
            )
        wanted = self.student.vocabulary.kind
        if wanted in ("pieces", "teacher") and not any(member.traits.has_tokens for member in members):
            raise ValueError(
                f'student.vocabulary.kind = "{wanted}" uses the pieces of an encoder, but the teacher is not one'
            )
        if self.features != "none" and not self.teacher.traits.has_features:
            asked = "labeling.features" if self.labeling.features != "auto" else self._asking_for("features")
            asked = asked or 'transfer.choice = "nearest"'
            single = f"a single encoder or student only{self._one_of_seeds}"
            raise ValueError(f"features, for {asked}, are available from {single}")

    @property
    def _one_of_seeds(self) -> str:
        """Advice if there are several teachers because of teacher.seeds."""
        several = isinstance(self.teacher, EnsembleTeacher) and self.teacher.is_of_seeds
        return ": set one teacher.seed instead of teacher.seeds" if several else ""

    def _losses_fit(self) -> None:
        """Teacher, labels and student must have what the losses need."""
        distillation = self.distillation
        if "features" in distillation.needs and self.labeling.features == "none":
            asked = self._asking_for("features")
            raise ValueError(f'{asked} needs features, but labeling.features is "none": remove that key')
        if self.corpus.multi_label and (wrong := [loss.kind for loss in distillation.every_loss if loss.exclusive]):
            raise ValueError(
                f"{', '.join(wrong)} {'need' if wrong[1:] else 'needs'} rows with one label, but "
                "corpus.multi_label is true: use soft_targets or logit_mse, which support several labels"
            )
        self._classes_are_learned()
        if "layers" in distillation.needs:
            self._refuse_without_layers(self._asking_for("layers"))

    def _classes_are_learned(self) -> None:
        """A student that starts from the teacher's layers may have its classifier too; any other has to learn one, in
        its last training stage."""
        distillation = self.distillation
        losses = distillation.stages[-1].losses if distillation.stages else distillation.losses
        has_classifier = STUDENT_KINDS[self.student.kind].starts_from == "teacher_layers"
        if not has_classifier and not any({"labels", "logits"} & needs_of(loss) for loss in losses):
            kinds, where = (
                ", ".join(loss.kind for loss in losses),
                "the last training stage" if distillation.stages else "losses",
            )
            raise ValueError(
                f"with {kinds} alone no classes are learned: add logit_mse, soft_targets or hard_labels to {where}"
            )

    def _refuse_without_layers(self, asking: str) -> None:
        if not self.teacher.traits.has_tokens:
            single = f"only a single encoder has layers{self._one_of_seeds}"
            raise ValueError(f"{asking} reads the teacher's layers, but {single}")
        if not STUDENT_KINDS[self.student.kind].has_layers:
            raise ValueError(
                f"{asking} reads the student's layers, but a {self.student.kind} has no layers to compare: "
                'set student.kind = "transformer", or use a loss on features (spkd, hint, rkd, factor_transfer)'
            )
        if self.student.vocabulary.kind != "teacher":
            raise ValueError(
                f"{asking} compares token by token, so student and teacher must have the same tokens: "
                'set student.vocabulary.kind = "teacher"'
            )

    def _asking_for(self, need: Need) -> str:
        """The kinds of loss that need this."""
        return ", ".join(dict.fromkeys(loss.kind for loss in self.distillation.every_loss if need in needs_of(loss)))

    def located(self, locate: Locate) -> Self:
        """With every path of every section made absolute."""
        sections = {name: getattr(self, name) for name in type(self).model_fields}
        return self.model_copy(
            update={name: value.located(locate) for name, value in sections.items() if isinstance(value, Section)}
        )


def _length_of_teacher(given: Any) -> int | None:
    """The `max_length` of the teacher, of several the longest; None if it is missing or invalid."""
    if not isinstance(given, Mapping):
        return None
    members = given.get("members")
    if isinstance(members, list):
        lengths = [length for member in members if (length := _length_of_teacher(member)) is not None]
        return max(lengths, default=None)
    length = given.get("max_length")
    return length if type(length) is int and length >= SHORTEST else None
