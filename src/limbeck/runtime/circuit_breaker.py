"""A circuit breaker: after a few failures nobody waits for what fails; after a pause, one question tries it again."""

import time
from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import Literal

State = Literal["closed", "open", "half-open"]


class CircuitBreaker:
    """Closed: everybody may ask. Open: nobody may. Half-open: one question is under way that decides. Thread-safe.

    It opens after `failures` in a row, or if of the last `window` answers at least the share `failing` were failures.
    After `pause` seconds one question may be asked: its success closes it, its failure opens it for another pause. A
    question whose end nobody reports holds others up for one pause at most. What became of a question from before it
    opened does not count.
    """

    def __init__(
        self,
        *,
        failures: int = 3,
        failing: float = 0.5,
        window: int = 20,
        pause: float = 15.0,
        slow_seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`slow_seconds`: a success that took longer counts as a failure."""
        self._most_in_row, self._failing, self._pause = failures, failing, pause
        self._slow_seconds, self._clock = slow_seconds, clock
        self._last: deque[bool] = deque(maxlen=window)  # whether each was a failure
        self._in_row = 0
        self._open_until: float | None = None  # when one may try again; None: it is closed
        self._is_tried = False
        self._period = 1  # a new one begins whenever it opens
        self._lock = Lock()

    @property
    def state(self) -> State:
        """For metrics and messages."""
        with self._lock:
            if self._open_until is None:
                return "closed"
            return "half-open" if self._is_tried else "open"

    def allows(self) -> int | None:
        """Whether to ask now: a token of the question, or None.

        Whoever then asks must call `succeeded` or `failed` afterwards, with the token.
        """
        with self._lock:
            if self._open_until is not None:
                if self._clock() < self._open_until:
                    return None
                self._is_tried, self._open_until = True, self._clock() + self._pause
            return self._period

    def succeeded(self, seconds: float, token: int | None = None) -> None:
        """An answer came, after this time."""
        if self._slow_seconds is not None and seconds > self._slow_seconds:
            self.failed(token)
            return
        with self._lock:
            if not self._counts(token):
                return
            self._in_row = 0
            self._last.append(False)
            if self._is_tried:
                self._is_tried, self._open_until = False, None
                self._last.clear()

    def failed(self, token: int | None = None) -> None:
        """No answer came, or none in time."""
        with self._lock:
            if not self._counts(token):
                return
            self._in_row += 1
            self._last.append(True)
            is_full = len(self._last) == self._last.maxlen
            is_bad = is_full and sum(self._last) >= self._failing * len(self._last)
            if self._is_tried or self._in_row >= self._most_in_row or is_bad:
                self._is_tried, self._open_until = False, self._clock() + self._pause
                self._in_row = 0
                self._period += 1
                self._last.clear()

    def _counts(self, token: int | None) -> bool:
        """Whether the question began after it opened last; without a token, it did."""
        return token is None or token == self._period
