"""The rows that copies are made of: training rows, transfer text, or both."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.rows import Rows, joined
from limbeck.recipe.augmentation import Augmentation

Part: TypeAlias = Literal["train", "transfer"]


class Copied(NamedTuple):
    """Rows, and how many copies are made of each."""

    rows: Rows
    copies: int


@dataclass(frozen=True)
class Originals:
    """All rows that are copied, the training rows first."""

    parts: Mapping[Part, Copied]

    @classmethod
    def of(cls, section: Augmentation, *, train: Rows, transfer: Rows | None) -> "Originals":
        """The rows that the recipe wants copies of; `transfer` are the gathered rows, if any."""
        parts: dict[Part, Copied] = {}
        if section.copies:
            parts["train"] = Copied(train, section.copies)
        if section.transfer_copies and transfer is not None:
            parts["transfer"] = Copied(transfer, section.transfer_copies)
        return cls(parts)

    @cached_property
    def rows(self) -> Rows:
        """The rows of all parts, in order."""
        return joined([part.rows for part in self.parts.values()])

    @property
    def asked(self) -> int:
        """The number of copies to make."""
        return sum(len(part.rows) * part.copies for part in self.parts.values())

    @property
    def characters(self) -> int:
        """The approximate number of characters of all these copies."""
        return sum(int(part.rows.characters.sum()) * part.copies for part in self.parts.values())

    def of_part(self, part: Part, sources: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """Which of these sources, given as positions among all rows, belong to a part."""
        names = list(self.parts)
        start = sum(len(self.parts[name].rows) for name in names[: names.index(part)])
        return np.asarray((sources >= start) & (sources < start + len(self.parts[part].rows)))
