"""A number in the recipe that changes during training: a loss's weight, a temperature."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from limbeck.recipe.base import Section

WARM_UP_SHARE = 0.1


class Schedule(Section):
    """A number that changes from `start` to `end` during training, instead of a constant one."""

    kind: Literal["linear", "cosine", "warm_up"]
    """How it changes: linearly, along a cosine (slowly at both ends), or linearly upwards at the beginning of the
    training ("warm_up")."""
    start: float = Field(default=0.0, ge=0)
    """Its value at the first step."""
    end: float = Field(ge=0)
    """Its final value."""
    share: float = Field(default=1.0, gt=0, le=1)
    """Share of the training in which it changes; then it stays at `end`. Default: all of the training, or the first
    tenth for "warm_up"."""

    @model_validator(mode="before")
    @classmethod
    def _warm_up_is_short(cls, table: Any) -> Any:
        if isinstance(table, Mapping) and table.get("kind") == "warm_up":
            return {"share": WARM_UP_SHARE, **table}
        return table

    @model_validator(mode="after")
    def _warm_up_rises(self) -> Self:
        if self.kind == "warm_up" and self.start > self.end:
            found = f"start is {self.start:g}, end {self.end:g}"
            raise ValueError(f'"warm_up" rises, but {found}; use "linear" or "cosine" for a number that falls')
        return self


def _form(value: object) -> str:
    """Which of the two a value is, so that a mistake in a table is not also reported as not being a number."""
    return "schedule" if isinstance(value, Mapping | Schedule) else "number"


def _above_zero(value: float | Schedule) -> float | Schedule:
    lowest = min(value.start, value.end) if isinstance(value, Schedule) else value
    if lowest <= 0:
        raise ValueError(f"should stay above 0 (found {lowest:g}); a schedule starts at 0 unless `start` is set")
    return value


Number = Annotated[
    Annotated[float, Field(ge=0), Tag("number")] | Annotated[Schedule, Tag("schedule")], Discriminator(_form)
]
"""A plain number or a schedule, never negative."""
PositiveNumber = Annotated[Number, AfterValidator(_above_zero)]
"""A plain number or a schedule that is never zero either, as a temperature must be."""
