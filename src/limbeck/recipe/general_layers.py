"""The recipe of `limbeck pretrain` for a transformer: text, an encoder, and the losses on its layers and words."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from limbeck.recipe.base import Locate, Section
from limbeck.recipe.kinds import LossOnLayers
from limbeck.recipe.losses import LayerLoss
from limbeck.recipe.student import WITHOUT_FILE, Transformer
from limbeck.recipe.teacher import Precision
from limbeck.recipe.transfer import Transfer

# What [transfer] has for the rows of a task, or for sentences: windows are cut from whole documents.
OF_ROWS = (
    *("choice", "pool", "least_confidence", "overlap", "near_duplicates", "form", "pair"),
    *("split_sentences", "split_paragraphs", "min_words", "max_words"),
)
OF_A_TASK = ("max_size_mb", "max_length", "vocabulary")  # of [student]


class MaskedWords(Section):
    """Cross-entropy to the words that were masked (Devlin et al. 2019), with other masks in every pass."""

    kind: Literal["masked_words"]
    """The kind of loss."""
    weight: float = Field(default=1.0, gt=0)
    """Weight of this loss in the sum."""


class SoftWords(Section):
    """KL divergence to the teacher's softened distribution over the vocabulary at masked places, times T²
    (DistilBERT)."""

    kind: Literal["soft_words"]
    """The kind of loss."""
    weight: float = Field(default=1.0, gt=0)
    """Weight of this loss in the sum."""
    temperature: float = Field(default=2.0, gt=0)
    """Both distributions are softened by it."""


WordLoss = MaskedWords | SoftWords
GeneralLoss = Annotated[MaskedWords | SoftWords | LossOnLayers, Field(discriminator="kind")]


class GeneralLayers(Section):
    """General distillation of a transformer: it learns the layers of an encoder that was not fine-tuned, on windows of
    general text, and then takes any task."""

    name: str = Field(pattern=r"^\w[\w.-]*$")
    """Name of the result: `student.start = "general:NAME"`, in the folder general/NAME."""
    language: Literal["en", "zh"] = "en"
    """Language of the text."""
    teacher: str = "bert-base-uncased"
    """Checkpoint of the encoder, as it is: a folder, an offline package, or a name on the hub."""
    losses: Annotated[list[GeneralLoss], Field(min_length=1)]
    """What is learned of it, as tables: losses on layers, `masked_words` and `soft_words`; see docs/general.md."""
    window: int = Field(default=128, ge=8)
    """Tokens of a window, special tokens included. Documents are cut into windows, and short ones share one."""
    masked_fraction: float = Field(default=0.15, gt=0, lt=1)
    """Share of the tokens that are masked for `masked_words` and `soft_words`. Without these nothing is masked."""
    held_back: int = Field(default=2_000, ge=1)
    """Windows that are not learned from and measure how near the student comes; at most a tenth of all."""
    epochs: int = Field(default=1, ge=1)
    """Times that all windows are read, unless `steps` or `minutes` is given."""
    steps: int | None = Field(default=None, ge=1)
    """Steps of the optimiser, in place of `epochs`; rounded up to a multiple of `rounds`."""
    minutes: float | None = Field(default=None, gt=0)
    """Minutes of training, in place of `epochs`: a short timing of this machine says how many steps that are."""
    rounds: int = Field(default=10, ge=1)
    """Number of times that the windows held back are looked at, in equal distances: points of the curve."""
    batch_size: int = Field(default=32, ge=1)
    """Windows of a batch."""
    accumulation_steps: int = Field(default=1, ge=1)
    """Batches per step of the optimiser: large batches in little memory."""
    learning_rate: float = Field(default=5e-4, gt=0)
    """Peak learning rate; it falls linearly to zero."""
    warmup_fraction: float = Field(default=0.1, ge=0, lt=1)
    """Share of the steps in which the learning rate rises."""
    weight_decay: float = Field(default=0.01, ge=0)
    """Weight decay of AdamW."""
    clip_norm: float = Field(default=1.0, gt=0)
    """Largest norm of the gradient."""
    precision: Precision = "auto"
    """Arithmetic of student and teacher: "auto" is bf16 where the hardware supports it, else fp32."""
    processes: int | None = Field(default=None, ge=1)
    """Processes that train together, one per GPU, each on its share of every batch. Default: one, or with torchrun all
    that it has started. The result does not depend on it, except for rounding and for what dropout draws."""
    seed: int = 0
    """Seed of initial weights, order, masks and dropout."""

    @property
    def on_layers(self) -> list[LayerLoss]:
        """The losses on layers."""
        return [loss for loss in self.losses if isinstance(loss, LayerLoss)]

    @property
    def on_words(self) -> list[WordLoss]:
        """The losses on masked words, which need a head."""
        return [loss for loss in self.losses if isinstance(loss, MaskedWords | SoftWords)]

    @model_validator(mode="after")
    def _one_length(self) -> Self:
        if self.steps is not None and self.minutes is not None:
            raise ValueError("steps and minutes both say how long it takes: give one of them")
        kinds = [loss.kind for loss in self.losses]
        if twice := [kind for number, kind in enumerate(kinds) if kind in kinds[:number]]:
            raise ValueError(f"losses: {twice[0]} appears twice: name each kind once")
        return self

    def located(self, locate: Locate) -> Self:
        """With a teacher that is a folder as an absolute path; other names are packages, or on the hub."""
        return self.model_copy(update={"teacher": locate(self.teacher, required=False)})


class GeneralLayersRecipe(Section):
    """The tables of a recipe for `limbeck pretrain` whose student is a transformer."""

    general: GeneralLayers
    """What is learned, and how."""
    transfer: Transfer
    """The text: files or data sets of whole documents."""
    student: Transformer
    """The student: its shape, and the layers that it starts from."""

    @model_validator(mode="after")
    def _has_no_task(self) -> Self:
        if given := [key for key in OF_ROWS if key in self.transfer.model_fields_set]:
            raise ValueError(
                f"[transfer] has {', '.join(given)}, and a transformer reads whole documents in windows: remove it"
            )
        if given := [key for key in OF_A_TASK if key in self.student.model_fields_set]:
            raise ValueError(f"[student] has {', '.join(given)}, which a general student has no use for: remove it")
        if self.student.start not in WITHOUT_FILE:
            raise ValueError('student.start: a general student starts from "teacher", general.teacher, or "random"')
        return self

    def located(self, locate: Locate) -> Self:
        """With every path of every section made absolute."""
        sections = {name: getattr(self, name).located(locate) for name in ("general", "transfer")}
        return self.model_copy(update=sections)
