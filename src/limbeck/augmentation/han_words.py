"""Chinese words put together from characters: only such as are words."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class Column(NamedTuple):
    """What a model would put in place of one character, and how strongly."""

    characters: Sequence[str]
    logits: Sequence[float]


class HanWords:
    """The words of a dictionary, in which beginnings of words stand with a count of 0, and words that were seen."""

    def __init__(self, dictionary: Mapping[str, int], seen: Iterable[str]) -> None:
        self._dictionary = dictionary
        self._seen: dict[str, bool] = {}
        for word in seen:
            for length in range(1, len(word)):
                self._seen.setdefault(word[:length], False)
            self._seen[word] = True

    def __contains__(self, word: str) -> bool:
        return self._dictionary.get(word, 0) > 0 or self._seen.get(word, False)

    def combined(self, columns: Sequence[Column], *, most: int) -> list[str]:
        """Words with one character of each column, those with the highest sum of logits first.

        The sum differs from that of the log-probabilities by the same number for all of them.
        """
        starts = {"": 0.0}
        for column in columns:
            starts = {
                longer: total + logit
                for start, total in starts.items()
                for character, logit in zip(column.characters, column.logits, strict=True)
                if (longer := start + character) in self._dictionary or longer in self._seen
            }
        words = [word for word in starts if word in self]
        return sorted(words, key=lambda word: (-starts[word], word))[:most]
