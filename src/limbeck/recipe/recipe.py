"""The complete recipe: one field per section."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, cast

from pydantic import Field, ValidationError, model_validator

from limbeck.kinds import AUTO, AUTO_CANDIDATES, AUTO_SHARED, DEFAULT_STUDENT, STUDENT_KINDS, resolved
from limbeck.recipe.augmentation import Augmentation, PairMethods
from limbeck.recipe.base import Locate, Section
from limbeck.recipe.corpus import CorpusSection
from limbeck.recipe.decisions import decides, decides_nothing
from limbeck.recipe.distillation import Distillation
from limbeck.recipe.evaluation import Evaluation
from limbeck.recipe.export import Export, Precision
from limbeck.recipe.kinds import Student
from limbeck.recipe.labeling import Labeling
from limbeck.recipe.losses import Need, needs_of
from limbeck.recipe.no_teacher import on_labels_alone, refuse_what_needs_a_teacher
from limbeck.recipe.scores import refuse_class_only
from limbeck.recipe.student import SHORTEST, AnyStudent, BiLstm, Ngrams, PairStudent, Transformer, WordStudent
from limbeck.recipe.teacher import EncoderTeacher, EnsembleTeacher, FileTeacher, Teacher, each_teacher
from limbeck.recipe.textgcn import TextGcn, refuse_other_graphs
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

    name: Annotated[str | None, decides_nothing()] = Field(default=None, pattern=r"^[\w-][\w.-]*$")
    """Name of the run and of its folder; it does not start with a dot. Default: the recipe file's name."""
    minutes: Annotated[float | None, decides_nothing()] = Field(default=None, gt=0)
    """The time that the run may take on this machine: if a short timing says that it would take longer, rows, epochs
    and copies are cut to fit. `limbeck run --minutes` takes its place, and also plans more than the recipe has.
    Default: no limit."""
    corpus: Annotated[CorpusSection, decides("corpus")]
    """The labelled rows."""
    transfer: Annotated[Transfer | None, decides("transfer")] = None
    """Unlabelled text the teacher will label."""
    augmentation: Annotated[Augmentation | None, decides("augmented")] = None
    """Changed copies of training rows and transfer text, which the teacher will label too."""
    teacher: Annotated[Teacher, decides("teacher")] = EncoderTeacher()
    """The big model: an encoder, a file of its answers, a student of another run, your own function, or several of
    them; or "none"."""
    labeling: Annotated[Labeling, decides("labels")] = Labeling()
    """How the teacher labels rows."""
    student: Annotated[Student, decides("vocabulary", "sized_vocabulary", "students", "baseline")] = BiLstm()
    """The small model."""
    candidates: Annotated[list[Student], decides("vocabulary", "sized_vocabulary", "students")] = []
    """Further students, each of another kind, trained as `[student]` is: on the same rows and labels, with the same
    `[distillation]`. Of them only `ngrams` has a baseline of its own, which may be part of the blend: where the teacher
    is weak, the labels alone teach it more. `student.kind = "auto"` is short for a Bi-LSTM with the keys of
    `[student]`, and `ngrams` and a text CNN as candidates."""
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
    def _students_are_complete(cls, given: Any) -> Any:
        """With "auto" replaced by what it is short for, and with transformers that read as far as their teacher:
        otherwise one that replaces a Bi-LSTM would read only the beginning of long texts."""
        if not isinstance(given, Mapping):
            return given
        given, length = _without_auto(on_labels_alone(given)), _length_of_teacher(given.get("teacher"))
        if "student" in given:
            given = {**given, "student": _as_long(given["student"], length)}
        if isinstance(given.get("candidates"), list):
            given = {**given, "candidates": [_as_long(candidate, length) for candidate in given["candidates"]]}
        return given

    @model_validator(mode="after")
    def _sections_agree(self) -> Self:
        refuse_what_needs_a_teacher(self)
        unlabelled = "transfer text has" if self.transfer else "changed copies have" if self.augmentation else None
        if unlabelled and self.distillation.needs == {"labels"}:
            raise ValueError(
                f"{unlabelled} no labels, so a loss on the teacher's logits is needed: "
                "add logit_mse or soft_targets to distillation.losses"
            )
        if self.transfer is not None:
            if self.transfer.choice == "nearest" and self.features == "none":
                raise ValueError('transfer.choice = "nearest" needs features: set labeling.features = "mean"')
            has_pairs = self.transfer.pair is not None or self.transfer.partners > 0
            if (self.corpus.pair is None) == has_pairs:
                raise ValueError(
                    "corpus.pair and transfer.pair must both be given, or neither; for pairs, transfer.partners makes "
                    "pairs of single texts"
                )
        methods = self.augmentation.methods if self.augmentation else []
        if self.augmentation and self.augmentation.transfer_copies and self.transfer is None:
            raise ValueError(
                "augmentation.transfer_copies copies transfer text, but the recipe has no [transfer]: add it"
            )
        if self.corpus.pair is None and (of_pairs := [one for one in methods if isinstance(one, PairMethods)]):
            kind = of_pairs[0].kind
            raise ValueError(f"{kind} makes new pairs, but the corpus has no pairs: remove it, or set corpus.pair")
        refuse_class_only(self)
        self._teacher_fits()
        self._losses_fit()
        self._student_fits()
        self._candidates_fit()
        self._abstaining_fits()
        return self

    def for_each_student(self) -> "list[Recipe]":
        """The recipe once for each student, with that one as the only one; the first is `[student]`, which may have a
        baseline. Of the candidates only n-grams may: see `blends_baseline`."""
        own = self.model_copy(update={"candidates": []})
        without_baseline = own.model_copy(
            update={"distillation": self.distillation.model_copy(update={"baseline": False})}
        )
        return [
            own,
            *(
                (own if isinstance(candidate, Ngrams) else without_baseline).model_copy(update={"student": candidate})
                for candidate in self.candidates
            ),
        ]

    @property
    def blends_baseline(self) -> bool:
        """Whether the n-grams that learned from the labels alone may be a member of the blend: they are as good as
        TF-IDF with a linear classifier, so that a weak teacher does not pull the shipped model below that."""
        return self.has_blend and self.distillation.baseline and any(isinstance(one, Ngrams) for one in self.candidates)

    def precisions_of(self, role: str, *, kind: str) -> list[Precision]:
        """A baseline is there to be compared, in fp32; the one that may be in the blend is exported as its members."""
        if role != "baseline":
            return self.export.precisions
        return [self.export.smallest] if kind == "ngrams" and self.blends_baseline else ["fp32"]

    @property
    def has_blend(self) -> bool:
        """Whether the students are also exported together, as one model."""
        return self.export.blend and bool(self.candidates)

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
        is_apart = any(isinstance(member, EncoderTeacher) and member.pairs == "apart" for member in members)
        if is_apart and self.corpus.pair is None:
            raise ValueError('teacher.pairs = "apart" is for rows of two texts: remove it, or set corpus.pair')
        if self.features != "none" and not self.teacher.traits.has_features:
            asked = "labeling.features" if self.labeling.features != "auto" else self._asking_for("features")
            asked = asked or 'transfer.choice = "nearest"'
            single = f"a single encoder or student only{self._one_of_seeds}"
            raise ValueError(f"features, for {asked}, are available from {single}")

    def _abstaining_fits(self) -> None:
        """A model that may give no label anyway does not abstain, and foreign text has one text a row."""
        self._teaching_fits()
        if self.export.abstain is None:
            return
        if self.corpus.multi_label:
            raise ValueError("export.abstain is for one label per row: with multi_label a row may have no label anyway")
        if self.export.abstain.foreign and self.corpus.pair is not None:
            raise ValueError(
                "export.abstain.foreign has single texts, and the corpus has pairs: label such rows, and name their "
                "label in corpus.out_of_scope"
            )

    def _teaching_fits(self) -> None:
        """Foreign rows have equal probabilities for all labels, and nothing else of a teacher."""
        if not self.distillation.teach_foreign:
            return
        if self.export.abstain is None:
            raise ValueError("distillation.teach_foreign needs [export.abstain], which says where foreign rows are")
        needs = self.distillation.needs
        if wrong := next((need for need in ("features", "layers") if need in needs), None):
            raise ValueError(
                f"distillation.teach_foreign is for losses on logits, and {self._asking_for(wrong)} reads {wrong} of "
                "the teacher: remove one of them"
            )
        if "logits" not in needs:
            raise ValueError("distillation.teach_foreign needs a loss on logits: add logit_mse or soft_targets")

    def _candidates_fit(self) -> None:
        """Variants are named by kind, so each kind may appear once; and each has to fit as `[student]` has to."""
        kinds = [student.kind for student in (self.student, *self.candidates)]
        if twice := [kind for number, kind in enumerate(kinds) if kind in kinds[:number]]:
            where = "is the kind of [student] too" if twice[0] == kinds[0] else "appears twice"
            raise ValueError(f"candidates: {twice[0]} {where}: name each kind of student once")
        for recipe in self.for_each_student()[1:]:
            try:
                recipe._student_fits()
            except ValueError as error:
                raise ValueError(f"candidates, {recipe.student.kind}: {error}; or remove this candidate") from None

    def _student_fits(self) -> None:
        """Teacher, rows and losses must have what the student needs, and the student what the losses need."""
        kind, members = STUDENT_KINDS[self.student.kind], each_teacher(self.teacher)
        if kind.pairs == "together" and any(
            isinstance(member, EncoderTeacher) and member.pairs == "apart" for member in members
        ):
            raise ValueError(
                f"a {self.student.kind} reads both texts of a row together, so it cannot start from a teacher with "
                'pairs = "apart": set teacher.pairs = "together", or student.kind = "bilstm"'
            )
        has_own_start = isinstance(self.student, Transformer) and self.student.checkpoint is not None
        if (
            kind.starts_from == "teacher_layers"
            and not has_own_start
            and any(isinstance(member, EncoderTeacher) and member.head == "mean" for member in members)
        ):
            raise ValueError(
                f'a {self.student.kind} takes over its teacher\'s head, and cannot with teacher.head = "mean": set '
                'teacher.head = "own", or student.kind = "bilstm"'
            )
        wanted = self.student.vocabulary.kind
        has_tokens = has_own_start or any(member.traits.has_tokens for member in members)
        if wanted in ("pieces", "teacher") and not has_tokens:
            raise ValueError(
                f'student.vocabulary.kind = "{wanted}" uses the pieces of an encoder, but the teacher is not one'
            )
        refuse_other_graphs(self)
        if self.distillation.pruning is not None and isinstance(self.student, TextGcn):
            raise ValueError(
                "a textgcn is a table that is computed when its training ends: remove distillation.pruning"
            )
        self._classes_are_learned()
        if "layers" in self.distillation.needs:
            self._refuse_without_layers(self._asking_for("layers"))
        if self.corpus.pair is not None and isinstance(self.student, WordStudent) and self.student.why_not_pairs:
            raise ValueError(self.student.why_not_pairs)
        if self.corpus.pair is None and isinstance(self.student, PairStudent) and self.student.why_not_single:
            raise ValueError(self.student.why_not_single)

    @property
    def _one_of_seeds(self) -> str:
        """Advice if there are several teachers because of teacher.seeds."""
        several = isinstance(self.teacher, EnsembleTeacher) and self.teacher.is_of_seeds
        return ": set one teacher.seed instead of teacher.seeds" if several else ""

    def _losses_fit(self) -> None:
        """The labels must have what the losses need."""
        distillation = self.distillation
        if "features" in distillation.needs and self.labeling.features == "none":
            asked = self._asking_for("features")
            raise ValueError(f'{asked} needs features, but labeling.features is "none": remove that key')
        if self.corpus.multi_label and (wrong := [loss.kind for loss in distillation.every_loss if loss.exclusive]):
            raise ValueError(
                f"{', '.join(wrong)} {'need' if wrong[1:] else 'needs'} rows with one label, but "
                "corpus.multi_label is true: use soft_targets or logit_mse, which support several labels"
            )
        if self.corpus.multi_label and any(getattr(one, "row_temperatures", None) for one in distillation.every_loss):
            raise ValueError(
                "soft_targets.row_temperatures needs rows with one label, but corpus.multi_label is true: remove it"
            )

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
        found = {name: value.located(locate) for name, value in sections.items() if isinstance(value, Section)}
        candidates: list[AnyStudent] = [candidate.located(locate) for candidate in self.candidates]
        return self.model_copy(update={**found, "candidates": candidates})


