"""Accuracy on parts of the rows: by length, language, words, or a column of the file; which are worse than the rest."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from limbeck.judging.metrics import Bools
from limbeck.judging.significance import exact_interval
from limbeck.runtime.row import Row
from limbeck.text.language import FUNCTION_WORDS, SCRIPT_OF, WITHOUT_SPACES, language_name, of_script
from limbeck.text.sentences import word_count

if TYPE_CHECKING:
    from limbeck.artifacts.rows import Rows

MOST_ROWS = 50_000  # that are looked at: the first of the file
LEAST_ROWS = 50  # of a slice
LARGEST_SHARE = 0.95  # of the rows: more is nearly all of them
ERROR = 0.05  # of all intervals together
MOST_WORDS = 50
MOST_TELLING, MOST_TOLD_BY, LEAST_TOLD = 200, 20_000, 0.005  # words; rows of train; share of them that have a word
MOST_VALUES = 1_000  # of another column, such as the source of a row
LEAST_OF_WORD, LARGEST_OF_WORD = 0.02, 0.5  # share of the rows that have a word
QUARTILES = (0.25, 0.5, 0.75)
CHARACTERS = 300  # of a text, by which its language is found
LEAST_WORDS = 12  # of a text in Latin script: fewer do not tell its language
WORD = re.compile(r"[^\W\d_]{2,40}")
HAN = re.compile(r"[\u3400-\u9fff]+")


class SliceTally:
    """What is counted of judged rows, part by part; a row has a few numbers, its text is not kept."""

    def __init__(self, *, language: str, telling: Sequence[str] = ()) -> None:
        """`telling` are words that tell much about the label, the best first."""
        self._language, self._telling = language, telling
        self._lengths: list[int] = []
        self._correct: list[bool] = []
        self._counts: dict[tuple[str, str], list[int]] = {}  # rows, and right ones among them

    def add(self, rows: Sequence[Row], correct: Bools, groups: Sequence[str] | None = None) -> None:
        """Count more rows, up to MOST_ROWS; `groups` are values of another column of the file, "" where it has none."""
        free = MOST_ROWS - len(self._correct)
        groups = [""] * len(rows) if groups is None else groups
        for row, is_right, group in zip(rows[:free], correct[:free].tolist(), groups[:free], strict=True):
            texts = [row] if isinstance(row, str) else list(row)
            if group:
                counts = self._counts.setdefault(("column", group), [0, 0])
                counts[0] += 1
                counts[1] += is_right
            self._correct.append(is_right)
            self._lengths.append(sum(word_count(text, language=self._language) for text in texts))
            for part in _parts_of(" ".join(texts)):
                counts = self._counts.setdefault(part, [0, 0])
                counts[0] += 1
                counts[1] += is_right

    def result(self) -> dict[str, Any] | None:
        """The slices, the worst first, and before them those that are worse beyond noise; None if none is large enough.

        The intervals are exact (Clopper–Pearson), each at 1 - ERROR / their number (Bonferroni), so that with a
        probability of at least 95 % all of them hold. A slice `is_worse` if its interval is below the accuracy of all
        rows. No slice is chosen by what is right in it, so looking at all of them is the only search.
        """
        rows = len(self._correct)
        found = [part for part in (*self._by_length(), *self._by_counts()) if _is_large(part[2], rows)]
        if not found:
            return None
        overall = sum(self._correct) / rows
        groups = [_group(*part, overall=overall, error=ERROR / len(found)) for part in found]
        groups.sort(key=lambda group: (not group["is_worse"], group["accuracy"], group["ci"][1]))
        return {"rows": rows, "accuracy": overall, "looked_at": len(groups), "least_rows": LEAST_ROWS, "groups": groups}

    def _by_length(self) -> Iterator[tuple[str, str, int, int]]:
        """Groups between the quartiles, as in the report's `by_length`."""
        lengths, correct = np.array(self._lengths, dtype=np.int64), np.array(self._correct)
        if not len(lengths):
            return
        numbers = np.searchsorted(np.unique(np.quantile(lengths, QUARTILES)), lengths, side="left")
        unit = "characters" if self._language in WITHOUT_SPACES else "words"
        for number in np.unique(numbers):
            inside = numbers == number
            low, high = int(lengths[inside].min()), int(lengths[inside].max())
            name = f"{low:,} to {high:,} {unit}" if low < high else f"{low:,} {unit if low != 1 else unit[:-1]}"
            yield "length", name, int(inside.sum()), int(correct[inside].sum())

    def _by_counts(self) -> Iterator[tuple[str, str, int, int]]:
        rows = len(self._correct)
        words = Counter({part: counts[0] for part, counts in self._counts.items() if part[0] == "word"})
        frequent = [part for part, _ in sorted(words.items(), key=lambda item: (-item[1], item[0]))]
        leading = [("word", word) for word in self._telling]
        either = [part for pair in zip_longest(leading, frequent) for part in pair if part in words]
        kept = [part for part in dict.fromkeys(either) if _is_some(words[part], rows)]
        by_value = sorted(part for part in self._counts if part[0] == "column")[:MOST_VALUES]
        for part in [*(part for part in self._counts if part[0] == "language"), *by_value, *kept[:MOST_WORDS]]:
            counted, right = self._counts[part]
            yield part[0], part[1], counted, right


