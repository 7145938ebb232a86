"""Terms on features: one vector per text, stored with the teacher's labels."""

import torch
from torch import Tensor, nn

from limbeck.distillation.losses.features import crd, factor_transfer, vid
from limbeck.distillation.losses.parts import unit_vectors
from limbeck.distillation.paraphraser import Paraphraser, Translator
from limbeck.distillation.terms.bank import Bank
from limbeck.distillation.terms.term import Batch, Shapes, Term, formula_of, settings_of
from limbeck.recipe.feature_losses import Crd, FactorTransfer, FeatureLoss, Vid
from limbeck.training.schedules import value_at


class FeatureTerm(Term):
    """A formula on the relations between the rows of a batch: widths may differ. All settings of its section are its
    keyword arguments."""

    def __init__(self, loss: FeatureLoss, _shapes: Shapes) -> None:
        super().__init__()
        self._formula, self._settings = formula_of(loss), settings_of(loss)

    def forward(self, batch: Batch) -> Tensor:
        """One number."""
        return self._formula(*features_of(batch), **self._settings)


class ProjectedFeatures(Term):
    """A formula for vectors of the same width; a learned projection maps the student's to the teacher's width."""

    def __init__(self, loss: FeatureLoss, shapes: Shapes) -> None:
        super().__init__()
        self._formula, self._settings = formula_of(loss), settings_of(loss)
        self.projection = nn.Linear(*widths_of(shapes))

    def forward(self, batch: Batch) -> Tensor:
        """One number."""
        student, teacher = features_of(batch)
        return self._formula(self.projection(student), teacher, **self._settings)


class Factors(Term):
    """Factor transfer. The paraphraser is trained before, on the teacher's features, and is frozen."""

    def __init__(self, loss: FactorTransfer, shapes: Shapes) -> None:
        super().__init__()
        student, teacher = widths_of(shapes)
        self.settings = loss
        self.paraphraser = Paraphraser(teacher, share=loss.factor_share).requires_grad_(False)
        self.translator = Translator(student, self.paraphraser.factor_width)

    def forward(self, batch: Batch) -> Tensor:
        """One number."""
        student, teacher = features_of(batch)
        with torch.no_grad():
            factors = self.paraphraser.encode(teacher)
        return factor_transfer(self.translator(student), factors, power=self.settings.power)


class Contrast(Term):
    """Contrastive distillation: both features are projected and scaled to unit length; the bank learns along."""

    def __init__(self, loss: Crd, shapes: Shapes) -> None:
        super().__init__()
        student, teacher = widths_of(shapes)
        self.settings = loss
        self.student_projection, self.teacher_projection = (
            nn.Linear(width, loss.width) for width in (student, teacher)
        )
        groups = torch.zeros(0) if shapes.row_groups is None else shapes.row_groups
        if loss.negatives_of == "all":
            groups = torch.arange(len(groups))
        self.bank = Bank(groups, width=loss.width, momentum=loss.momentum)

    def forward(self, batch: Batch) -> Tensor:
        """One number; the vectors of these rows in the bank have moved afterwards."""
        assert batch.row_numbers is not None
        student, teacher = features_of(batch)
        own = unit_vectors(self.student_projection(student).float())
        theirs = unit_vectors(self.teacher_projection(teacher).float())
        drawn = self.bank.draw(batch.row_numbers, count=self.settings.negatives)
        chosen = torch.cat([batch.row_numbers[:, None], drawn], dim=1)
        temperature = value_at(self.settings.temperature, batch.done)
        sides = self.bank.densities(own, theirs, chosen, temperature=temperature)
        self.bank.move(batch.row_numbers, student=own, teacher=theirs)
        return crd(*sides, bank_rows=len(self.bank))


class Variational(Term):
    """The teacher's features as Gaussians around the projected student's."""

    def __init__(self, _loss: Vid, shapes: Shapes) -> None:
        super().__init__()
        student, teacher = widths_of(shapes)
        self.projection = nn.Linear(student, teacher)
        self.log_variance = nn.Parameter(torch.zeros(teacher))

    def forward(self, batch: Batch) -> Tensor:
        """One number."""
        student, teacher = features_of(batch)
        return vid(self.projection(student), teacher, log_variance=self.log_variance)


def features_of(batch: Batch) -> tuple[Tensor, Tensor]:
    """The features of the student and of the teacher."""
    assert batch.student.features is not None
    assert batch.teacher.features is not None
    return batch.student.features, batch.teacher.features


def widths_of(shapes: Shapes) -> tuple[int, int]:
    """The widths of the student's features and of the teacher's."""
    assert shapes.student_features is not None
    assert shapes.teacher_features is not None
    return shapes.student_features, shapes.teacher_features
