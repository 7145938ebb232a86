"""Methods that need nothing but the text: masking, deletion, n-grams, swaps."""

from dataclasses import dataclass

from limbeck.augmentation.method import Rng, SourceText, TextMethod, WordMethod, pick
from limbeck.augmentation.words import DELETED, CutText
from limbeck.text.student_tokenizer import MASK


@dataclass(frozen=True)
class MaskWords(WordMethod):
    """Replaces words by "[MASK]", which both the student's and the teacher's tokenizer read as their mask."""

    fraction: float
    kind: str = "masking"

    def change(self, source: SourceText, position: int, rng: Rng) -> str | None:
        """The mask, whatever the word is."""
        del source, position, rng
        return MASK


@dataclass(frozen=True)
class DeleteWords(WordMethod):
    """Deletes words, each with a gap next to it. `copies.py` makes sure that one word always stays."""

    fraction: float
    kind: str = "delete"

    def change(self, source: SourceText, position: int, rng: Rng) -> str | None:
        """Nothing, whatever the word is."""
        del source, position, rng
        return DELETED


@dataclass(frozen=True)
class KeepNgram(TextMethod):
    """With `probability`, keeps n words in a row; n is drawn uniformly from shortest … longest.

    A text of at most n words does not change.
    """

    probability: float
    shortest: int
    longest: int
    kind: str = "ngram"

    def change(self, cut: CutText, rng: Rng) -> CutText:
        """The n-gram, or the unchanged text."""
        if rng.random() >= self.probability:
            return cut
        count = self.shortest + pick(rng, self.longest - self.shortest + 1)
        if count >= len(cut.words):
            return cut
        return cut.window(pick(rng, len(cut.words) - count + 1), count)


@dataclass(frozen=True)
class SwapWords(TextMethod):
    """Swaps words, `fraction` swaps per word: in a text of 25 words at 0.1 two or three, each with probability ½.

    Marks and gaps stay in their positions: a word has a space before it, a mark has not.
    """

    fraction: float
    kind: str = "swap"

    def change(self, cut: CutText, rng: Rng) -> CutText:
        """The text with words swapped."""
        count = int(self.fraction * len(cut.words) + rng.random())
        positions = [at for at, word in enumerate(cut.words) if word[0].isalnum() or word[-1].isalnum()]
        if count == 0 or len(positions) < 2:
            return cut
        words = list(cut.words)
        for _ in range(count):
            first = pick(rng, len(positions))
            second = (first + 1 + pick(rng, len(positions) - 1)) % len(positions)
            one, other = positions[first], positions[second]
            words[one], words[other] = words[other], words[one]
        return CutText(words, cut.gaps)