def _without_auto(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """`student.kind = "auto"` as the students that it is short for. Candidates that the recipe has itself stay."""
    student, candidates = given.get("student"), given.get("candidates", [])
    if not isinstance(student, Mapping) or student.get("kind") != AUTO or not isinstance(candidates, list):
        return given
    student = {**student, "kind": DEFAULT_STUDENT}
    try:
        resolved(STUDENT_KINDS[DEFAULT_STUDENT].section).model_validate(student)
    except ValidationError:
        return {**given, "student": student}  # what is wrong with it is reported once
    own = {candidate.get("kind") for candidate in candidates if isinstance(candidate, Mapping)}
    added = [_auto_candidate(kind, student) for kind in AUTO_CANDIDATES if kind not in own]
    return {**given, "student": student, "candidates": [*candidates, *added]}


def _auto_candidate(kind: str, student: Mapping[str, Any]) -> dict[str, Any]:
    """With those keys of the main student that are about size and text, and not about its network."""
    own, main = (resolved(STUDENT_KINDS[one].section) for one in (kind, DEFAULT_STUDENT))
    given = {key: student[key] for key in AUTO_SHARED if key in student}
    return {"kind": kind, **_meaning_the_same(given, own, main)}


def _meaning_the_same(given: Mapping[str, Any], own: type[Section], main: type[Section]) -> dict[str, Any]:
    """The keys that mean the same in both sections; of tables that differ, such as the vocabulary, likewise."""
    found: dict[str, Any] = {}
    for key, value in given.items():
        kinds = [section.model_fields[key].annotation for section in (own, main) if key in section.model_fields]
        if len(kinds) == 2 and kinds[0] == kinds[1]:
            found[key] = value
        elif len(kinds) == 2 and isinstance(value, Mapping):
            found[key] = _meaning_the_same(value, *(cast(type[Section], kind) for kind in kinds))
    return found


def _as_long(student: Any, length: int | None) -> Any:
    """The student with the length of its teacher, if it is a transformer without a length of its own."""
    if length is None or not isinstance(student, Mapping) or "max_length" in student:
        return student
    kind = STUDENT_KINDS.get(str(student.get("kind")))
    return {**student, "max_length": length} if kind is not None and kind.tokenizer == "framed" else student


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
