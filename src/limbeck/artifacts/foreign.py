"""Rows that belong to no class, and where they come from."""

from dataclasses import dataclass
from typing import Literal

from limbeck.artifacts.rows import Rows


@dataclass(frozen=True)
class Foreign:
    """Rows that belong to no class."""

    rows: Rows
    source: Literal["labelled", "files", "general"]  # rows of the corpus, files that the recipe names, general text

    @property
    def decides(self) -> bool:
        """Whether a threshold may depend on them: general text is too unlike what a model meets for that."""
        return self.source != "general"
