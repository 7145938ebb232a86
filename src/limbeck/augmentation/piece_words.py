"""What the pieces of a language model's vocabulary are: whole words, ideographs, or parts; and where words stand."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from limbeck.augmentation.asked_words import WordKind, kind_of
from limbeck.augmentation.words import CutText, is_han

CONTINUES = "##"  # begins a WordPiece piece that goes on with a word
BYTES_START, STARTS = "Ġ", "▁"  # begin the pieces of byte-level BPE and of SentencePiece that a word starts with


class Blank(NamedTuple):
    """A word to be masked, and the places of its pieces in the text: one of a word, one a character of a Han word."""

    word: int
    first: int
    end: int
    kind: WordKind


class Vocabulary(NamedTuple):
    """By number of the piece: the whole word, in lower case, or the ideograph that it is."""

    mark: str  # by which starts or parts of words are known
    words: list[str | None]
    characters: list[str | None]


def vocabulary_of(tokenizer: Any, *, size: int) -> Vocabulary:
    """Words have two letters or more, and nothing but letters; special pieces are neither words nor ideographs."""
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
    return Vocabulary(mark, words, characters)


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
    """The words that the model can be asked about. `offsets` say which characters of the text a piece covers.

    A word of letters must be one piece that the model knows; a Han word one piece for each of its characters.
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
        elif kind == "han" and spans[first:end] == [(place, place + 1) for place in range(start, at)]:
            blanks.append(Blank(number, first, end, kind))
    return blanks


def _first_letter(text: str, start: int, end: int) -> int:
    """Where a piece begins without the white space that some tokenizers put into it."""
    while start < end and text[start].isspace():
        start += 1
    return start
