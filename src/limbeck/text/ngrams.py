"""Texts to hashed n-grams: every word, run of words and part of a word is the number of a bucket."""

import json
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any, get_args
from zlib import crc32

from limbeck.text.forms import FormStep, in_form
from limbeck.text.ngram_characters import KINDS
from limbeck.text.readable import readable

MOST_BUCKETS, LONGEST = 1 << 32, 16
MARK = "ngrams"  # the one key of such a tokenizer.json; the tokenizers library refuses to read the file
FIRST_BUCKET = 3  # after padding, unknown and mask
MASK = "[MASK]"

# About 20 MB when full. It is then cleared, as in limbeck.text.piece_memo.
MOST_PIECES, LONGEST_PIECE = 1 << 15, 32
LONGEST_WORD = 40  # characters of a word whose parts are read
LEAST_CHARACTERS, CHARACTERS_PER_WORD = 10_000, 100  # of a text
MULTIPLIER, BITS = 0x9E3779B1, 0xFFFFFFFF  # hashes of words are joined in 32 bits; any odd multiplier would do

Ids = tuple[int, ...]
Unit = tuple[int, Ids]  # the hash of a word, and the buckets of the word and its parts
Piece = tuple[Ids, Ids]  # the hashes of the words between two spaces, and their buckets


@dataclass(frozen=True)
class NgramSettings:
    """What tokenizer.json holds."""

    buckets: int  # at least 2: half of them for words, half for parts of words
    words: int = 2  # runs of up to this many words are n-grams
    shortest: int = 2  # part of a word, in characters
    longest: int = 5
    form: tuple[FormStep, ...] = ()

    def to_json(self) -> str:
        """The contents of tokenizer.json."""
        return json.dumps({MARK: asdict(self)})


def ngram_settings(json_text: str) -> NgramSettings | None:
    """The settings in a tokenizer.json; None if it is not one of n-grams."""
    if not json_text.lstrip().startswith(f'{{"{MARK}"'):  # avoids parsing a large JSON twice
        return None
    given: dict[str, Any] = json.loads(json_text)[MARK]
    settings = NgramSettings(**{**given, "form": tuple(given["form"])})
    numbers = (settings.buckets, settings.words, settings.shortest, settings.longest)
    if not all(type(number) is int for number in numbers) or not _are_usual(settings):
        raise ValueError(f"the n-grams of tokenizer.json are not usable: {numbers}")
    return settings


def _are_usual(settings: NgramSettings) -> bool:
    """Bounds far beyond what is trained: a file of somebody else must not make every text take for ever."""
    return (
        2 <= settings.buckets <= MOST_BUCKETS
        and 1 <= settings.words <= LONGEST
        and 1 <= settings.shortest <= LONGEST
        and 0 <= settings.longest <= LONGEST  # 0: words alone
        and set(settings.form) <= set(get_args(FormStep))
    )


def first_part(buckets: int) -> int:
    """The id of the first bucket for parts of words; those before it are for words."""
    return FIRST_BUCKET + buckets // 2


def most_characters_of(max_length: int) -> int:
    """How many characters of a text are read, for `max_length` words."""
    return max(LEAST_CHARACTERS, max_length * CHARACTERS_PER_WORD)


class NgramIds:
    """The buckets of a text's n-grams, each once.

    A text is split at white space, brought to compatibility form (NFKC) and lower case, and split further into runs of
    letters and digits, single Han characters and single marks: these are the words. N-grams are

    - words, and runs of up to `words` of them,
    - the parts of `<word>` of `shortest` to `longest` characters; marks have none; Han characters have those of the run
      of Han that begin with them.

    A bucket is the CRC-32 of an n-gram, modulo the number of buckets, so it is the same in every process. Words and
    parts of words have separate buckets. What was read between two spaces before is looked up. Threads may share it.
    """

    def __init__(self, settings: NgramSettings) -> None:
        self.settings = settings
        self._first_part = first_part(settings.buckets)
        self._word_buckets = self._first_part - FIRST_BUCKET
        self._part_buckets = settings.buckets - self._word_buckets
        self.formed = in_form(settings.form)
        self._known: dict[str, Piece] = {}

    def read(self, texts: Sequence[str], *, max_length: int) -> list[list[int]]:
        """The buckets of the first `max_length` words of each text."""
        most_characters = most_characters_of(max_length)
        return [self.of_text(self.formed(text[:most_characters]), max_length) for text in texts]

    def lengths(self, texts: Sequence[str], *, max_length: int) -> list[int]:
        """The number of words of each text, up to `max_length`."""
        pieces = ([*text.split()[:max_length]] for text in texts)
        return [min(max_length, sum(len(self.units(piece)) for piece in row)) for row in pieces]

    def of_text(self, text: str, most_words: int) -> list[int]:
        """The buckets of a text that was cut and brought to its form."""
        known = self._known
        words: list[int] = []
        row: list[int] = []
        for piece in text.split():
            found = known.get(piece) or self._piece(piece)
            if len(words) + len(found[0]) > most_words:
                found = _joined(self.units(piece)[: most_words - len(words)])
            words += found[0]
            row += found[1]
            if len(words) == most_words:
                break
        runs, size = words, self._word_buckets
        for length in range(2, self.settings.words + 1):
            runs = [(run * MULTIPLIER + word) & BITS for run, word in zip(runs, words[length - 1 :], strict=False)]
            row += [FIRST_BUCKET + run % size for run in runs]
        return [*dict.fromkeys(row)]

    def _piece(self, piece: str) -> Piece:
        found = _joined(self.units(piece))
        if len(piece) <= LONGEST_PIECE:
            if len(self._known) >= MOST_PIECES:
                self._known = {}
            self._known[piece] = found
        return found

    def units(self, piece: str) -> list[Unit]:
        """The words of a piece. A masked word is none: it says nothing."""
        text = readable(piece.replace(MASK, " "), most_characters=len(piece))
        if not text.isascii():
            text = unicodedata.normalize("NFKC", text)
        units: list[Unit] = []
        for kind, characters in groupby(text.lower(), KINDS.__getitem__):
            run = "".join(characters)
            match kind:
                case "word":
                    units.append(self._unit(run, _parts(run, self.settings)))
                case "han":
                    units += [self._unit(one, _from(at, run, self.settings)) for at, one in enumerate(run)]
                case "mark":
                    units += [self._unit(one, []) for one in run]
        return units

    def _unit(self, word: str, parts: list[str]) -> Unit:
        number = crc32(word.encode())
        size, first = self._part_buckets, self._first_part
        of_parts = (first + crc32(part.encode()) % size for part in parts)
        return number, (FIRST_BUCKET + number % self._word_buckets, *of_parts)


def _joined(units: list[Unit]) -> Piece:
    return tuple(number for number, _ in units), tuple(bucket for _, buckets in units for bucket in buckets)


def _parts(word: str, settings: NgramSettings) -> list[str]:
    """Parts of a word between its ends. All of it is no part: that is the word."""
    framed = f"<{word[:LONGEST_WORD]}>"
    lengths = range(settings.shortest, min(settings.longest, len(framed) - 1) + 1)
    return [framed[start : start + length] for length in lengths for start in range(len(framed) - length + 1)]


def _from(at: int, run: str, settings: NgramSettings) -> list[str]:
    """Parts of a run that begin at this place."""
    lengths = range(settings.shortest, min(settings.longest, len(run) - at) + 1)
    return [run[at : at + length] for length in lengths]
