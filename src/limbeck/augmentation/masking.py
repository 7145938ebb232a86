"""Methods that change words by themselves: masking, deletion, n-grams, swaps."""

from dataclasses import dataclass

from limbeck.augmentation.method import Dice, SourceText, TextMethod, WordMethod, pick
from limbeck.augmentation.words import DELETED, CutText
from limbeck.text.student_tokenizer import MASK


@dataclass(frozen=True)
class MaskWords(WordMethod):
    """The mask is written "[MASK]": the student's tokenizer takes it for its mask, the teacher's for its own."""

    fraction: float
    kind: str = "masking"

    def change(self, source: SourceText, position: int, dice: Dice) -> str | None:
        """The mask, whatever the word is."""
        del source, position, dice
        return MASK


@dataclass(frozen=True)
class DeleteWords(WordMethod):
    """Words go, and the gap beside each with it. That one word always stays is seen to where the draw is made."""

    fraction: float
    kind: str = "delete"

    def change(self, source: SourceText, position: int, dice: Dice) -> str | None:
        """Nothing, whatever the word is."""
        del source, position, dice
        return DELETED


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
