"""Deletion: a word is left out (EDA, Wei & Zou 2019)."""

from dataclasses import dataclass

from limbeck.augmentation.method import Dice, Source, WordMethod
from limbeck.augmentation.words import DELETED


@dataclass(frozen=True)
class DeleteWords(WordMethod):
    """Words go, and the gap beside each with it. That one word always stays is seen to where the draw is made."""

    fraction: float
    kind: str = "delete"

    def change(self, source: Source, position: int, dice: Dice) -> str | None:
        """Nothing, whatever the word is."""
        del source, position, dice
        return DELETED
