"""Which pieces of a language model's vocabulary are whole words or ideographs, and where words are in a text."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from limbeck.augmentation.words import CutText, is_han
from limbeck.text.student_tokenizer import MASK

WordKind: TypeAlias = Literal["word", "han"]  # of letters; or of ideographs, in a Chinese corpus

MOST_CHARACTERS = 4  # of a Chinese word: characters that are predicted one by one rarely form a longer word
# Like TinyBERT, function words stay: the meaning depends on them, and the model mostly predicts the same ones.
FUNCTION_WORDS_TEXT = """
a an the this that these those such i me my mine myself we us our ours ourselves you your yours yourself yourselves
he him his himself she her hers herself it its itself they them their theirs themselves who whom whose which what
am is are was were be been being do does did doing done have has had having will would shall should can could may
might must ought not no nor never and or but if because as while until unless although though than then so of at by
for with about against between into through during before after above below to from up down in out on off over
under again further once here there when where why how all any both each few more most other some only own same too
very just also n't 's 'm 'd 'll 're 've 'em ain't aren't can't cannot couldn't didn't doesn't don't hadn't hasn't
haven't isn't mustn't shouldn't wasn't weren't won't wouldn't i'm i've i'd i'll you're you've you'd you'll he's he'd
he'll she's she'd she'll it's it'd it'll we're we've we'd we'll they're they've they'd they'll that's there's who's
what's let's -lrb- -rrb- -lsb- -rsb- -lcb- -rcb-
"""
FUNCTION_WORDS = frozenset(FUNCTION_WORDS_TEXT.split())
PARTICLES_TEXT = "的 地 得 了 着 过 吗 呢 吧 啊 呀 哦 嘛 么 们 和 与 及 或 而 但 但是 因为 所以 如果 把 被 之"
PARTICLES = frozenset(PARTICLES_TEXT.split())


def kind_of(word: str, *, language: str) -> WordKind | None:
    """The kind of a word; None for those that always stay: marks, numbers, function words, long Chinese words."""
    if is_han(word):
        # Ideographs are segmented only in a Chinese corpus; elsewhere each may be part of a word.
        is_asked = language == "zh" and len(word) <= MOST_CHARACTERS and word not in PARTICLES
        return "han" if is_asked else None
    plain = word.lower().replace("’", "'")
    is_asked = word.upper() != MASK and any(map(str.isalpha, word)) and plain not in FUNCTION_WORDS
    return "word" if is_asked else None


def written_like(word: str, other: str) -> str:
    """`other`, which is in lower case, in the case of `word`: capitalised, in capitals, or unchanged."""
    if len(word) > 1 and word.isupper():
        return other.upper()
    return other[0].upper() + other[1:] if word[0].isupper() else other


CONTINUES = "##"  # prefix of a WordPiece piece that continues a word
BYTES_START, STARTS = "Ġ", "▁"  # prefixes of byte-level BPE and SentencePiece pieces that start a word


class Blank(NamedTuple):
    """A word to be masked, and the range of its pieces: one piece, or for a Han word one per character."""

    word: int
    first: int
    end: int
    kind: WordKind


class PieceWords(NamedTuple):
    """By id of the piece: the whole word in lower case, or the ideograph, that it is."""

    mark: str  # the prefix that marks starts or continuations of words
    words: list[str | None]
    characters: list[str | None]


def vocabulary_of(tokenizer: Any, *, size: int) -> PieceWords:
    """The words and ideographs among the pieces. A word has at least two characters, all letters; special pieces are
    neither."""
    pieces: dict[str, int] = tokenizer.get_vocab()
    counts = {mark: sum(piece.startswith(mark) for piece in pieces) for mark in (CONTINUES, BYTES_START, STARTS)}
    mark = max(counts, key=lambda mark: counts[mark])
    decoder = tokenizer.backend_tokenizer.decoder
    words: list[str | None] = [None] * size
    characters: list[str | None] = [None] * size
    special = set(tokenizer.all_special_ids)
    for piece, number in pieces.items():
        if number >= size or number in special:
            continue
        if len(piece) == 1 and is_han(piece):
            characters[number] = piece
        elif piece.startswith(mark) != (mark == CONTINUES):
            words[number] = _whole_word(decoder.decode([piece]) if mark == BYTES_START and decoder else piece, mark)
    return PieceWords(mark, words, characters)


def _whole_word(piece: str, mark: str) -> str | None:
    word = piece.removeprefix(mark).strip()
    is_word = len(word) > 1 and word.isalpha() and not any(map(is_han, word))
    return word.lower() if is_word else None


def blanks_in(
    text: str,
    cut: CutText,
    pieces: Sequence[int],
    offsets: Sequence[tuple[int, int]],
    *,
    language: str,
    unknown: int | None,
) -> list[Blank]:
    """The words that the model can be asked about. `offsets` are the characters of the text that each piece covers.

    A word of letters must be one known piece; a Han word must be one piece per character.
    """
    spans = [(_first_letter(text, start, end), end) for start, end in offsets]
    blanks, first, at = [], 0, 0
    for number, (gap, word) in enumerate(zip(cut.gaps, cut.words, strict=False)):
        start = at + len(gap)
        at = start + len(word)
        while first < len(spans) and spans[first][1] <= start:
            first += 1
        end = first
        while end < len(spans) and spans[end][0] < at:
            end += 1
        kind = kind_of(word, language=language)
        if kind == "word" and spans[first:end] == [(start, at)] and word.isalpha() and len(word) > 1:
            if pieces[first] != unknown:
                blanks.append(Blank(number, first, end, kind))
        elif kind == "han" and spans[first:end] == [(character, character + 1) for character in range(start, at)]:
            blanks.append(Blank(number, first, end, kind))
    return blanks


def _first_letter(text: str, start: int, end: int) -> int:
    """Where a piece begins, without the leading white space that some tokenizers include."""
    while start < end and text[start].isspace():
        start += 1
    return start
