"""`[[distillation.losses]]` on features: one vector per text, which is stored with the teacher's labels."""

from typing import ClassVar, Literal

from pydantic import Field

from limbeck.recipe.losses import AnyLoss, Need, Temperature, Weight


class FeatureLoss(AnyLoss):
    """A loss on one vector per text, which is stored with the teacher's labels."""

    needs: ClassVar[frozenset[Need]] = frozenset({"features"})


class Hint(FeatureLoss):
    """Mean squared error between the student's features, through a learned projection, and the teacher's (FitNets,
    Romero et al. 2015)."""

    kind: Literal["hint"]
    """The kind of loss."""
    weight: Weight = 1.0
    """Weight of this loss in the sum."""


class FeatureCosine(FeatureLoss):
    """One minus the cosine between the student's features, through a learned projection, and the teacher's."""

    kind: Literal["feature_cosine"]
    """The kind of loss."""


class Spkd(FeatureLoss):
    """Similarity-preserving distillation (Tung & Mori 2019): rows of a batch that are similar for the teacher should
    be similar for the student. Widths may differ. It depends on the batch size."""

    kind: Literal["spkd"]
    """The kind of loss."""
    weight: Weight = 3000.0
    """Weight of this loss in the sum (γ in the paper)."""


class Rkd(FeatureLoss):
    """Relational distillation (Park et al. 2019): distances between two rows, and angles between three."""

    kind: Literal["rkd"]
    """The kind of loss."""
    distance_weight: float = Field(default=25.0, ge=0)
    """Weight of the distances."""
    angle_weight: float = Field(default=50.0, ge=0)
    """Weight of the angles; their memory grows with the third power of the batch size."""


class FactorTransfer(FeatureLoss):
    """Factor transfer (Kim et al. 2018): a paraphraser compresses the teacher's features, and the student's
    features, translated, should match."""

    kind: Literal["factor_transfer"]
    """The kind of loss."""
    weight: Weight = 1.0
    """Weight of this loss in the sum. The loss is summed over factors; a mean over factors, as in other
    implementations, would need a weight of hundreds."""
    factor_share: float = Field(default=0.5, gt=0, le=1)
    """Width of the factors as a share of the teacher's width (k in the paper)."""
    power: Literal[1, 2] = 1
    """1 for the sum of absolute differences (the paper's choice), 2 for the length of the difference."""
    paraphraser_epochs: int = Field(default=10, ge=1)
    """Passes over the teacher's features when the paraphraser is trained."""


class Pkt(FeatureLoss):
    """Probabilistic knowledge transfer (Passalis & Tefas 2018): how likely rows of a batch are neighbours."""

    kind: Literal["pkt"]
    """The kind of loss."""


class Vid(FeatureLoss):
    """Variational information distillation (Ahn et al. 2019): the teacher's features as a Gaussian around the projected
    student's, with a learned variance for each."""

    kind: Literal["vid"]
    """The kind of loss."""


class Crd(FeatureLoss):
    """Contrastive distillation (Tian et al. 2020): of a row's own vector and of many others drawn from a bank, the
    student's features, projected, should pick out the row's own one of the teacher, and the other way round. The bank
    holds a vector of both models for every training row: a kilobyte per row."""

    needs: ClassVar[frozenset[Need]] = frozenset({"features", "rows"})

    kind: Literal["crd"]
    """The kind of loss."""
    weight: Weight = 0.8
    """Weight of this loss in the sum (β in the authors' code, beside hard labels)."""
    width: int = Field(default=128, ge=1)
    """Width to which the features of both models are projected."""
    negatives: int = Field(default=16_384, ge=1)
    """Other rows that are drawn for each row in every step; with fewer rows in train some are drawn twice."""
    negatives_of: Literal["other_classes", "all"] = "other_classes"
    """Which rows may be drawn: those of other classes, as in the paper's main results (a row without a label counts by
    the teacher's best class), or all others. With several labels per row, or scores, it is always all others."""
    temperature: Temperature = 0.07
    """Cosines are divided by it (τ in the paper)."""
    momentum: float = Field(default=0.5, ge=0, lt=1)
    """Share of a row's old vector in its new one in the bank."""
