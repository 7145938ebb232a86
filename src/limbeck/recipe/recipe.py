"""The whole recipe: one field per section."""

from typing import Self

from pydantic import Field, model_validator

from limbeck.recipe.augmentation import Augmentation
from limbeck.recipe.base import Locate, Section
from limbeck.recipe.corpus import Corpus
from limbeck.recipe.distillation import Distillation
from limbeck.recipe.evaluation import Evaluation
from limbeck.recipe.export import Export
from limbeck.recipe.labeling import Labeling
from limbeck.recipe.student import BiLstm
from limbeck.recipe.teacher import EncoderTeacher, EnsembleTeacher, FileTeacher, Teacher
from limbeck.recipe.tracking import Tracking
from limbeck.recipe.transfer import Transfer


class Recipe(Section):
    """What a run does, from files to report."""

    name: str | None = Field(default=None, pattern=r"^[\w.-]+$")
    """Name of the run and of its folder; left out: the recipe file's name."""
    corpus: Corpus
    """The labelled rows."""
    transfer: Transfer | None = None
    """Unlabelled text the teacher will label."""
    augmentation: Augmentation | None = None
    """Changed copies of the training rows, which the teacher will label too."""
    teacher: Teacher = EncoderTeacher()
    """The big model, or what one said, or several of them."""
    labeling: Labeling = Labeling()
    """How the teacher is asked."""
    student: BiLstm = BiLstm()
    """The small model."""
    distillation: Distillation = Distillation()
    """How the small model is trained."""
    export: Export = Export()
    """The files that ship."""
    evaluation: Evaluation = Evaluation()
    """How everything is measured."""
    tracking: Tracking = Tracking()
    """Curves for TensorBoard and the like."""

    @model_validator(mode="after")
    def _rooms_agree(self) -> Self:
        unlabelled = "transfer text has" if self.transfer else "changed copies have" if self.augmentation else None
        if unlabelled and all(loss.kind == "hard_labels" for loss in self.distillation.losses):
            raise ValueError(
                f"{unlabelled} no labels, so a loss on the teacher's logits is needed: "
                "add logit_mse or soft_targets to distillation.losses"
            )
        if self.transfer is not None:
            if self.transfer.choice == "nearest" and self.labeling.features == "none":
                raise ValueError('transfer.choice = "nearest" goes by features: set labeling.features = "mean"')
            if (self.corpus.pair is None) != (self.transfer.pair is None):
                raise ValueError("corpus.pair and transfer.pair must both be given, or neither")
        self._teacher_fits()
        return self

    def _teacher_fits(self) -> None:
        """What the rooms behind the teacher ask of it, it must be able to give."""
        members = self.teacher.members if isinstance(self.teacher, EnsembleTeacher) else [self.teacher]
        if any(
            isinstance(member, FileTeacher) and (member.pair is None) != (self.corpus.pair is None)
            for member in members
        ):
            raise ValueError("corpus.pair and the `pair` of a teacher that is a file must both be given, or neither")
        if self.student.vocabulary.kind == "pieces" and not any(
            isinstance(member, EncoderTeacher) for member in members
        ):
            raise ValueError(
                'student.vocabulary.kind = "pieces" takes the pieces of an encoder, and the teacher is a file'
            )
        if self.labeling.features != "none" and not isinstance(self.teacher, EncoderTeacher):
            raise ValueError("labeling.features can be had from a single encoder only")

    def located(self, locate: Locate) -> Self:
        """With every path of every section made absolute."""
        sections = {name: getattr(self, name) for name in type(self).model_fields}
        return self.model_copy(
            update={name: value.located(locate) for name, value in sections.items() if isinstance(value, Section)}
        )
