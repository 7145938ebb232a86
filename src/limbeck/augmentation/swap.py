"""Swapping: words change places, two at a time (EDA, Wei & Zou 2019)."""

from dataclasses import dataclass

from limbeck.augmentation.method import Dice, TextMethod, pick
from limbeck.augmentation.words import CutText


@dataclass(frozen=True)
class SwapWords(TextMethod):
    """`fraction` swaps for each word: of a text of 25 words at 0.1, two or three, each as often.

    Marks, and what stands between the words, stay where they are: a mark has no space before it, a word has.
    """

    fraction: float
    kind: str = "swap"

    def change(self, cut: CutText, dice: Dice) -> CutText:
        """The text with words in other places."""
        count = int(self.fraction * len(cut.words) + dice.random())
        places = [place for place, word in enumerate(cut.words) if word[0].isalnum() or word[-1].isalnum()]
        if count == 0 or len(places) < 2:
            return cut
        words = list(cut.words)
        for _ in range(count):
            first = pick(dice, len(places))
            second = (first + 1 + pick(dice, len(places) - 1)) % len(places)
            one, other = places[first], places[second]
            words[one], words[other] = words[other], words[one]
        return CutText(words, cut.gaps)
