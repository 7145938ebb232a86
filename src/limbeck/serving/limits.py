"""The limits of one request; larger ones are refused."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """The upper limits of one request."""

    rows: int = 1_000
    characters: int = 100_000  # of one text
    body_bytes: int = 8_000_000


STANDARD_LIMITS = Limits()
