"""Which parts of a text a model reads, and which tokens each of them becomes: for explanations."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from limbeck.artifacts.model_folder import ModelFacts, ModelFolder
from limbeck.text.framed_tokenizer import kept_lengths
from limbeck.text.ngram_characters import KINDS, is_han
from limbeck.text.ngrams import BITS, FIRST_BUCKET, MULTIPLIER, NgramIds, Unit, first_part, ngram_settings
from limbeck.text.plain_ids import CHARACTERS_PER_TOKEN, LEAST_CHARACTERS
from limbeck.text.readable import readable
from limbeck.text.segmenter import opened
from limbeck.text.student_tokenizer import PAD_ID, UNK_ID
from limbeck.text.tokenizer_limits import panics_as_errors

Span = tuple[int, int]  # of a text, in characters

PIECE, HALVES = re.compile(r"\S+"), re.compile("[\ud800-\udbff][\udc00-\udfff]")
JOINER, FIRST_TONE, LAST_TONE = "\u200d", "\U0001f3fb", "\U0001f3ff"
UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff]")  # Thai, Burmese, Khmer, kana …


@dataclass(frozen=True)
class ReadText:
    """The words of a text that a model reads, in reading order, and the tokens that it gets for them."""

    spans: list[Span]
    ids: list[int]
    # Which words a token comes from: its place in `ids`, that of the word in `spans`, and the word's share in it.
    owners: list[tuple[int, int, float]]
    words: list[int] = field(default_factory=list)  # of each span, the word of the tokenizer that it is part of

    def sums(self, of_tokens: npt.NDArray[np.float64]) -> list[float]:
        """What the tokens' numbers make for each span."""
        total = np.zeros(len(self.spans))
        for token, span, share in self.owners:
            total[span] += share * of_tokens[token]
        return [float(number) for number in total]

    def moved_by(self, places: list[int]) -> "ReadText":
        """The same in a text whose character i is at places[i]."""
        spans = [(places[start], places[end]) for start, end in self.spans]
        return ReadText(spans, self.ids, self.owners, self.words)


class RowReader:
    """Reads rows as a model does, and remembers where in the text everything is. Threads may share it.

    It has its own copy of the tokenizer: those of the engines look words up, and forget where they are.
    """

    def __init__(self, model: ModelFolder, facts: ModelFacts) -> None:
        """For a blend, as its first member reads. Raises what opening the files raises."""
        while facts.members:
            model = model.member(facts.members[0])
            facts = model.facts()
        json_text = model.tokenizer.read_text(encoding="utf-8")
        settings, self._most = ngram_settings(json_text), facts.max_length
        self._is_framed, self._frame = facts.tokenizer == "framed", 0
        self._most_characters = max(LEAST_CHARACTERS, facts.max_length * CHARACTERS_PER_TOKEN)
        self._read: Callable[[str], ReadText]
        if settings:
            self._read = NgramReader(NgramIds(settings), most_words=facts.max_length).read
            return
        with panics_as_errors():
            tokenizer = opened(json_text)
            tokenizer.no_truncation()
            tokenizer.no_padding()
            self._frame = tokenizer.num_special_tokens_to_add(facts.pair) if self._is_framed else 0
        self._read = lambda text: _tokens(tokenizer, text)

    def read(self, texts: list[str]) -> list[ReadText]:
        """What is read of the one or two texts of a row."""
        found = [self._in_place(text) for text in texts]
        if not self._is_framed:
            return [_first(one, self._most) for one in found]
        most, lengths = max(0, self._most - self._frame), [len(one.ids) for one in found]
        kept = kept_lengths(*lengths, most=most) if len(lengths) == 2 else (most,)
        return [_whole_words(text, _first(one, size)) for text, one, size in zip(texts, found, kept, strict=True)]

    def _in_place(self, text: str) -> ReadText:
        stripped = text.strip()[: self._most_characters]
        places = [len(text) - len(text.lstrip()) + at for at in _places(stripped)]
        return self._read(readable(stripped, most_characters=len(stripped))).moved_by(places)


class NgramReader:
    """Reads a text as NgramIds does: the same buckets, and the words that each of them comes from.

    A bucket counts once, wherever it occurs: each place of it has an equal share, and of a run of words each word.
    """

    def __init__(self, ids: NgramIds, *, most_words: int) -> None:
        self._ids, self._most_words = ids, most_words
        self._word_buckets = first_part(ids.settings.buckets) - FIRST_BUCKET

    def read(self, text: str) -> ReadText:
        """The buckets of the text's first words."""
        spans, owners, units = _Spans(text), list[int](), list[Unit]()
        for piece in PIECE.finditer(text):
            for (start, end), unit in self._units(piece[0]):
                owners.append(spans.add(piece.start() + start, piece.start() + end))
                units.append(unit)
            if len(units) >= self._most_words:
                break
        found = self._occurrences(owners[: self._most_words], units[: self._most_words])
        shares = [
            (token, owner, 1 / (len(places) * len(place)))
            for token, places in enumerate(found.values())
            for place in places
            for owner in place
        ]
        return ReadText(spans.found, [*found] or [UNK_ID], shares)

    def _occurrences(self, owners: list[int], units: list[Unit]) -> dict[int, list[list[int]]]:
        """Bucket → the places where it occurs, each with the spans of its words."""
        found: dict[int, list[list[int]]] = {}
        for owner, (_, buckets) in zip(owners, units, strict=True):
            for bucket in buckets:
                found.setdefault(bucket, []).append([owner])
        words = runs = [number for number, _ in units]
        for length in range(2, self._ids.settings.words + 1):
            runs = [(run * MULTIPLIER + word) & BITS for run, word in zip(runs, words[length - 1 :], strict=False)]
            for at, run in enumerate(runs):
                found.setdefault(FIRST_BUCKET + run % self._word_buckets, []).append(owners[at : at + length])
        return found

    def _units(self, piece: str) -> list[tuple[Span, Unit]]:
        """The words between two spaces, and where they are; where that is not certain, all of them are everywhere."""
        formed = self._ids.formed(piece).split()
        units = [unit for part in formed for unit in self._ids.units(part)]
        spans = self._spans(piece, formed)
        if len(spans) != len(units):
            spans = [(0, len(piece))] * len(units)
        return [*zip(spans, units, strict=True)]

    def _spans(self, piece: str, formed: list[str]) -> list[Span]:
        """Where the words of a piece are, if its characters can be brought to their form one by one; else none."""
        clusters, letters = _clusters(piece), [_lower(part) for part in formed]
        each = [_lower("".join(self._ids.formed(piece[start:end]).split())) for start, end in clusters]
        if "".join(each) != "".join(letters):
            return []
        places = [cluster for cluster, read in zip(clusters, each, strict=True) for _ in read]
        spans, done = [], 0
        for part in letters:
            for start, end in _words(part):
                spans.append((places[done + start][0], places[done + end - 1][1]))
            done += len(part)
        return spans


