"""Makes the copies of a row: one random draw per word decides which method changes it; then methods on texts follow."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import accumulate
from random import Random
from time import perf_counter
from typing import Literal, NamedTuple

from limbeck.artifacts.rows import content_key
from limbeck.augmentation.method import PairMethod, Prepared, Rng, SourceText, TextMethod, WordMethod, pick
from limbeck.augmentation.words import CutText, cut_words
from limbeck.text.student_tokenizer import MASK


@dataclass
class Tally:
    """Counts over all copies that were asked for, kept or not; lists are by method."""

    copies_changed: list[int]  # copies in which the method changed something
    words_changed: list[int]
    seconds: list[float]  # spent in the method itself
    all_seconds: float = 0.0  # spent by the processes, in methods and everything else
    asked: int = 0
    unchanged: int = 0  # copies that equal their source
    all_masks: int = 0  # copies in which no word is left
    words: int = 0  # in the texts that could be changed; of a pair, only in the chosen text or texts

    @classmethod
    def of(cls, methods: Sequence[Prepared]) -> "Tally":
        """All zero."""
        count = len(methods)
        return cls([0] * count, [0] * count, [0.0] * count)

    def add(self, changes: Sequence[int]) -> None:
        """Add one copy; `changes` are the words changed by each method."""
        self.asked += 1
        for number, words in enumerate(changes):
            if words:
                self.copies_changed[number] += 1
                self.words_changed[number] += words

    def join(self, other: "Tally") -> None:
        """Add the counts of another process."""
        self.all_seconds += other.all_seconds
        self.asked += other.asked
        self.unchanged += other.unchanged
        self.all_masks += other.all_masks
        self.words += other.words
        for number in range(len(self.seconds)):
            self.copies_changed[number] += other.copies_changed[number]
            self.words_changed[number] += other.words_changed[number]
            self.seconds[number] += other.seconds[number]


class Copy(NamedTuple):
    """One copy of a row."""

    sides: list[str]  # the text, and for pairs the second text
    changes: list[int]  # words changed, by method

    @property
    def is_all_masks(self) -> bool:
        """Whether masks are all that is left, of a pair in both texts: no teacher can tell anything of them."""
        rest = "".join(self.sides).replace(MASK, "")
        return not any(map(str.isalnum, rest)) and any(MASK in side for side in self.sides)


@dataclass(frozen=True)
class CopyMaker:
    """Everything that a process needs to make copies; methods are in the order of the recipe."""

    methods: tuple[Prepared, ...]
    language: str
    seed: int
    sides: Literal["one_or_both", "both"] = "one_or_both"

    @cached_property
    def word_methods(self) -> list[tuple[int, WordMethod]]:
        """The methods on words, with their numbers."""
        return [(number, method) for number, method in enumerate(self.methods) if isinstance(method, WordMethod)]

    @cached_property
    def text_methods(self) -> list[tuple[int, TextMethod]]:
        """The methods on texts, with their numbers."""
        return [(number, method) for number, method in enumerate(self.methods) if isinstance(method, TextMethod)]

    @cached_property
    def pair_methods(self) -> list[tuple[int, PairMethod]]:
        """The methods that make new pairs, with their numbers."""
        return [(number, method) for number, method in enumerate(self.methods) if isinstance(method, PairMethod)]

    @cached_property
    def ends(self) -> list[float]:
        """The cumulative fractions of the methods on words."""
        return list(accumulate(method.fraction for _, method in self.word_methods))

    def copies_of(self, row_id: str, texts: Sequence[str], tally: Tally, *, copies: int) -> Iterator[Copy]:
        """`copies` copies of one row, changed or not.

        The random numbers of each are seeded by the recipe's seed, the row's id and the copy's number only: copies do
        not depend on the process that makes them or on other rows.
        """
        sources = [SourceText(content_key(text), cut_words(text, language=self.language)) for text in texts]
        rng = Random()
        for number in range(copies):
            name = f"{self.seed}:{row_id}:{number}".encode("utf-8", "surrogatepass")
            rng.seed(int.from_bytes(blake2b(name, digest_size=8).digest(), "little"))
            changes = [0] * len(self.methods)
            sides = self._new_pair(sources, texts, rng, changes, tally)
            if sides is None:
                sides = list(texts)
                for side in self._chosen_sides(len(texts), rng):
                    tally.words += len(sources[side].cut.words)
                    sides[side] = self._changed(sources[side], rng, changes, tally).text
            tally.add(changes)
            yield Copy(sides, changes)

    def _new_pair(
        self, sources: Sequence[SourceText], texts: Sequence[str], rng: Rng, changes: list[int], tally: Tally
    ) -> list[str] | None:
        """The pair that the first method makes which makes one; None if none does."""
        for number, method in self.pair_methods:
            stays, started = pick(rng, 2), perf_counter()
            found = method.new_pair(sources, texts, stays, rng)
            tally.seconds[number] += perf_counter() - started
            if found is not None:
                changes[number] = len(sources[1 - stays].cut.words) or 1
                tally.words += changes[number]
                return found
        return None

    def _chosen_sides(self, count: int, rng: Rng) -> Sequence[int]:
        """The first text of a pair, the second or both, with a probability of a third each."""
        if count == 1 or self.sides == "both":
            return range(count)
        return ((0,), (1,), (0, 1))[pick(rng, 3)]

    def _changed(self, source: SourceText, rng: Rng, changes: list[int], tally: Tally) -> CutText:
        cut = self._with_other_words(source, rng, changes, tally)
        for number, method in self.text_methods:
            before, started = cut, perf_counter()
            cut = method.change(cut, rng)
            tally.seconds[number] += perf_counter() - started
            if cut is not before:
                changes[number] += _difference(before, cut)
        return cut

    def _with_other_words(self, source: SourceText, rng: Rng, changes: list[int], tally: Tally) -> CutText:
        words, ends, draw = source.cut.words, self.ends, rng.random
        if not ends:
            return source.cut
        chosen = [(position, drawn) for position in range(len(words)) if (drawn := draw()) < ends[-1]]
        changed: dict[int, str] = {}
        changed_by: dict[int, int] = {}
        for position, drawn in chosen:
            number, method = self.word_methods[bisect_right(ends, drawn)]
            started = perf_counter()
            word = method.change(source, position, rng)
            tally.seconds[number] += perf_counter() - started
            if word is not None and word != words[position]:
                changed[position], changed_by[position] = word, number
        if words and len(changed) == len(words) and not any(changed.values()):
            position = pick(rng, len(words))  # one word stays if all would be deleted
            del changed[position], changed_by[position]
        for number in changed_by.values():
            changes[number] += 1
        return source.cut.with_changes(changed) if changed else source.cut


def _difference(before: CutText, after: CutText) -> int:
    """The number of words removed or, if there are none, of words that differ at their position."""
    if len(before.words) != len(after.words):
        return len(before.words) - len(after.words)
    return sum(one != other for one, other in zip(before.words, after.words, strict=True))
