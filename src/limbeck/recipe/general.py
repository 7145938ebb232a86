"""The recipe of `limbeck pretrain`: text and encoders, and the student that learns from them before it has a task."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from limbeck.kinds import STUDENT_KINDS
from limbeck.recipe.base import Locate, Section
from limbeck.recipe.kinds import WordStudentOfKind
from limbeck.recipe.student import BiLstm
from limbeck.recipe.teacher import Precision
from limbeck.recipe.transfer import Transfer

# What [transfer] has for the text of a task, which there is none of here.
OF_A_STUDENT = {
    *("start", "word_vectors", "dense_size", "tune_vectors", "max_size_mb", "static_channel", "vector_rank"),
}
OF_A_VOCABULARY = {"kind", "teacher_words", "general_words"}
OF_A_TASK = ("choice", "pool", "least_confidence", "overlap", "near_duplicates", "form", "pair")


class General(Section):
    """General distillation: the body of a student learns what encoders make of general sentences, once, and then takes
    any task."""

    name: str = Field(pattern=r"^\w[\w.-]*$")
    """Name of the result: `student.start = "general:NAME"`, in the folder general/NAME."""
    language: Literal["en", "zh"] = "en"
    """Language of the text."""
    encoders: Annotated[list[str], Field(min_length=1)] = ["all-MiniLM-L6-v2"]
    """Checkpoints of sentence encoders, as they are: the student learns the mean of their last states for a sentence.
    The first one also gives the initial vectors of words."""
    encoder_length: int = Field(default=96, ge=8)
    """Longest input of the encoders, in their tokens."""
    fragments: float = Field(default=0.35, ge=0, le=1)
    """Share of the sentences that are cut to a few words that follow each other: many tasks have texts that are
    shorter than sentences."""
    fragment_words: Annotated[list[int], Field(min_length=2, max_length=2)] = [2, 12]
    """Shortest and longest fragment, in words (in Chinese: in characters)."""
    neighbours: float = Field(default=0.1, ge=0)
    """Weight of the loss on similarities within a batch, beside that on each sentence's vector; 0: without it."""
    temperature: float = Field(default=0.05, gt=0)
    """Of these similarities: the lower, the more the nearest neighbours alone count."""
    held_back: int = Field(default=20_000, ge=1)
    """Sentences that are not learned from and measure how near the student comes; at most a tenth of all."""
    epochs: int = Field(default=8, ge=1)
    """Times that all sentences are read."""
    batch_size: int = Field(default=1024, ge=2)
    """Sentences of a step; each is compared with all others of its batch."""
    accumulation_steps: int = Field(default=1, ge=1)
    """Batches per step of the optimiser."""
    learning_rate: float = Field(default=2e-3, gt=0)
    """Peak learning rate; it falls linearly to zero."""
    warmup_fraction: float = Field(default=0.03, ge=0, lt=1)
    """Share of the steps in which the learning rate rises."""
    weight_decay: float = Field(default=1e-4, ge=0)
    """Weight decay of AdamW."""
    clip_norm: float = Field(default=1.0, gt=0)
    """Largest norm of the gradient."""
    precision: Precision = "auto"
    """Arithmetic of the student's training: "auto" is bf16 where the device can train with it, else fp32."""
    table: Literal["fp16", "int8"] = "fp16"
    """How the vectors of words are stored. With "fp16" the folder has Hugging Face's form; with "int8", a scale for
    each word and bytes, it is half as large and has not."""
    processes: int | None = Field(default=None, ge=1)
    """Processes that train together, one per GPU, each on its share of every batch. Default: one, or with torchrun all
    that it has started. The result does not depend on it, except for rounding and for what dropout draws."""
    seed: int = 0
    """Seed of initial weights, order and fragments."""

    @property
    def patience(self) -> None:
        """The training loop's word for ending early: a fixed number of epochs is read here."""
        return None

    @model_validator(mode="after")
    def _window(self) -> Self:
        shortest, longest = self.fragment_words
        if not 1 <= shortest <= longest:
            raise ValueError(f"fragment_words: {shortest} to {longest} is no range of words")
        return self

    def located(self, locate: Locate) -> Self:
        """With local folders of encoders as absolute paths; other names are packages, or on the hub."""
        found = [locate(encoder, required=False) for encoder in self.encoders]
        return self.model_copy(update={"encoders": found})


class GeneralRecipe(Section):
    """The tables of a recipe for `limbeck pretrain`."""

    general: General
    """What is learned, and how."""
    transfer: Transfer
    """The text: files or data sets, cut into sentences."""
    student: WordStudentOfKind = BiLstm()
    """The student whose body learns: its kind and shape, and its vocabulary."""

    @model_validator(mode="after")
    def _has_no_task(self) -> Self:
        if given := [key for key in OF_A_TASK if key in self.transfer.model_fields_set]:
            raise ValueError(
                f"[transfer] has {', '.join(given)}, which is about a task's rows, and there are none here"
            )
        own = self.student.vocabulary.model_fields_set & OF_A_VOCABULARY
        given = [*sorted(self.student.model_fields_set & OF_A_STUDENT), *(f"vocabulary.{key}" for key in sorted(own))]
        if given:
            raise ValueError(f"[student] has {', '.join(given)}, which a general student has no use for: remove it")
        if STUDENT_KINDS[self.student.kind].body_shape is None:
            raise ValueError(f'student: a "{self.student.kind}" cannot be taught in general')
        return self

    def located(self, locate: Locate) -> Self:
        """With every path of every section made absolute."""
        sections = {name: getattr(self, name).located(locate) for name in ("general", "transfer")}
        return self.model_copy(update=sections)
