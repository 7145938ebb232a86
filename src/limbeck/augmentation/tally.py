"""The numbers of copies in the making, counted in every process and added up."""

from collections.abc import Sequence
from dataclasses import dataclass

from limbeck.augmentation.method import Prepared


@dataclass
class Tally:
    """Of all copies that were asked for, whatever became of them; lists are by method."""

    copies_changed: list[int]  # copies in which the method changed something
    words_changed: list[int]
    seconds: list[float]  # that the method itself took
    all_seconds: float = 0.0  # that the processes were at work, methods and all else
    asked: int = 0
    unchanged: int = 0  # copies that equal their source
    words: int = 0  # of the texts that could be changed; of a pair in which one text was chosen, of that one

    @classmethod
    def of(cls, methods: Sequence[Prepared]) -> "Tally":
        """All zero."""
        count = len(methods)
        return cls([0] * count, [0] * count, [0.0] * count)

    def add(self, changes: Sequence[int]) -> None:
        """One copy more, with so many words changed by each method."""
        self.asked += 1
        for number, words in enumerate(changes):
            if words:
                self.copies_changed[number] += 1
                self.words_changed[number] += words

    def join(self, other: "Tally") -> None:
        """Take in the numbers of another process."""
        self.all_seconds += other.all_seconds
        self.asked += other.asked
        self.unchanged += other.unchanged
        self.words += other.words
        for number in range(len(self.seconds)):
            self.copies_changed[number] += other.copies_changed[number]
            self.words_changed[number] += other.words_changed[number]
            self.seconds[number] += other.seconds[number]
