"""`[[distillation.losses]]`: what the student is trained to match; one section per kind of loss."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from limbeck.recipe.base import Section
from limbeck.recipe.schedule import Number, PositiveNumber

Need = Literal["labels", "logits", "features", "layers", "rows"]
Weight = Number
Temperature = PositiveNumber
TwoLayers = Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=2, max_length=2)]
LayerMap = Literal["uniform", "last", "top", "skip", "every"] | list[TwoLayers]
Projection = Literal["shared", "each"]


class AnyLoss(Section):
    """What every loss has. Each has its own `kind`."""

    if TYPE_CHECKING:
        kind: str

    needs: ClassVar[frozenset[Need]] = frozenset({"logits"})  # from corpus, stored labels, or the teacher itself
    exclusive: ClassVar[bool] = False  # whether it requires rows with a single label

    weight: Weight = 1.0
    """Weight of this loss in the sum: a number, or a schedule such as { kind = "linear", start = 1.0, end = 0.0 }."""

    @property
    def name(self) -> str:
        """The name of its term in curves and in the report."""
        return self.kind


class HardLabels(AnyLoss):
    """Cross-entropy to the labels of the corpus (with several labels per row: binary cross-entropy of each class; for
    scores: the mean squared error to them); rows without a label are ignored."""

    needs: ClassVar[frozenset[Need]] = frozenset({"labels"})

    kind: Literal["hard_labels"]
    """The kind of loss."""
    smoothing: float = Field(default=0.0, ge=0, lt=1)
    """Share of the probability that is spread over all classes. Scores have none."""


class LogitMse(AnyLoss):
    """Mean squared error between the student's and the teacher's logits (Ba & Caruana 2014; Tang et al. 2019); for
    scores: between their scores, in standard deviations."""

    kind: Literal["logit_mse"]
    """The kind of loss."""


class ProbabilityMse(AnyLoss):
    """Squared distance between the student's and the teacher's probabilities: bounded, so that rows on which the
    teacher is far off pull less."""

    kind: Literal["probability_mse"]
    """The kind of loss."""
    temperature: Temperature = 1.0
    """Both distributions are softened by it."""


class SoftTargets(AnyLoss):
    """KL divergence to the teacher's softened distribution, times T² (Hinton et al. 2015); with several labels per row,
    that of each class separately."""

    kind: Literal["soft_targets"]
    """The kind of loss."""
    temperature: Temperature = 2.0
    """Both distributions are softened by it; the T² keeps the gradient's size."""
    row_temperatures: Literal["flsw", "cwsm"] | None = None
    """Temperatures that follow the logits, around `temperature`, as TextBrewer has them: lower for rows on which
    student and teacher disagree more than on average ("flsw"), or of which the student is less sure ("cwsm"). Default:
    the same for all rows."""
    spread: float = Field(default=1.0, gt=0)
    """With row_temperatures: how far they go from `temperature` (β in TextBrewer)."""
    power: float = Field(default=1.0, gt=0)
    """With "flsw": its exponent (γ in TextBrewer)."""

    @model_validator(mode="after")
    def _spread_is_read(self) -> Self:
        if self.spread != 1.0 and self.row_temperatures is None:
            raise ValueError('`spread` needs row_temperatures = "flsw" or "cwsm": set that, or remove `spread`')
        if self.power != 1.0 and self.row_temperatures != "flsw":
            raise ValueError('`power` needs row_temperatures = "flsw": set that, or remove `power`')
        return self

    @property
    def fields_without_effect(self) -> frozenset[str]:
        """`spread` and `power` where no temperature follows the logits, and `power` where the exponent is not read."""
        if self.row_temperatures is None:
            return frozenset({"spread", "power"})
        return frozenset({"power"} if self.row_temperatures == "cwsm" else ())


class JensenShannon(AnyLoss):
    """Jensen-Shannon divergence between the softened distributions, times T²: bounded and symmetric."""

    exclusive: ClassVar[bool] = True

    kind: Literal["jensen_shannon"]
    """The kind of loss."""
    temperature: Temperature = 2.0
    """Both distributions are softened by it."""