def slices_of(
    rows: Sequence[Row],
    correct: Bools,
    *,
    language: str,
    groups: Sequence[str] | None = None,
    telling: Sequence[str] = (),
) -> dict[str, Any] | None:
    """The slices of rows that are all there; `correct` is (rows)."""
    tally = SliceTally(language=language, telling=telling)
    tally.add(rows, correct, groups)
    return tally.result()


def telling_words(train: "Rows") -> list[str]:
    """The words of training rows that tell most about the label, the best first: by mutual information.

    They are chosen by other rows than those that are judged, and not by what a model gets wrong.
    """
    from limbeck.artifacts.rows import runtime_rows  # needs pyarrow, which `limbeck evaluate` does without

    labelled = np.flatnonzero(train.is_labelled)[:MOST_TOLD_BY]
    few = train.select(labelled)
    labels, classes = np.unique(few.labels, axis=0, return_inverse=True)
    counts: dict[str, npt.NDArray[np.int64]] = {}
    for row, label in zip(runtime_rows(few), classes.reshape(-1).tolist(), strict=True):
        for word in words_of(row if isinstance(row, str) else " ".join(row)):
            counts.setdefault(word, np.zeros(len(labels), dtype=np.int64))[label] += 1
    rows = np.bincount(classes.reshape(-1), minlength=len(labels))
    known = [word for word, found in counts.items() if found.sum() >= LEAST_TOLD * len(few)]
    gains = {word: _information(counts[word], rows) for word in known}
    return sorted(known, key=lambda word: (-gains[word], word))[:MOST_TELLING]


def _information(having: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]) -> float:
    """Mutual information, in nats, of having a word and of the label; `having` of the `rows` of each label do."""
    table = np.stack([having, rows - having]) / rows.sum()
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True)
    present = table > 0
    return float((table[present] * np.log(table[present] / expected[present])).sum())


def _is_some(rows: int, of_rows: int) -> bool:
    return LEAST_OF_WORD * of_rows <= rows <= LARGEST_OF_WORD * of_rows


def _is_large(rows: int, of_rows: int) -> bool:
    return LEAST_ROWS <= rows <= LARGEST_SHARE * of_rows


def _group(kind: str, name: str, rows: int, right: int, *, overall: float, error: float) -> dict[str, Any]:
    low, high = exact_interval(right, rows, error=error)
    accuracy = right / rows
    return {
        "kind": kind,
        "name": name,
        "rows": rows,
        "accuracy": accuracy,
        "ci": [low, high],
        "is_worse": high < overall,
    }


def _parts_of(text: str) -> Iterator[tuple[str, str]]:
    """The slices by language and words that a text is in, each once."""
    if language := language_of(text):
        yield "language", language
    for word in words_of(text):
        yield "word", word


def language_of(text: str) -> str | None:
    """None if the text is too short to tell: a few words in Latin script are in many languages."""
    start = text[:CHARACTERS]
    if not any(map(str.isalpha, start)):
        return "no letters"
    found = language_name([start])
    found = of_script(SCRIPT_OF[found]) if found in SCRIPT_OF else found  # one text says no more
    is_latin = found in FUNCTION_WORDS or found == "Latin-script"
    return None if is_latin and len(start.split()) < LEAST_WORDS else found


def words_of(text: str) -> set[str]:
    """The words of a text in lower case; of Chinese every two neighbouring characters, which is about a word."""
    found = set()
    for word in WORD.findall(text.lower()):
        runs: list[str] = HAN.findall(word)
        found.update({run[at : at + 2] for run in runs for at in range(len(run) - 1)} if runs else {word})
    return found
