"""The rows of conformance vectors: drawn by a seeded generator, so that no text of anybody's is among them."""

import random
import unicodedata
from collections.abc import Callable, Sequence

from limbeck.runtime.row import Row

Dice = random.Random
Draw = Callable[[Dice, Sequence[str]], str]

ENGLISH_TEXT = """
the a this that it is was has not with and of in to for film story hotel room service price delivery question weather
good bad gorgeous dreadful quick slow happy angry refund order yesterday tomorrow never always quite very
"""
ENGLISH = ENGLISH_TEXT.split()
SPOKEN = (
    *("don't", "DON'T", "can't", "cannot", "won't", "it's", "IT'S", "I'm", "we'll", "they've", "he'd", "n't", "'s"),
    *("rock 'n' roll", "o'clock", "mr. smith", "u.s.", "e.g.", "``so''", "“so”", "‘so’", "--", "...", "!!!", "?!"),
    *(
        "1,000.50",
        "3.14",
        "10:30",
        "50%",
        "$5",
        "#1",
        "a/b",
        "well-known",
        "x_y",
        "me@example.org",
        "https://example.org/a?b=c",
    ),
)
CHINESE = (
    "的一是不了在人有我他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么心多天而"
    "能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长知民样现分将外但身些与高"
    "意进把法此实回二理美点月明其种声全工己话儿者向情部正名定女问力机给等几很业最间新什打便位因重被走电四第门相次东政"
    "海口使教西再平真听世气信北少关并内加化由却代军产入先山五太水万市眼体别处总才场师书比住员九笑性通目华报立马命张活"
    "难神数件安表原车白应路期叫死常提感金何更反合放做系计或司利受光王果亲界及今京务制解各任至清物台象记边共风战干接它"
)
CHINESE_MARKS = "，。！？、；：（）“”《》…—～·"
SCRIPTS = (
    *(
        "Привет мир",
        "ΣΊΣΥΦΟΣ Οδυσσεύς",
        "שלום עולם",
        "مرحبا بالعالم",
        "नमस्ते दुनिया",
        "สวัสดีชาวโลก",
        "こんにちは世界",
        "カタカナ",
    ),
    *("ｶﾞｷﾞｸﾞ", "안녕하세요", "가각", "İstanbul ıŞIK", "straße STRASSE ẞ", "naïve café", "ǅ ﬁ ﬀ ŉ", "Việt Nam", "ⅷ ½ ①"),
    *("ＡＢＣ１２３！", "iPhone手机很好", "5寸屏幕OK", "２０２６年", "𝒽𝑒𝓁𝓁𝑜", "𠮷野家", "㈱㍿", "ﷺ", "Ωmega Å"),
)
EMOJI = (
    *("🙂", "👍🏽", "❤️", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪🇨🇳", "1️⃣", "☎️", "😂😂😂", "👩🏽‍🚀", "✔︎", "🎬", "🔥", "💯", "©®™", "→⇒"),
)
MARKS = "\u0300\u0301\u0302\u0303\u0308\u0323\u0327\u0338\u034f\u0591\u05b0\u064b\u0651\u093c\u0e31\u20e3\u3099"
CONTROL = (
    "".join(map(chr, [*range(32), *range(127, 160)])) + "\xad\u200b\u200c\u200d\u200e\u202e\u2060\ufeff\ufffd\ufe0f"
)
BLANKS = " \t\n\x0b\x0c\r\x1c\x1f\x85\xa0\u1680\u2003\u2028\u2029\u202f\u205f\u3000"
HALVES = ("\ud83d", "\ude42", "\ud83d\ude42", "\ude42\ud83d", "\udfff\udfff", "\ud800")
SPECIAL = (
    "[MASK]",
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[mask]",
    "[MASK",
    "<s>",
    "</s>",
    "<mask>",
    "<unk>",
    "##a",
    "▁a",
    "Ġa",
)
PLANES = (0x250, 0x3000, 0x10000, 0x20000)


def vector_rows(words: Sequence[str], *, pair: bool, language: str, count: int, seed: int) -> list[Row]:
    """This many rows, the same for the same arguments; `words` are those of the model's vocabulary, possibly none."""
    dice = random.Random(seed)
    known = list(words) or list(CHINESE if language == "zh" else ENGLISH)
    draws, weights = list(WEIGHTS), list(WEIGHTS.values())

    def text() -> str:
        (draw,) = dice.choices(draws, weights)
        return draw(dice, known)

    return [(text(), text()) if pair else text() for _ in range(count)]


def _vocabulary(dice: Dice, words: Sequence[str]) -> str:
    """Words that the model knows, so that it has something to decide on."""
    glue = "" if any(word[:1] in CHINESE for word in words[:50] if word) and dice.random() < 0.8 else " "
    return glue.join(dice.choices(words, k=dice.randint(1, dice.choice((6, 14, 40)))))


def _english(dice: Dice, _words: Sequence[str]) -> str:
    drawn = [
        dice.choice(SPOKEN) if dice.random() < 0.3 else _cased(dice, dice.choice(ENGLISH))
        for _ in range(dice.randint(2, 16))
    ]
    return " ".join(drawn) + dice.choice((".", "!", "?", "", " .", "..."))


def _cased(dice: Dice, word: str) -> str:
    return dice.choice((word, word, word, word.capitalize(), word.upper()))


def _chinese(dice: Dice, _words: Sequence[str]) -> str:
    drawn = dice.choices(CHINESE + CHINESE_MARKS * 2, k=dice.randint(1, 30))
    return "".join(drawn)


def _scripts(dice: Dice, words: Sequence[str]) -> str:
    return dice.choice(("", " ")).join([*dice.choices(SCRIPTS, k=dice.randint(1, 3)), dice.choice(words)])


def _emoji(dice: Dice, words: Sequence[str]) -> str:
    return dice.choice(("", " ")).join(dice.choices([*EMOJI, *dice.choices(words, k=8)], k=dice.randint(1, 8)))


def _marked(dice: Dice, words: Sequence[str]) -> str:
    return "".join(
        letter + "".join(dice.choices(MARKS, k=dice.choice((0, 0, 1, 2)))) for letter in _vocabulary(dice, words)[:30]
    )


def _control(dice: Dice, words: Sequence[str]) -> str:
    between = CONTROL + BLANKS
    return "".join(
        word + "".join(dice.choices(between, k=dice.randint(1, 2)))
        for word in dice.choices(words, k=dice.randint(1, 8))
    )


def _halves(dice: Dice, words: Sequence[str]) -> str:
    return "".join(dice.choices([*HALVES, *dice.choices(words, k=6), " "], k=dice.randint(1, 8)))


def _special(dice: Dice, words: Sequence[str]) -> str:
    return dice.choice(("", " ")).join(dice.choices([*SPECIAL, *dice.choices(words, k=8)], k=dice.randint(1, 8)))


def _any(dice: Dice, _words: Sequence[str]) -> str:
    return "".join(_character(dice) for _ in range(dice.randint(1, 20)))


def _character(dice: Dice) -> str:
    """One that Unicode has had since 2002, and not changed: later ones are read by the tables of each library."""
    while True:
        letter = chr(dice.randrange(dice.choice(PLANES)))
        category = unicodedata.ucd_3_2_0.category(letter)
        if category[0] != "C" and category == unicodedata.category(letter):
            return letter


def _nothing(dice: Dice, _words: Sequence[str]) -> str:
    return "".join(dice.choices(BLANKS, k=dice.randint(0, 3)))


def _long(dice: Dice, words: Sequence[str]) -> str:
    kinds: tuple[Draw, ...] = (_vocabulary, _vocabulary, _english, _chinese)
    drawn = [dice.choice(kinds)(dice, words) for _ in range(dice.randint(10, 40))]
    return " ".join(drawn)


def _endless(dice: Dice, words: Sequence[str]) -> str:
    """A word without a space, or more characters than are read."""
    return dice.choice((dice.choice("ax1的🙂.") * dice.choice((150, 1_200)), f"{dice.choice(words)} " * 3_000))


WEIGHTS: dict[Draw, int] = {
    _vocabulary: 250,
    _english: 150,
    _chinese: 100,
    _scripts: 90,
    _emoji: 80,
    _marked: 70,
    _control: 60,
    _any: 60,
    _special: 60,
    _halves: 40,
    _long: 32,
    _nothing: 15,
    _endless: 6,
}