class Dkd(AnyLoss):
    """Decoupled distillation (Zhao et al. 2022): the target class and the others weighted separately, times T²."""

    needs: ClassVar[frozenset[Need]] = frozenset({"labels", "logits"})
    exclusive: ClassVar[bool] = True

    kind: Literal["dkd"]
    """The kind of loss."""
    temperature: Temperature = 4.0
    """Both distributions are softened by it."""
    target_weight: float = Field(default=1.0, ge=0)
    """Weight of the target class's part (α in the paper). For rows without a label, the target is the teacher's best
    class."""
    other_weight: float = Field(default=8.0, ge=0)
    """Weight of the other classes' part (β in the paper); with two classes it is always zero."""


class Dist(AnyLoss):
    """DIST (Huang et al. 2022): correlation with the teacher over each row's classes and over each class's rows."""

    exclusive: ClassVar[bool] = True

    kind: Literal["dist"]
    """The kind of loss."""
    temperature: Temperature = 1.0
    """Both distributions are softened by it."""
    between_classes: float = Field(default=1.0, ge=0)
    """Weight of the part over each row's classes; with two classes it only shows which is larger."""
    within_classes: float = Field(default=1.0, ge=0)
    """Weight of the part over the rows of a batch."""


class StandardisedLogits(AnyLoss):
    """Soft targets on logits that are standardised in each row (Sun et al. 2024); with two classes only the sign of
    their difference is left."""

    exclusive: ClassVar[bool] = True

    kind: Literal["standardised_logits"]
    """The kind of loss."""
    temperature: Temperature = 2.0
    """Both distributions are softened by it."""


class Huber(AnyLoss):
    """Huber's loss between the student's and the teacher's scores: a few strange scores pull less than with
    logit_mse."""

    kind: Literal["huber"]
    """The kind of loss."""
    delta: float = Field(default=1.0, gt=0)
    """Difference from which on it grows linearly, in standard deviations of the scores of train."""


class Ranking(AnyLoss):
    """Pairwise ranking within a batch (RankNet, Burges et al. 2005): of two rows, the student should give the higher
    score to the one to which the teacher gives it. It does not say where scores lie, so it needs logit_mse, huber or
    hard_labels beside it."""

    kind: Literal["ranking"]
    """The kind of loss."""
    margin: float = Field(default=0.0, ge=0)
    """Pairs of rows count whose scores differ by more than this for the teacher, in standard deviations."""


class LayerLoss(AnyLoss):
    """A loss on inner layers: the teacher runs on every batch together with the student."""

    needs: ClassVar[frozenset[Need]] = frozenset({"layers"})
    reads_attention: ClassVar[bool] = False  # queries, keys and values in addition to the states


class MappedLoss(LayerLoss):
    """A loss between pairs of layers."""

    layers: LayerMap = "uniform"
    """Which layers are compared: "uniform" (layer m of M with m·N/M of N), "last" (the last ones only), "top" (with the
    teacher's topmost layers), "skip" (as uniform, without the last), "every" (with m·k, where k is `every`), or a list
    of pairs [[student, teacher], …], counted from 1."""
    every: int | None = Field(default=None, ge=1)
    """With layers = "every": the number of the teacher's layers per layer of the student."""

    @model_validator(mode="after")
    def _every_is_read(self) -> Self:
        if self.every is not None and self.layers != "every":
            raise ValueError('`every` needs layers = "every": set that, or remove `every`')
        return self


class AddedLoss(MappedLoss):
    """A loss between pairs of layers, one number for each pair."""

    layer_weights: Literal["mean", "sum"] | list[Annotated[float, Field(ge=0)]] = "mean"
    """How the numbers of the pairs are added: their "mean", so that `weight` means the same for any number of layers;
    their "sum", as TinyBERT has it; or a weight for each pair, in their order from the bottom."""

    @model_validator(mode="after")
    def _a_weight_for_each_pair(self) -> Self:
        if not isinstance(self.layer_weights, list) or isinstance(self.layers, str):
            return self
        if len(self.layer_weights) != len(self.layers):
            raise ValueError(f"layers has {len(self.layers)} pairs, and layer_weights {len(self.layer_weights)}")
        return self


class HiddenMse(AddedLoss):
    """Mean squared error between hidden states, through a learned projection where widths differ (TinyBERT)."""

    kind: Literal["hidden_mse"]
    """The kind of loss."""
    projection: Projection = "shared"
    """One projection for all layers, as in TinyBERT, or one for each."""


