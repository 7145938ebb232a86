"""A language model behind an OpenAI-compatible server as a fallback: the labels are choices, each with a letter."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from string import ascii_uppercase
from typing import Any

import numpy as np

from limbeck.runtime.fallbacks.answers import WantedAnswer
from limbeck.runtime.fallbacks.choices import Choices
from limbeck.runtime.fallbacks.connections import Server
from limbeck.runtime.fallbacks.fallback import FallbackUnusable
from limbeck.runtime.probabilities import Floats
from limbeck.runtime.row import Row

INSTRUCTION = "Classify the text. Answer with the letter of one of these choices, and with nothing else."
AT_ONCE = 8  # questions; each has one row
MOST_LOGPROBS = 20  # what such servers give at most
MOST_TOKENS = 8  # of an answer


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

    @cached_property
    def _choices(self) -> Choices:
        return Choices(self.wanted.labels, tuple(ascii_uppercase[: len(self.wanted.labels)]))

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
        """The probabilities of the labels. NaN for what is no choice, and for the letter of one label with the name of
        another."""
        found = self._choices.probabilities(choice)
        return np.full(len(self.wanted.labels), np.nan, dtype=np.float32) if found is None else found.astype(np.float32)
