"""Rows that belong to no class, and where they come from."""

from dataclasses import dataclass
from typing import Literal

from limbeck.artifacts.rows import Rows

Source = Literal["labelled", "files", "general"]  # rows of the corpus, files that the recipe names, general text


@dataclass(frozen=True)
class Foreign:
    """Rows that belong to no class."""

    rows: Rows
    source: Source

    @property
    def decides(self) -> bool:
        """Whether a threshold may depend on them: general text is too unlike what a model meets for that."""
        return self.source != "general"


@dataclass(frozen=True)
class ForeignText:
    """All of it in a run."""

    dev: Foreign | None = None  # to fit the threshold with, or at least to say what it does there
    test: Foreign | None = None  # to judge it
    taught: tuple[Foreign, ...] = ()  # that students learn with equal probabilities for all labels
