"""What a language model answered to a choice between letters: probabilities from the first token, or what it wrote."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

CERTAIN = 1 - 1e-6  # a model that gives no probabilities is taken at its word
MOSTLY = 0.5  # of the first token: if letters have less, its answer begins with something else
AROUND = " \t\r\n.,:;!()[]*_`\"'“”‘’«»"  # what models write around a letter or a label
SYMBOL_AND_LABEL = re.compile(r"([A-Za-z]|[0-9]{1,4})[\s.:;,)\]*_`\"'=–—-]+(.+)", re.DOTALL)

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Choices:
    """The labels, and the letter (or number) of each in the question."""

    labels: tuple[str, ...]
    symbols: tuple[str, ...]

    def probabilities(self, choice: dict[str, Any]) -> Doubles | None:
        """Of the labels, from the symbols as the first token; without them, all for the label that it wrote.

        None for what is no choice, and for the symbol of one label with the name of another.
        """
        found, _ = self.from_logprobs(choice)
        places = self.written(choice)
        if len(places) > 1 or (not places and found.sum() < MOSTLY):
            return None
        if found.sum() < MOSTLY:
            found[:] = (1 - CERTAIN) / max(len(found) - 1, 1)
            found[list(places)] = CERTAIN
        return np.asarray(found / found.sum())

    def from_logprobs(self, choice: dict[str, Any]) -> tuple[Doubles, float]:
        """The probability of each symbol as the first token, 0 where the server did not tell it; and the probability of
        all tokens that it did tell. Zeros if it gives none."""
        found, given = np.zeros(len(self.labels)), 0.0
        for token, logprob in first_tokens(choice):
            probability = math.exp(min(logprob, 0.0))
            places = self.places(token)
            found[list(places)] += probability if len(places) == 1 else 0.0
            given += probability
        return found, given

    def written(self, choice: dict[str, Any]) -> set[int]:
        """Which labels the text of the answer names; empty without a text."""
        message = choice.get("message")
        text = message.get("content") if isinstance(message, dict) else None
        return self.places(text) if isinstance(text, str) else set()

    def places(self, text: str) -> set[int]:
        """Which labels a token or an answer names: by a symbol, by a label, or by both; two if these differ."""
        plain = bare(text)
        found = self._of_symbol(plain) or self._of_name(plain)
        parts = SYMBOL_AND_LABEL.fullmatch(plain)
        if found or parts is None or not (of_symbol := self._of_symbol(parts[1])):
            return found
        (place,), name = of_symbol, bare(parts[2])
        of_name = self._of_name(name)
        if place in of_name or (not of_name and bare(self.labels[place]).casefold().startswith(name.casefold())):
            return of_symbol  # the end of a long label may be cut off
        return of_symbol | of_name if of_name else set()

    def _of_symbol(self, text: str) -> set[int]:
        """As it is written; or else without case, which only tells symbols apart where there are more than 26."""
        return _equal(self.symbols, text, fold=str) or _equal(self.symbols, text, fold=str.upper)

    def _of_name(self, name: str) -> set[int]:
        """The labels that are called so, as it is written or else without case."""
        labels = [bare(label) for label in self.labels]
        return _equal(labels, name, fold=str) or _equal(labels, name, fold=str.casefold)


def _equal(names: Sequence[str], text: str, *, fold: Any) -> set[int]:
    wanted = fold(text)
    return {place for place, name in enumerate(names) if fold(name) == wanted}


def bare(text: str) -> str:
    """Without the signs that models write around an answer."""
    return text.strip(AROUND) or text.strip()


def first_tokens(choice: dict[str, Any]) -> list[tuple[str, float]]:
    """What the first token might have been, with the logarithm of its probability; empty where a server gives none."""
    try:
        return alternatives(choice["logprobs"]["content"][0])
    except (KeyError, TypeError, IndexError):
        return []


def alternatives(token: Any) -> list[tuple[str, float]]:
    """What one token of an answer might have been, with the logarithm of each probability."""
    try:
        found = [(one["token"], float(one["logprob"])) for one in token["top_logprobs"]]
    except (KeyError, TypeError, IndexError, ValueError, OverflowError):
        return []
    return [(token, logprob) for token, logprob in found if isinstance(token, str) and not math.isnan(logprob)]
