"""`[teacher]`: the big model whose judgement the student learns."""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field

from limbeck.recipe.base import Locate, Section

Precision = Literal["auto", "fp32", "bf16"]


class EncoderTeacher(Section):
    """Any encoder that transformers knows as a sequence classifier, fine-tuned on the corpus."""

    kind: Literal["encoder"] = "encoder"
    """The kind of teacher."""
    checkpoint: str = "bert-base-uncased"
    """A Hugging Face folder, an installed offline package ("all-MiniLM-L6-v2"), or a name on the hub."""
    train: Literal["all", "head"] = "all"
    """Fine-tune every weight, or only the classification head."""
    epochs: int = Field(default=3, ge=1)
    """Passes over the training rows; the best one by dev is kept."""
    batch_size: int = Field(default=32, ge=1)
    """Rows per step."""
    learning_rate: float = Field(default=3e-5, gt=0)
    """Peak learning rate; it warms up, then falls linearly to zero."""
    warmup_fraction: float = Field(default=0.1, ge=0, lt=1)
    """Share of the steps in which the learning rate rises."""
    weight_decay: float = Field(default=0.01, ge=0)
    """AdamW's weight decay; biases and norms are left out of it."""
    clip_norm: float = Field(default=1.0, gt=0)
    """Gradients are scaled down to this norm."""
    max_length: int = Field(default=128, ge=4)
    """Longest input in the teacher's tokens; the rest of a text is cut off."""
    precision: Precision = "auto"
    """Arithmetic: "auto" takes bf16 where the hardware computes in it, else fp32."""
    seed: int = Field(default=0, ge=0)
    """Seed of the head's initial weights, of the order of rows and of dropout."""

    def located(self, locate: Locate) -> Self:
        """With the checkpoint as an absolute path if it is a folder here; else it is left to the teacher's room."""
        folder = locate(self.checkpoint, required=False)
        return self.model_copy(update={"checkpoint": folder}) if Path(folder).is_dir() else self
