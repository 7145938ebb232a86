"""Texts, pages of characters and pieces for the extension's reader of n-grams: as they are, and as nobody has them."""

import random
from typing import Any

ALPHABETS = (
    "abc ABC xyz.,!?[]MASK-'\"",
    "äöüßéÉñçøÅ ΣσςΑω дома Ǆǅǆ",
    "电影很好看。我不喜欢 这部《片》",
    "한국어 \u1100\u1161\u11a8 かなカナガﾊﾟ",
    "\u0301\u0316\u0327e\u200d\ufe0f🙂👨‍👩‍👧🏽🏳️‍🌈",
    "\x00\x01\x1f\x7f\x85\xa0\u2003\u2028\u3000\t\n \ufeff\u202e",
    "\ufdfa\u2460½ﬁ\U0001d400\U0002f800\U0010ffff\U000e0001",
    "\ud800\udfff\ud83d",
)
WHOLE = ("[MASK]", " [MASK] ", "[mask]", "[MASK", "a" * 200, "🙂" * 60, "e\u0301" * 50, " " * 300, "1" * 41, "Σ" * 140)


def random_text(chance: random.Random) -> str:
    """Of one alphabet or of several, short or long."""
    pieces: list[str] = []
    for _ in range(chance.choice([0, 1, 1, 2, 3, 8])):
        alphabet = chance.choice(ALPHABETS)
        length = chance.choice([1, 3, 10, 45, 200])
        pieces.append(chance.choice(WHOLE) if chance.random() < 0.2 else "".join(chance.choices(alphabet, k=length)))
    if chance.random() < 0.2:
        pieces.append("".join(chr(chance.randrange(0x110000)) for _ in range(chance.randint(1, 30))))
    return "".join(pieces)


def random_settings(chance: random.Random) -> tuple[dict[str, Any], bool]:
    """Of a reader, and whether they are among those that a recipe allows."""
    if chance.random() < 0.2:
        odd: list[Any] = [0, 1, -1, 2**31, 2**31 - 4, 2**31 - 3, 2**63 - 1, -(2**63), 2**70, None, "2", 1.5]
        names = ("buckets", "words", "shortest", "longest", "nothing")
        given = {name: chance.choice(odd) for name in names if chance.random() < 0.5}
        return {"buckets": chance.choice([2, 1000])} | given, False
    buckets = chance.choice([2, 3, 64, 1000, 1 << 16, (1 << 22) + 5, 2**31 - 4])
    numbers = {"words": chance.randint(1, 16), "shortest": chance.randint(1, 16), "longest": chance.randint(0, 16)}
    return {"buckets": buckets, **numbers}, True


def spoilt_page(chance: random.Random, page: list[Any]) -> Any:
    """A page of characters with a mistake, or one of its own making."""
    odd: list[Any] = [None, ("", ""), ("ab", "w"), ("a", "x"), ("a", " "), ("\ud800", "w"), ("x" * 500, "w" * 500)]
    odd += [(1, 2), ("\U0010ffff", "h"), ("a",), "aw", ("[", "-"), ("ab", "w ")]
    if chance.random() < 0.3:
        return chance.choice([None, [], page[:-1], [*page, None], "x" * 256, [odd[4]] * 256, 256])
    changed = list(page)
    for _ in range(chance.choice([1, 4, 64])):
        changed[chance.randrange(256)] = chance.choice(odd)
    return changed if chance.random() < 0.9 else tuple(changed)


def spoilt_words(chance: random.Random, words: Any) -> Any:
    """The words of a piece with a mistake."""
    odd: list[Any] = [(0, ()), (2**32, ()), (-1, ()), (1, (-1,)), (1, (2**31,)), (1, (2**40,)), (2**70, ()), (1,), None]
    odd += [(1, (3,) * 500), ("1", ()), (1, ("3",)), (1, [3, 4])]
    if chance.random() < 0.2:
        return chance.choice([None, (), [], 7, "ab", [odd[0]] * 400])
    return [*words, *(chance.choice(odd) for _ in range(chance.randint(1, 3)))]
