"""Terms on the one vector a text that is kept with the teacher's labels."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from limbeck.distillation.losses.features import (
    factor_transfer,
    feature_cosine,
    hint,
    pkt,
    rkd_angle,
    rkd_distance,
    spkd,
    vid,
)
from limbeck.distillation.paraphraser import Paraphraser, Translator
from limbeck.distillation.terms.term import Batch, Shapes, Term
from limbeck.recipe.losses import FactorTransfer, FeatureCosine, FeatureLosses, Hint, Pkt, Rkd, Spkd, Vid

WIDTH_FREE = {Spkd: spkd, Pkt: pkt}


def feature_term(loss: FeatureLosses, shapes: Shapes) -> Term:
    """The term of a loss on features."""
    assert shapes.student_features is not None
    assert shapes.teacher_features is not None
    match loss:
        case Hint():
            return ProjectedFeatures(hint, shapes.student_features, shapes.teacher_features)
        case FeatureCosine():
            return ProjectedFeatures(feature_cosine, shapes.student_features, shapes.teacher_features)
        case FactorTransfer():
            return Factors(loss, shapes.student_features, shapes.teacher_features)
        case Vid():
            return Variational(shapes.student_features, shapes.teacher_features)
        case Rkd() | Spkd() | Pkt():
            return Relations(loss)


class ProjectedFeatures(Term):
    """A formula for vectors of one width, which the student's reach by a learned projection."""

    def __init__(self, formula: Callable[[Tensor, Tensor], Tensor], student: int, teacher: int) -> None:
        super().__init__()
        self._formula = formula
        self.projection = nn.Linear(student, teacher)

    def forward(self, batch: Batch) -> Tensor:
        """One number."""
        student, teacher = features_of(batch)
        return self._formula(self.projection(student), teacher)


class Relations(Term):
    """A formula on how the rows of a batch lie to each other: widths do not matter."""

    def __init__(self, loss: Rkd | Spkd | Pkt) -> None:
        super().__init__()
        self._loss = loss

    def forward(self, batch: Batch) -> Tensor:
        """One number."""
        student, teacher = features_of(batch)
        if not isinstance(self._loss, Rkd):
            return WIDTH_FREE[type(self._loss)](student, teacher)
        total = self._loss.distance_weight * rkd_distance(student, teacher)
        if self._loss.angle_weight:
            total = total + self._loss.angle_weight * rkd_angle(student, teacher)
        return total


class Factors(Term):
    """Factor transfer. The paraphraser has learned before, on the teacher's features, and stands still."""

    def __init__(self, loss: FactorTransfer, student: int, teacher: int) -> None:
        super().__init__()
        self.settings = loss
        self.paraphraser = Paraphraser(teacher, share=loss.factor_share).requires_grad_(False)
        self.translator = Translator(student, self.paraphraser.factor_width)

    def forward(self, batch: Batch) -> Tensor:
        """One number."""
        student, teacher = features_of(batch)
        with torch.no_grad():
            factors = self.paraphraser.encode(teacher)
        return factor_transfer(self.translator(student), factors, power=self.settings.power)


class Variational(Term):
    """The teacher's features as Gaussians around the projected student's."""

    def __init__(self, student: int, teacher: int) -> None:
        super().__init__()
        self.projection = nn.Linear(student, teacher)
        self.log_variance = nn.Parameter(torch.zeros(teacher))

    def forward(self, batch: Batch) -> Tensor:
        """One number."""
        student, teacher = features_of(batch)
        return vid(self.projection(student), teacher, log_variance=self.log_variance)


def features_of(batch: Batch) -> tuple[Tensor, Tensor]:
    """Those of the student and of the teacher."""
    assert batch.student.features is not None
    assert batch.teacher.features is not None
    return batch.student.features, batch.teacher.features
