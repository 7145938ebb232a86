"""What comes of a campaign: many inputs that somebody has tampered with, each tried once."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Campaign:
    """`clean` of the `tried` inputs were dealt with as promised; each of the others is a finding, in words."""

    name: str
    tried: int
    clean: int
    findings: tuple[str, ...]
    detail: dict[str, int]
