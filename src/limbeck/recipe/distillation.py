"""`[distillation]`: what the student is trained on, and how."""

from typing import Annotated, Literal

from pydantic import Field

from limbeck.recipe.base import Section
from limbeck.recipe.teacher import Precision


class HardLabels(Section):
    """Cross-entropy to the labels of the corpus (binary, for each class, with several labels a row); rows without a
    label add nothing."""

    kind: Literal["hard_labels"]
    """The kind of loss."""
    weight: float = Field(default=1.0, ge=0)
    """Factor of this loss in the sum."""


class LogitMse(Section):
    """Mean squared error between the student's and the teacher's logits (Ba & Caruana 2014; Tang et al. 2019)."""

    kind: Literal["logit_mse"]
    """The kind of loss."""
    weight: float = Field(default=1.0, ge=0)
    """Factor of this loss in the sum."""


class SoftTargets(Section):
    """KL divergence to the teacher's softened distribution, times T² (Hinton et al. 2015); with several labels a row,
    that of each class by itself."""

    kind: Literal["soft_targets"]
    """The kind of loss."""
    weight: float = Field(default=1.0, ge=0)
    """Factor of this loss in the sum."""
    temperature: float = Field(default=2.0, gt=0)
    """Both distributions are softened by it; the T² keeps the gradient's size."""


Loss = Annotated[HardLabels | LogitMse | SoftTargets, Field(discriminator="kind")]


class Distillation(Section):
    """Training of the student: the same loop for the distilled student and for the baseline."""

    epochs: int = Field(default=6, ge=1)
    """Passes over the training rows and the transfer text; the best one by dev is kept."""
    patience: int | None = Field(default=None, ge=1)
    """Stop after so many epochs in a row without a better one by dev; left out: all epochs are done."""
    batch_size: int = Field(default=128, ge=1)
    """Rows whose gradient is computed at a time; batches hold rows of similar length."""
    accumulation_steps: int = Field(default=1, ge=1)
    """Batches whose gradients make one step."""
    learning_rate: float = Field(default=2e-3, gt=0)
    """Peak learning rate; it warms up, then falls linearly to zero."""
    warmup_fraction: float = Field(default=0.05, ge=0, lt=1)
    """Share of the steps in which the learning rate rises."""
    weight_decay: float = Field(default=1e-4, ge=0)
    """AdamW's weight decay; biases are left out of it."""
    clip_norm: float = Field(default=1.0, gt=0)
    """Gradients are scaled down to this norm."""
    precision: Precision = "fp32"
    """Arithmetic of the student's training."""
    seeds: list[Annotated[int, Field(ge=0)]] = Field(default=[0], min_length=1)
    """One student is trained for each; the report gives mean and spread, and the best by dev is shipped."""
    baseline: bool = True
    """Also train the same student alone, on the labelled rows and without the teacher, so that the gain is visible."""
    losses: list[Loss] = Field(default=[LogitMse(kind="logit_mse")], min_length=1)
    """The objective: a weighted sum."""