class HiddenCosine(AddedLoss):
    """One minus the cosine between hidden states, through a learned projection where widths differ (DistilBERT)."""

    kind: Literal["hidden_cosine"]
    """The kind of loss."""
    layers: LayerMap = "last"
    """Which layers are compared; see hidden_mse."""
    projection: Projection = "shared"
    """One projection for all layers, or one for each."""


class EmbeddingMse(LayerLoss):
    """Mean squared error between the embeddings, through a learned projection where widths differ (TinyBERT)."""

    kind: Literal["embedding_mse"]
    """The kind of loss."""


class AttentionMse(AddedLoss):
    """Mean squared error between attention scores before the softmax (TinyBERT); both need the same number of heads."""

    reads_attention: ClassVar[bool] = True

    kind: Literal["attention_mse"]
    """The kind of loss."""


class AttentionKl(AddedLoss):
    """KL divergence between attention distributions; both need the same number of heads."""

    reads_attention: ClassVar[bool] = True

    kind: Literal["attention_kl"]
    """The kind of loss."""
    layers: LayerMap = "last"
    """Which layers are compared; see hidden_mse."""


class Pkd(MappedLoss):
    """Patient distillation (Sun et al. 2019): normalised states of the first token, through a learned projection where
    widths differ."""

    kind: Literal["pkd"]
    """The kind of loss."""
    weight: Weight = 1.0
    """Weight of this loss in the sum. The authors' code also takes the mean over the width: their β of 768 is 1
    here."""
    layers: LayerMap = "skip"
    """Which layers are compared; see hidden_mse."""


class MiniLm(LayerLoss):
    """MiniLM (Wang et al. 2020): attention and value relations of the last layer; both need the same number of
    heads."""

    reads_attention: ClassVar[bool] = True

    kind: Literal["minilm"]
    """The kind of loss."""


class MiniLmV2(LayerLoss):
    """MiniLMv2 (Wang et al. 2021): relations of queries, of keys and of values, in separate relation heads; the numbers
    of attention heads may differ."""

    reads_attention: ClassVar[bool] = True

    kind: Literal["minilm_v2"]
    """The kind of loss."""
    relation_heads: int = Field(default=48, ge=1)
    """Heads that the vectors are split into; it must divide both widths."""
    teacher_layer: int | None = Field(default=None, ge=1)
    """Layer of the teacher, counted from 1. Default: its last. For large teachers an upper middle one is better."""


class Nst(AddedLoss):
    """Neuron selectivity transfer (Huang & Wang 2017): which tokens of a text are similar. Widths may differ."""

    kind: Literal["nst"]
    """The kind of loss."""


class Fsp(LayerLoss):
    """Flow of solution procedure (Yim et al. 2017): how two layers of a model relate, through a learned projection
    where widths differ."""

    kind: Literal["fsp"]
    """The kind of loss."""
    student_layers: TwoLayers | None = None
    """Two layers of the student; 0 is the embeddings. Default: the first and the last."""
    teacher_layers: TwoLayers | None = None
    """Two layers of the teacher. Default: the first and the last, or those at the same relative height as the
    student's."""


class Custom(AnyLoss):
    """Your own function: `call = "my_package.losses:focal"`.

    It is called with `student_logits`, `teacher_logits` and `labels` (-1 for rows without a label), and with `options`,
    and returns one number as a tensor. With `features` it also gets `student_features` and `teacher_features`.
    """

    kind: Literal["custom"]
    """The kind of loss."""
    call: str = Field(pattern=r"^[\w.]+:[\w.]+$")
    """Module and function."""
    features: bool = False
    """Whether it also gets the features of student and teacher."""
    options: dict[str, Any] = {}
    """Further arguments of the function."""

    @property
    def name(self) -> str:
        """The function's name."""
        return self.call.rpartition(":")[2]


def needs_of(loss: AnyLoss) -> frozenset[Need]:
    """What a loss needs from the corpus, the stored labels or the teacher itself."""
    if isinstance(loss, Custom):
        return frozenset({"logits", "features"}) if loss.features else frozenset({"logits"})
    return loss.needs
