"""What was spent on an endpoint: a line for every request, on disk as soon as it is answered; and the limits."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from limbeck.recipe.endpoint import EndpointTeacher

PATTERN = "spent-*.jsonl"
LEAST_TO_LEARN = 10  # requests, before their tokens correct an estimate
MOST_TOKENS = 1_000_000_000  # of one answer: more is no count


@dataclass(frozen=True)
class Spent:
    """Requests and tokens, as the server counts them; `estimated` is what was expected of the same questions."""

    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    estimated: int = 0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            self.requests + other.requests,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.estimated + other.estimated,
        )

    @property
    def tokens(self) -> int:
        """In and out."""
        return self.tokens_in + self.tokens_out

    @property
    def correction(self) -> float:
        """What an estimate of tokens is multiplied by: what the server counted, divided by what was expected."""
        is_known = self.requests >= LEAST_TO_LEARN and self.estimated and self.tokens_in
        return self.tokens_in / self.estimated if is_known else 1.0

    def cost(self, section: EndpointTeacher) -> float | None:
        """In the currency of the prices; None without prices."""
        if section.prices is None:
            return None
        prices = section.prices
        return (self.tokens_in * prices.input_per_million + self.tokens_out * prices.output_per_million) / 1e6


class LimitReached(Exception):
    """No further request may be sent."""


def counted_tokens(usage: Any) -> tuple[int, int] | None:
    """Tokens in and out of one answer, as the server has counted them; None where it says nothing that is a count."""
    try:
        found = int(usage["prompt_tokens"]), int(usage["completion_tokens"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return found if all(0 <= count <= MOST_TOKENS for count in found) else None


def spent_in(folder: Path) -> Spent:
    """The sum of all lines of all processes that have asked this teacher. A torn last line is left out."""
    total = Spent()
    for path in sorted(folder.glob(PATTERN)):
        for one in _lines(path):
            total += one
    return total


def _lines(path: Path) -> Iterator[Spent]:
    with suppress(FileNotFoundError), path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            with suppress(ValueError, TypeError):
                yield Spent(*map(int, json.loads(line)))


class Ledger:
    """Counts what is spent, and refuses what would exceed a limit of the recipe. Thread-safe.

    Without a folder it only counts. A file has a line per request, and one line in all once it is closed.
    """

    def __init__(self, section: EndpointTeacher, folder: Path | None) -> None:
        self._section, self._lock, self._file = section, threading.Lock(), -1
        self._before = Spent() if folder is None else spent_in(folder)
        self._own, self._in_flight = Spent(), Spent()
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            self._path = folder / f"spent-{uuid4().hex}.jsonl"
            self._file = os.open(self._path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o666)

    @property
    def total(self) -> Spent:
        """By everybody, since the label store of this teacher began."""
        return self._before + self._own

    @property
    def own(self) -> Spent:
        """By this process."""
        return self._own

    def reserve(self, expected: Spent) -> None:
        """Before a request. Raises LimitReached if it, with those under way, could exceed a limit."""
        section = self._section
        with self._lock:
            after = self.total + self._in_flight + expected
            is_over = section.max_requests is not None and after.requests > section.max_requests
            is_over |= section.max_tokens is not None and after.tokens > section.max_tokens
            is_over |= section.max_cost is not None and (after.cost(section) or 0.0) > section.max_cost
            if is_over:
                raise LimitReached
            self._in_flight += expected

    def settle(self, expected: Spent, found: Spent | None) -> None:
        """After a request: what it took; None if it was refused, which costs nothing."""
        with self._lock:
            negative = Spent(-expected.requests, -expected.tokens_in, -expected.tokens_out, -expected.estimated)
            self._in_flight += negative
            if found is None:
                return
            self._own += found
            if self._file >= 0:
                os.write(self._file, _line(found))

    def close(self) -> None:
        """Replace the file by one of a single line."""
        if self._file < 0:
            return
        os.close(self._file)
        self._file = -1
        if not self._own.requests:
            self._path.unlink(missing_ok=True)
            return
        scratch = self._path.with_suffix(".partial")
        scratch.write_bytes(_line(self._own))
        scratch.replace(self._path)

    def in_words(self) -> str:
        """What was spent, and what is left of the limits."""
        section, total = self._section, self.total
        cost = total.cost(section)
        spent = f"{total.tokens:,} tokens" if cost is None else f"{cost:,.2f} spent"
        left = [
            f"{section.max_cost - cost:,.2f}" if section.max_cost is not None and cost is not None else "",
            f"{section.max_requests - total.requests:,} requests" if section.max_requests is not None else "",
            f"{section.max_tokens - total.tokens:,} tokens" if section.max_tokens is not None else "",
        ]
        known = [part for part in left if part]
        return f"{spent}, {' and '.join(known)} left" if known else spent


def _line(spent: Spent) -> bytes:
    return f"{json.dumps([spent.requests, spent.tokens_in, spent.tokens_out, spent.estimated])}\n".encode()
