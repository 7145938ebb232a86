"""Detects whether texts are English or Chinese, from the letters of a sample."""

from collections.abc import Sequence
from typing import Literal

SAMPLE_TEXTS = 500
SAMPLE_CHARACTERS = 1_000  # of each text
# A Han character is about a word, a Latin letter about a fifth of one: Chinese with many brand names is still Chinese.
CHINESE_SHARE = 0.2


def detect_language(texts: Sequence[str]) -> Literal["en", "zh"]:
    """Chinese if at least a fifth of all letters are Han characters; English otherwise, also without any letter."""
    step = max(1, -(-len(texts) // SAMPLE_TEXTS))
    letters = han = 0
    for index in range(0, len(texts), step):
        for character in texts[index][:SAMPLE_CHARACTERS]:
            letters += character.isalpha()
            han += _is_han(character)
    return "zh" if han and han >= CHINESE_SHARE * letters else "en"


def _is_han(character: str) -> bool:
    """Unified ideographs, extension A, the compatibility block, and the planes of rare ideographs."""
    return (
        "\u4e00" <= character <= "\u9fff"
        or "\u3400" <= character <= "\u4dbf"
        or "\uf900" <= character <= "\ufaff"
        or "\U00020000" <= character <= "\U0003ffff"
    )
