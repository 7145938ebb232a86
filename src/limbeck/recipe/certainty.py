"""`[[distillation.losses]]` for teachers that err, such as language models: sure answers count more."""

from typing import Literal

from limbeck.recipe.losses import AnyLoss, Temperature
from limbeck.recipe.schedule import PositiveNumber


class CertainTargets(AnyLoss):
    """`soft_targets` in which rows count by how sure the teacher is of them: for teachers that err, such as a language
    model. Its probabilities should be calibrated, as those of an endpoint are where there are labelled rows in dev."""

    kind: Literal["certain_targets"]
    """The kind of loss."""
    temperature: Temperature = 1.0
    """Both distributions are softened by it; how sure the teacher is does not depend on it."""
    power: PositiveNumber = 1.0
    """How much more sure rows count: 1 weighs a row by its certainty, from 0 for all classes alike to 1; 2 by its
    square."""
