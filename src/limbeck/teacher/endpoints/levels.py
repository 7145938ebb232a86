"""Scores as a language model gives them: whole numbers with one digit, and the score that each of them means."""

from collections.abc import Sequence

from limbeck.artifacts.score_scale import ScoreScale

DIGITS = 10  # a token each, so that its probability is that of the answer


def levels_of(scale: ScoreScale) -> list[float]:
    """The scores that it may answer: the whole numbers of the range where these have one digit, else ten even steps."""
    low, high = scale.low, scale.high
    if low >= 0 and high < DIGITS and low == int(low) and high == int(high) and high > low:
        return [float(level) for level in range(int(low), int(high) + 1)]
    return [low + (high - low) * step / (DIGITS - 1) for step in range(DIGITS)]


def symbols_of(levels: Sequence[float]) -> tuple[str, ...]:
    """The digit of each: the score itself, or the number of the step."""
    return tuple(f"{level:.0f}" for level in levels) if is_plain(levels) else tuple(map(str, range(len(levels))))


def is_plain(levels: Sequence[float]) -> bool:
    """Whether the digits are the scores themselves."""
    return all(0 <= level < DIGITS and level == int(level) for level in levels)


def nearest(score: float, levels: Sequence[float]) -> int:
    """The place of the level that is nearest to a score."""
    return min(range(len(levels)), key=lambda place: abs(levels[place] - score))
