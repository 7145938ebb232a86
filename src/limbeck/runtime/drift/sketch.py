"""What the texts of dev are like, for the profile of a model; and the same numbers of other texts, to compare."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.dev_sketch import MOST_TOKENS, QUANTILES, DevSketch, FeatureSketch, QuantileSketch
from limbeck.runtime.row import Row, characters, stripped
from limbeck.runtime.unknown_words import WordCounter

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
DIGITS = 4  # of kept numbers: a profile is small, and counts of 2,000 rows are still exact
LEAST_SHARE, LARGEST_SHARE = 0.01, 0.99  # of the texts that have a token, for it to be a frequent one that can change


@dataclass(frozen=True)
class TextNumbers:
    """Some texts as numbers."""

    characters: Floats  # (rows)
    unknown: Floats | None  # (rows): the share of the text's words that the model does not know
    tokens: tuple[frozenset[int], ...]  # of each row; none if the model knows no words


def text_numbers(rows: Sequence[Row], counter: WordCounter | None) -> TextNumbers:
    """The numbers of each row, read as the model reads it."""
    lengths = np.array([characters(stripped(row)) for row in rows], dtype=np.float64)
    if counter is None:
        return TextNumbers(lengths, None, ())
    read = counter.read(rows)
    words = np.array([sum(len(ids) - counter.around for ids in row) for row in read], dtype=np.float64)
    unknown = np.array([sum(ids.count(counter.unknown_id) for ids in row) for row in read], dtype=np.float64)
    return TextNumbers(lengths, unknown / np.maximum(words, 1), tuple(frozenset().union(*row) for row in read))


def marked(predicted: npt.NDArray[np.integer], *, classes: int) -> Bools:
    """(rows, classes): which labels each row was given, from the number of one, or from 0 and 1 for each."""
    return np.asarray(predicted == 1 if predicted.ndim == 2 else predicted[:, np.newaxis] == np.arange(classes))


def dev_sketch(
    rows: Sequence[Row], counter: WordCounter | None, *, given: Bools, features: FeatureSketch | None = None
) -> DevSketch:
    """Of at least one row of dev; `given` is (rows, classes), the labels that the model gives them.

    Frequent tokens are chosen by every second row and counted in the others: in the rows that they were chosen by, they
    are a little more frequent than elsewhere.
    """
    numbers = text_numbers(rows, counter)
    counted = numbers.tokens[1::2]
    return DevSketch(
        characters=quantile_sketch(numbers.characters),
        unknown=None if numbers.unknown is None else quantile_sketch(numbers.unknown),
        predicted=tuple(map(_rounded, given.mean(axis=0).tolist())),
        tokens=tuple(_shares(_frequent(numbers.tokens[::2], counter), counted)) if counted else (),
        token_rows=len(counted),
        features=features,
    )


def quantile_sketch(values: Floats) -> QuantileSketch:
    """Its quantiles are values that occur, so that numbers which many texts share stay whole."""
    levels = np.quantile(values, np.linspace(0, 1, QUANTILES), method="inverted_cdf")
    return QuantileSketch(_rounded(float(values.mean())), tuple(map(_rounded, levels.tolist())))


def _rounded(value: float) -> float:
    """Whole numbers as such, which are shorter in JSON."""
    return int(value) if value.is_integer() else round(value, DIGITS)


def _frequent(texts: Sequence[frozenset[int]], counter: WordCounter | None) -> list[int]:
    counts = Counter(token for tokens in texts for token in tokens)
    if counter is not None:
        del counts[counter.unknown_id]  # a signal of its own
    least, largest = LEAST_SHARE * len(texts), LARGEST_SHARE * len(texts)
    known = sorted((-count, token) for token, count in counts.items() if least <= count <= largest)
    return [token for _, token in known[:MOST_TOKENS]]


def _shares(tokens: Sequence[int], texts: Sequence[frozenset[int]]) -> list[tuple[int, float]]:
    return [(token, _rounded(sum(token in text for text in texts) / len(texts))) for token in tokens]
