"""`[export]`: the exported files."""

from typing import Annotated, Literal

from pydantic import Field

from limbeck.recipe.base import Section
from limbeck.recipe.decisions import decides_nothing

Precision = Literal["fp32", "int8"]


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
    teacher: Annotated[Literal["none", "int8"], decides_nothing()] = "none"
    """With "int8" the teacher is kept as a model of its own, `models/teacher-int8`, for a cascade
    (`--fallback`): as large as a quarter of the teacher, and run without PyTorch. Needs a teacher of a family
    that can be exported."""

    @property
    def smallest(self) -> Precision:
        """The precision of the smallest file, which `max_size_mb` limits."""
        return "int8" if "int8" in self.precisions else "fp32"
