"""`[distillation.pruning]`: weights that become zero during the training, and stay so."""

from typing import Literal, Self

from pydantic import Field, model_validator

from limbeck.recipe.base import Section


class Pruning(Section):
    """The smallest weights of every matrix of the student, its word vectors included, become zero while it learns, and
    stay so. The exported file is as large and as fast as before: only packed (zip, gzip) it is smaller."""

    sparsity: float = Field(gt=0, lt=1)
    """Share of the weights of each matrix that are zero at the end."""
    schedule: Literal["gradual", "once"] = "gradual"
    """"gradual": more and more from `start` to `end`, first fast and then slowly (Zhu & Gupta 2017); "once": all at
    `start`, and the rest learns on (Han et al. 2015)."""
    start: float = Field(default=0.0, ge=0, lt=1)
    """Share of the training after which it begins. With "once" it must be above 0: weights that have learned nothing
    say nothing by their size."""
    end: float = Field(default=0.5, gt=0, le=0.9)
    """Share of the training after which the sparsity is reached ("gradual"); the rest learns on."""

    @model_validator(mode="after")
    def _begins_before_it_ends(self) -> Self:
        if self.schedule == "once" and not 0 < self.start <= 0.9:
            raise ValueError(f'schedule = "once" needs a start above 0 and at most 0.9 (found {self.start:g})')
        if self.schedule == "gradual" and self.start >= self.end:
            raise ValueError(f"start must be less than end: {self.start:g} is not less than {self.end:g}")
        return self
