"""The one base class of all recipe sections: typed, frozen, strict."""

from typing import Protocol, Self

from pydantic import BaseModel, ConfigDict


class Locate(Protocol):
    """Turns a path of the recipe into the absolute path of what it means."""

    def __call__(self, path: str, *, required: bool = True, what: str = "file", instead: str = "") -> str:
        """The absolute path, or `path` itself when nothing is there, which is a problem if it is required: no `what`,
        and what may have been meant `instead`."""


class Section(BaseModel):
    """A table of the recipe. Unknown keys are errors; the docstring under a field is its documentation.

    TOML has types of its own, so nothing is converted: "3" is no number, and true is not 1.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    @property
    def fields_without_effect(self) -> frozenset[str]:
        """Fields that mean nothing beside the present value of another: they are in no key. Few sections have any."""
        return frozenset()

    def located(self, locate: Locate) -> Self:
        """The same section with every path in it made absolute. Sections that name files override this."""
        del locate
        return self