def _words(text: str) -> Iterator[Span]:
    """The runs of letters, the single Han characters and the single marks, as NgramIds finds them."""
    for kind, run in groupby(range(len(text)), lambda at: KINDS[text[at]]):
        places = [*run]
        if kind == "word":
            yield places[0], places[-1] + 1
        elif kind:
            yield from ((at, at + 1) for at in places)


def _lower(text: str) -> str:
    return unicodedata.normalize("NFKC", text).lower()


def _tokens(tokenizer: Tokenizer, text: str) -> ReadText:
    """The tokens of a tokenizer, each with its span."""
    with panics_as_errors():
        encoding = tokenizer.encode(text, add_special_tokens=False)
    spans, owners, words = _Spans(text), list[tuple[int, int, float]](), list[int]()
    for place, ((start, end), word) in enumerate(zip(encoding.offsets, encoding.word_ids, strict=True)):
        start += len(text[start:end]) - len(text[start:end].lstrip())
        end -= len(text[start:end]) - len(text[start:end].rstrip())
        if start < end:
            owners.append((place, spans.add(start, end), 1.0))
            words += [-1 if word is None else word] * (len(spans.found) - len(words))
    ids = [UNK_ID if number == PAD_ID else number for number in encoding.ids]
    return ReadText(spans.found, ids or [UNK_ID], owners, words)


def _first(read: ReadText, most: int) -> ReadText:
    """Its first tokens; n-grams are left as they are, for their reader counts words."""
    if not read.words or len(read.ids) <= most:
        return read
    owners = [owner for owner in read.owners if owner[0] < most]
    spans = max((span for _, span, _ in owners), default=-1) + 1
    return ReadText(read.spans[:spans], read.ids[:most], owners, read.words[:spans])


def _whole_words(text: str, read: ReadText) -> ReadText:
    """Without tokens, and the parts of a word as one span; in scripts without spaces every part is a span."""
    spans: list[Span] = []
    for at, (start, end) in enumerate(read.spans):
        joins = at > 0 and read.words[at] == read.words[at - 1] and spans[-1][1] == start
        if joins and not any(is_han(near) or UNSPACED.match(near) for near in text[start - 1 : start + 1]):
            spans[-1] = spans[-1][0], end
        else:
            spans.append((start, end))
    return ReadText(spans, [], [])


class _Spans:
    """Spans of a text in reading order, which neither overlap nor cut what is seen as one character."""

    def __init__(self, text: str) -> None:
        self.found: list[Span] = []
        self._starts, self._ends = [*range(len(text) + 1)], [*range(len(text) + 1)]
        if text.isascii():
            return
        for start, end in _clusters(text):
            self._starts[start:end] = [start] * (end - start)
            self._ends[start + 1 : end + 1] = [end] * (end - start)

    def add(self, start: int, end: int) -> int:
        """The place in `found` of this span; of the last one, which grows, if they overlap."""
        start, end = self._starts[start], self._ends[end]
        if self.found and start < self.found[-1][1]:
            self.found[-1] = self.found[-1][0], max(end, self.found[-1][1])
        else:
            self.found.append((start, end))
        return len(self.found) - 1


def _clusters(text: str) -> list[Span]:
    """What is seen as one character: a letter with its marks, emoji that are joined, two letters of a flag."""
    starts = [at for at in range(len(text)) if not at or not _belongs_to_last(text[at - 1], text[at])]
    return [*zip(starts, [*starts[1:], len(text)], strict=True)]


def _belongs_to_last(last: str, character: str) -> bool:
    if (last < "\x7f" and character < "\x7f") or last.isspace():
        return False
    is_tone = FIRST_TONE <= character <= LAST_TONE
    is_flag = "\U0001f1e6" <= last <= "\U0001f1ff" and "\U0001f1e6" <= character <= "\U0001f1ff"
    return is_tone or is_flag or JOINER in (last, character) or unicodedata.category(character)[0] == "M"


def _places(text: str) -> list[int]:
    """For each character of the readable text, and its end: where it is in the text, which may have halves of pairs."""
    if text.isascii() or not HALVES.search(text):
        return [*range(len(text) + 1)]
    seconds = {pair.start() + 1 for pair in HALVES.finditer(text)}
    return [at for at in range(len(text) + 1) if at not in seconds]
