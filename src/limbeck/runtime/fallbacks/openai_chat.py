"""A language model behind an OpenAI-compatible server as a fallback: the labels are choices, each with a letter."""

import math
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from string import ascii_uppercase
from typing import Any

import numpy as np

from limbeck.runtime.fallbacks.answers import WantedAnswer
from limbeck.runtime.fallbacks.connections import Server
from limbeck.runtime.fallbacks.fallback import FallbackUnusable
from limbeck.runtime.probabilities import Floats
from limbeck.runtime.row import Row

INSTRUCTION = "Classify the text. Answer with the letter of one of these choices, and with nothing else."
AT_ONCE = 8  # questions; each has one row
MOST_LOGPROBS = 20  # what such servers give at most
MOST_TOKENS = 8  # of an answer
CERTAIN = 1 - 1e-6  # a model that gives no probabilities is taken at its word
MOSTLY = 0.5  # of the first token: if letters have less, its answer begins with something else
AROUND = " \t\r\n.,:;!()[]*_`\"'“”‘’«»"  # what models write around a letter or a label
LETTER_AND_LABEL = re.compile(r"([A-Za-z])[\s.:;,)\]*_`\"'=–—-]+(.+)", re.DOTALL)


@dataclass(frozen=True)
class OpenAiFormat:
    """`POST /v1/chat/completions`. A row whose answer is no choice has no answer: NaN."""

    server: Server
    wanted: WantedAnswer
    model: str
    instruction: str = INSTRUCTION
    path: str = "/v1/chat/completions"
    rows_at_once: int = AT_ONCE

    def __post_init__(self) -> None:
        """Raises FallbackUnusable for labels that cannot be choices."""
        if self.wanted.multi_label or len(self.wanted.labels) > len(ascii_uppercase):
            reason = "a language model chooses one of at most 26 labels"
            found = "several may apply to a row" if self.wanted.multi_label else f"{len(self.wanted.labels):,} here"
            advice = "Give a model that was trained for these labels."
            raise FallbackUnusable(name=self.wanted.name, reason=f"{reason}; {found}", advice=advice)

    def ask(self, rows: Sequence[Row], *, deadline: float | None = None) -> Floats:
        """(rows, classes); the rows are asked side by side."""
        if len(rows) == 1:
            return self._asked(rows[0], deadline)[np.newaxis]
        with ThreadPoolExecutor(min(AT_ONCE, len(rows))) as pool:
            return np.stack(list(pool.map(self._asked, rows, repeat(deadline))))

    def _asked(self, row: Row, deadline: float | None) -> Floats:
        answer = self.server.post(self.path, self._question(row), deadline=deadline)
        choices = self.wanted.list_of(self.wanted.entry(answer, "choices"), what="choices")
        if not choices or not isinstance(choices[0], dict):
            raise self.wanted.failed("there is no choice in its answer")
        return self._read(choices[0])

    def _question(self, row: Row) -> dict[str, Any]:
        choices = [f"{letter}: {label}" for letter, label in zip(ascii_uppercase, self.wanted.labels, strict=False)]
        text = row if isinstance(row, str) else f"First text:\n{row[0]}\n\nSecond text:\n{row[1]}"
        return {
            "model": self.model,
            "messages": [
                {"role": "system", "content": "\n".join([self.instruction, *choices])},
                {"role": "user", "content": text},
            ],
            "temperature": 0,
            "max_tokens": MOST_TOKENS,
            "logprobs": True,
            "top_logprobs": MOST_LOGPROBS,
        }

    def _read(self, choice: dict[str, Any]) -> Floats:
        """The probabilities of the letters as the first token; without them, the label that it wrote.

        NaN for what is no choice, and for the letter of one label with the name of another.
        """
        found = np.zeros(len(self.wanted.labels))
        for token, logprob in _first_tokens(choice):
            places = self._places(token)
            found[list(places)] += math.exp(min(logprob, 0.0)) if len(places) == 1 else 0.0
        message = choice.get("message")
        written = message.get("content") if isinstance(message, dict) else None
        places = self._places(written) if isinstance(written, str) else set()
        if len(places) > 1 or (not places and found.sum() < MOSTLY):
            return np.full(len(found), np.nan, dtype=np.float32)
        if found.sum() < MOSTLY:
            found[:] = (1 - CERTAIN) / max(len(found) - 1, 1)
            found[list(places)] = CERTAIN
        return np.asarray(found / found.sum(), dtype=np.float32)

    def _places(self, text: str) -> set[int]:
        """Which labels a token or an answer names: by a letter, by a label, or by both; two if these differ."""
        plain = _bare(text)
        found = self._of_letter(plain) or self._of_name(plain)
        parts = LETTER_AND_LABEL.fullmatch(plain)
        if found or parts is None or not (of_letter := self._of_letter(parts[1])):
            return found
        (place,), name = of_letter, _bare(parts[2])
        of_name = self._of_name(name)
        if place in of_name or (
            not of_name and _bare(self.wanted.labels[place]).casefold().startswith(name.casefold())
        ):
            return of_letter  # the end of a long label may be cut off
        return of_letter | of_name if of_name else set()

    def _of_letter(self, text: str) -> set[int]:
        place = ascii_uppercase.find(text.upper()) if len(text) == 1 else -1
        return {place} if 0 <= place < len(self.wanted.labels) else set()

    def _of_name(self, name: str) -> set[int]:
        """The labels that are called so, as it is written or else without case."""
        labels = [_bare(label) for label in self.wanted.labels]
        exact = {place for place, label in enumerate(labels) if label == name}
        return exact or {place for place, label in enumerate(labels) if label.casefold() == name.casefold()}


def _bare(text: str) -> str:
    return text.strip(AROUND) or text.strip()


def _first_tokens(choice: dict[str, Any]) -> list[tuple[str, float]]:
    """What the first token might have been, with the logarithm of its probability; empty where a server gives none."""
    try:
        tokens = choice["logprobs"]["content"][0]["top_logprobs"]
        found = [(one["token"], float(one["logprob"])) for one in tokens]
    except (KeyError, TypeError, IndexError, ValueError, OverflowError):
        return []
    return [(token, logprob) for token, logprob in found if isinstance(token, str) and not math.isnan(logprob)]
