"""N-grams: only a few words in a row stay of a text (Tang et al. 2019)."""

from dataclasses import dataclass

from limbeck.augmentation.method import Dice, TextMethod, pick
from limbeck.augmentation.words import CutText


@dataclass(frozen=True)
class KeepNgram(TextMethod):
    """With `probability`, n words in a row stay; n is drawn from shortest … longest, each as likely.

    A text of fewer than n words stays whole.
    """

    probability: float
    shortest: int
    longest: int
    kind: str = "ngram"

    def change(self, cut: CutText, dice: Dice) -> CutText:
        """The n-gram, or the text as it was."""
        if dice.random() >= self.probability:
            return cut
        count = self.shortest + pick(dice, self.longest - self.shortest + 1)
        if count >= len(cut.words):
            return cut
        return cut.window(pick(dice, len(cut.words) - count + 1), count)
