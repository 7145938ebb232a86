"""Texts that are difficult for tokenizers, and every kind of tokenizer that reads a text word by word."""

import random
from collections.abc import Callable, Sequence

import pytest
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

from limbeck.text.forms import FormStep
from limbeck.text.piece_tokenizer import cut_down_pieces
from limbeck.text.segmenter import Segmenter
from limbeck.text.word_tokenizer import build_word_tokenizer

StrangeTexts = Callable[..., list[str]]
Build = Callable[[list[str]], str]

SPACES = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2003\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
UNSEEN = (
    "\x00\x01\x08\x1b\x7f\x80\x9f\xad\u061c\u180e\u200b\u200c\u200d\u200e\u202e\u2060\ufeff\ufffd\ufffe\ufe0f\U000e0020"
)
COMBINING = "\u0300\u0301\u0308\u0323\u0327\u0338\u0345\u034f\u0591\u064b\u093c\u09be\u1161\u11a8\u20e3\u3099\U0001d165"
# Among them some whose normal form holds spaces, begins with a mark or is a mark on a space.
COMPATIBLE = (
    "\ufdfa\ufdfb\xa8\xb4\xaf\xb8\u037a\u0384\u1fbd\u1fc1\u1fed\u1ffd\u2017\u203e\u2026\u2474\u309b\ufb06\ufe70\uff9e"
)
CASED = "ΣσςıİßẞſKÅǅΐﬀᾳŉȺᲐԱև"
ASIAN = "的一是不了酒店房间电影很好研究生命起源龘𠀀々〇，。！？、；：（）～「」アがｶﾞﾊﾟ한각ᄀ"
WIDE = "ＡＺａｚ０９！＃％＂＇（）．，"
MARKS = "'’‘ʼ`´“”\".,!?;:()-–—…/$%#&*@_[]{}«»abnots0123456789TNS"
WORDS = (
    *("the", "film", "it's", "don't", "DON'T", "cannot", "can", "not", "n't", "'s", "'ll", "I", "gorgeous", "Gorgeous"),
    *("mr.", "u.s.", "1,000", "3.5", "10:30", "rock'n'roll", "'n'", "'em", "actors'", "''", "``", "--", "...", "!!"),
    *("[MASK]", "[PAD]", "[UNK]", "[CLS]", "[MASK", "MASK]", "[mask]", "<mask>", "x" * 120, "1" * 25, "1.2.3.4.5.6.7"),
    *("👍🏽", "❤️", "👨‍👩‍👧", "café", "cafe\u0301", "酒店", "房间不错，", "iPhone手机", "５．５寸"),
)
POOLS = {SPACES: 8, UNSEEN: 6, COMBINING: 8, COMPATIBLE: 5, CASED: 4, ASIAN: 7, WIDE: 3, MARKS: 11, WORDS: 15, " ": 28}


def _any_character(dice: random.Random) -> str:
    point = dice.randrange(dice.choice([0x250, 0x3000, 0x10000, 0x110000]))
    return chr(point) if not 0xD800 <= point < 0xE000 else "\ufffd"


def _text(dice: random.Random) -> str:
    pools = dice.choices([*POOLS, ""], weights=[*POOLS.values(), 5], k=dice.randrange(dice.choice([4, 12, 40])))
    return "".join(dice.choice(pool) if pool else _any_character(dice) for pool in pools)


@pytest.fixture(scope="session")
def strange_texts() -> StrangeTexts:
    """The given number of texts, the same for the same seed; none has a lone surrogate."""

    def drawn(count: int, *, seed: int) -> list[str]:
        dice = random.Random(seed)
        return [_text(dice) for _ in range(count)]

    return drawn


ALL_STEPS: tuple[FormStep, ...] = ("narrow", "narrow_marks", "lowercase", "spaced")
SPECIAL = ["[PAD]", "[UNK]", "[MASK]"]


def words(
    language: str, *, lowercase: bool = True, form: Sequence[FormStep] = (), segmenter: Segmenter = "longest_match"
) -> Build:
    return lambda texts: build_word_tokenizer(
        texts, language=language, max_size=900, min_count=1, lowercase=lowercase, form=form, segmenter=segmenter
    ).to_json()


def word_piece(
    texts: Sequence[str], *, normalizer: normalizers.Normalizer, pre_tokenizer: pre_tokenizers.PreTokenizer
) -> Tokenizer:
    letters = sorted({letter for text in texts for letter in text if letter.isprintable() and letter != " "})[:300]
    pieces = [*SPECIAL, "the", "film", "##ing", "go", "##rg", *letters, *(f"##{letter}" for letter in letters)]
    tokenizer = Tokenizer(models.WordPiece({piece: number for number, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre_tokenizer
    tokenizer.add_special_tokens([*SPECIAL, AddedToken("<mask>", lstrip=True, rstrip=True, normalized=False)])
    return tokenizer


def bert(
    *, lowercase: bool = True, strip_accents: bool | None = None, clean: bool = True, chinese: bool = True
) -> Build:
    normalizer = normalizers.BertNormalizer(
        clean_text=clean, handle_chinese_chars=chinese, strip_accents=strip_accents, lowercase=lowercase
    )
    return lambda texts: word_piece(
        texts, normalizer=normalizer, pre_tokenizer=pre_tokenizers.BertPreTokenizer()
    ).to_str()


def pieces(form: Sequence[FormStep]) -> Build:
    return lambda texts: cut_down_pieces(bert()(texts), texts, max_size=900, min_count=1, form=form).to_json()


def of_parts(normalizer: normalizers.Normalizer, pre_tokenizer: pre_tokenizers.PreTokenizer) -> Build:
    return lambda texts: word_piece(texts, normalizer=normalizer, pre_tokenizer=pre_tokenizer).to_str()


SEPARABLE: dict[str, Build] = {
    "english": words("en"),
    "english cased": words("en", lowercase=False),
    "english spaced": words("en", lowercase=False, form=["spaced"]),
    "english in form": words("en", form=ALL_STEPS),
    "chinese": words("zh"),
    "chinese cased": words("zh", lowercase=False),
    "chinese in form": words("zh", form=ALL_STEPS),
    "chinese by jieba": words("zh", segmenter="jieba"),
    **{
        name: words(code)
        for name, code in [("french", "fr"), ("german", "de"), ("russian", "ru"), ("turkish", "tr"), ("arabic", "ar")]
    },
    **{name: words(code) for name, code in [("persian", "fa"), ("hindi", "hi"), ("japanese", "ja"), ("korean", "ko")]},
    "bert": bert(),
    "bert cased": bert(lowercase=False, strip_accents=False),
    "bert as it is": bert(lowercase=False, strip_accents=True, clean=False, chinese=False),
    "pieces": pieces(()),
    "pieces in form": pieces(ALL_STEPS),
    "decomposed": of_parts(
        normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()]),
        pre_tokenizers.Sequence(
            [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation(), pre_tokenizers.Digits()]
        ),
    ),
    "composed": of_parts(normalizers.NFD(), pre_tokenizers.Whitespace()),
}


@pytest.fixture(scope="session", params=SEPARABLE)
def separable_json(request: pytest.FixtureRequest, strange_texts: StrangeTexts) -> str:
    """The tokenizer.json of each kind that reads a text word by word."""
    return SEPARABLE[request.param](strange_texts(300, seed=1))
