"""Masking: a word becomes the mask (Tang et al. 2019)."""

from dataclasses import dataclass

from limbeck.augmentation.method import Dice, Source, WordMethod
from limbeck.text.student_tokenizer import MASK


@dataclass(frozen=True)
class MaskWords(WordMethod):
    """The mask is written "[MASK]": the student's tokenizer takes it for its mask, the teacher's for its own."""

    fraction: float
    kind: str = "masking"

    def change(self, source: Source, position: int, dice: Dice) -> str | None:
        """The mask, whatever the word is."""
        del source, position, dice
        return MASK
