"""The one base class of all recipe sections: typed, frozen, strict."""

from typing import Protocol, Self

from pydantic import BaseModel, ConfigDict


class Locate(Protocol):
    """Turns a path in the recipe into an absolute path."""

    def __call__(self, path: str, *, required: bool = True, what: str = "file", instead: str = "") -> str:
        """The absolute path, or `path` itself if nothing exists there. That is reported as a problem if it is
        `required`, with `what` is missing and what may be intended `instead`."""


class Section(BaseModel):
    """A table of the recipe. Unknown keys are errors; the docstring under a field is its documentation.

    TOML has its own types, so nothing is converted: "3" is not a number, and true is not 1.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    @property
    def fields_without_effect(self) -> frozenset[str]:
        """Fields that another field's value makes irrelevant: they are in no key. Few sections have any."""
        return frozenset()

    def located(self, locate: Locate) -> Self:
        """The same section with every path in it made absolute. Sections that name files override this."""
        del locate
        return self
