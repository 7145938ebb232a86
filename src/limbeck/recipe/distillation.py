"""`[distillation]`: what the student is trained on, and how."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from limbeck.recipe.base import Section
from limbeck.recipe.decisions import decides, decides_nothing
from limbeck.recipe.kinds import Loss
from limbeck.recipe.losses import LogitMse, Need, needs_of
from limbeck.recipe.pruning import Pruning
from limbeck.recipe.teacher import Keep, Precision


class TrainingStage(Section):
    """One stage of a training in several stages: TinyBERT first learns the inner layers, then the predictions."""

    epochs: int = Field(default=3, ge=1)
    """Passes over the training rows and the transfer text."""
    learning_rate: float | None = Field(default=None, gt=0)
    """Peak learning rate. Default: that of `[distillation]`."""
    batch_size: int | None = Field(default=None, ge=1)
    """Rows per batch. Default: that of `[distillation]`."""
    warmup_fraction: float | None = Field(default=None, ge=0, lt=1)
    """Share of its steps in which the learning rate rises. Default: that of `[distillation]`."""
    losses: list[Loss] = Field(min_length=1)
    """Its objective: a weighted sum. A training stage without a loss on labels or logits keeps its last epoch, any
    other keeps the best one on dev."""


class Distillation(Section):
    """Training of the student: the same loop for the distilled student and for the baseline."""

    epochs: int = Field(default=6, ge=1)
    """Passes over the training rows and the transfer text; `keep` says which one's weights are kept."""
    keep: Keep = "best"
    """Which epoch is kept: the "best" on dev, or the "latest" that is not worse than the best by more than two
    standard errors."""
    patience: int | None = Field(default=None, ge=1)
    """Stop after this many epochs in a row that are not kept. Default: run all epochs."""
    batch_size: int = Field(default=128, ge=1)
    """Rows per batch."""
    batches: Literal["by_length", "mixed"] = "by_length"
    """Which rows form a batch: rows of similar lengths, which is faster, or any. Losses that compare the rows of a
    batch with each other (spkd, rkd, pkt) compare only those of similar lengths with "by_length"."""
    accumulation_steps: int = Field(default=1, ge=1)
    """Batches whose gradients are accumulated for one step."""
    optimizer: Literal["adamw", "adadelta"] = "adamw"
    """"adadelta" (Zeiler 2012) sizes its own steps: with it, set `learning_rate` = 1.0, as Tang et al. (2019) do."""
    learning_rate: float = Field(default=2e-3, gt=0)
    """Peak learning rate; it warms up, then falls linearly to zero. For transformers, use about 1e-4."""
    warmup_fraction: float = Field(default=0.05, ge=0, lt=1)
    """Share of the steps in which the learning rate rises."""
    weight_decay: float = Field(default=1e-4, ge=0)
    """Weight decay; not applied to biases."""
    clip_norm: float = Field(default=1.0, gt=0)
    """Gradients are scaled down to this norm."""
    average: float | None = Field(default=None, gt=0, lt=1)
    """Evaluate, keep and export an exponential moving average of the weights instead of the weights: after every step
    it moves towards them by 1 − `average` of the difference, early in the training by more. 0.999 averages about the
    last 1,000 steps, but never more than the last ninth of the steps so far. Default: the weights themselves."""
    precision: Precision = "fp32"
    """Arithmetic of the student's training."""
    seeds: Annotated[list[Annotated[int, Field(ge=0)]], decides_nothing()] = Field(default=[0], min_length=1)
    """One student is trained per seed; the report has mean and spread, and the best one on dev is shipped."""
    baseline: Annotated[bool, decides_nothing()] = True
    """Also train the same student alone, on the labelled rows and without the teacher, so that the gain is visible."""
    baseline_epochs: Annotated[int | None, decides("baseline")] = Field(default=None, ge=1)
    """Passes of the baseline over the labelled rows. With copies and transfer text the student makes many more steps in
    one of its epochs; as many steps for the baseline make the comparison fair. Default: `epochs`."""
    at_once: Annotated[int | None, decides_nothing()] = Field(default=None, ge=1)
    """Students, including baselines, that are trained at the same time, each in its own process. Default: on a GPU all
    of them, but at most 4 per GPU and at most one per CPU; without a GPU, or if they read fewer than 500,000 rows in
    total, one. The result does not depend on it."""
    processes: Annotated[int | None, decides_nothing()] = Field(default=None, ge=1)
    """Processes that train one student together, one per GPU, each on its share of every batch; students are then
    trained one after the other. Default: one, or with torchrun all that it has started. The result does not depend on
    it, except for rounding and for what dropout draws. Worth it for transformers and much text, not for a Bi-LSTM."""
    teach_foreign: Annotated[int, decides_nothing()] = Field(default=0, ge=0)
    """Foreign rows, at most, that the student learns in addition, with equal probabilities for all labels, so that it
    is less sure of texts that belong to no class. They come from where `[export.abstain]`, which is needed, has foreign
    rows: half of the rows labelled as out of scope, a third of the texts of files, and general text where these are too
    few. The threshold is neither fitted nor judged on them. Default: none."""
    pruning: Pruning | None = None
    """The `[distillation.pruning]` table: weights that become zero in the last training stage. Also for the baseline,
    so that both are compared as they are used. Default: none."""
    losses: Annotated[list[Loss], decides("students")] = Field(default=[LogitMse(kind="logit_mse")], min_length=1)
    """The objective: a weighted sum. Not used with `stages`."""
    stages: Annotated[list[TrainingStage], decides("students")] = []
    """Training stages that follow each other, each with its own epochs, learning rate and losses. `epochs` and
    `learning_rate` of `[distillation]` then apply only to the baseline."""

    @model_validator(mode="after")
    def _rate_of_adadelta(self) -> Self:
        if self.optimizer == "adadelta" and "learning_rate" not in self.model_fields_set:
            raise ValueError('optimizer = "adadelta" needs a learning_rate of its own: set learning_rate = 1.0')
        return self

    @model_validator(mode="after")
    def _one_way_of_using_processes(self) -> Self:
        if (self.processes or 1) > 1 and (self.at_once or 1) > 1:
            raise ValueError(
                f"processes = {self.processes} train one student together, at_once = {self.at_once} trains students "
                "side by side: give one of the two"
            )
        return self

    @model_validator(mode="after")
    def _one_objective(self) -> Self:
        if self.stages and "losses" in self.model_fields_set:
            raise ValueError("losses and stages exclude each other: put the losses into the stages")
        return self

    @model_serializer(mode="wrap")
    def _as_written(self, written: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """With stages, the unused losses are omitted: together they would be refused when the recipe is read again."""
        table: dict[str, Any] = written(self)
        return {key: value for key, value in table.items() if key != "losses"} if self.stages else table

    @property
    def every_loss(self) -> list[Loss]:
        """The losses of all training stages."""
        return [loss for stage in self.stages for loss in stage.losses] if self.stages else list(self.losses)

    @property
    def needs(self) -> frozenset[Need]:
        """What all losses need, together."""
        return frozenset().union(*(needs_of(loss) for loss in self.every_loss))
