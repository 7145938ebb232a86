"""Splits a text into sentences or paragraphs, and counts its words."""

import re
from itertools import groupby

from limbeck.text.language import WITHOUT_SPACES

# With the line end after it, if there is one: both are one break.
HTML_BREAK = re.compile(r"(?:<|&lt;)\s{0,9}/?\s{0,9}br\b[^<>&]{0,99}(?:>|&gt;)(?:[ \t]{0,9}\r?\n)?", re.IGNORECASE)

# A terminator with its closing marks and a space; those of scripts that have no spaces need none.
SPACED_END = re.compile(r"""[.!?…؟۔।॥]+(?:['")\]”’»“]|\ »)*\ |[。！？]+['")\]”’»」』）】》〉]*\ ?""", re.VERBOSE)
OPENING = "'\"([“‘«„¿¡"  # before the first letter of a sentence
ABBREVIATION = re.compile(
    r"""['"(\[“‘]*(?:
        (?i:mr|mrs|ms|messrs|dr|prof|rev|fr|gov|sen|pres|gen|col|capt|cmdr|lt|sgt|st|mt|jr|sr|vs|cf|ph\.d)
      | (?i:[a-z](?:\.[a-z])+)        # e.g, i.e, U.S, a.m, J.R.R
      | [A-HJ-Z]                      # an initial; I is a word
      | (?i:bzw|bspw|evtl|ggf|inkl|hrsg|nr|hr|z|mme|mlle|mmes|sra|srta|sres|dra|uds?|dott|sig\.ra|prof\.ssa)
      | (?i:г|гг|ул|им|проф|акад|рис|стр|см|тов|др|напр|[а-я](?:\.[а-я])+)  # also т.е, т.д
    )""",
    re.VERBOSE,
)
BEFORE_A_NUMBER = re.compile(r"[(\[]?(?:nos?|vol|ch|pp?|fig|núm|nº|n°|abb|taf|bd)", re.IGNORECASE)
CHINESE_SENTENCE = re.compile(r"[^。！？；…!?]*[。！？；…!?]+[”’」』）】》〉\"')]*|[^。！？；…!?]+")


def split_sentences(text: str, *, language: str) -> list[str]:
    """The sentences in order, white space collapsed, none of them empty.

    Line breaks and HTML's <br> always end a sentence. In all languages but Chinese, a full stop after an abbreviation
    or initial does not end one, and neither does any mark before lower case of any script.
    """
    split_line = _split_chinese if language == "zh" else _split_spaced
    return [sentence for line in _lines(text) if line for sentence in split_line(line)]


def split_paragraphs(text: str) -> list[str]:
    """The paragraphs in order, white space collapsed, none of them empty.

    An empty line ends a paragraph; in a text without empty lines between others, every line end does. HTML's <br> ends
    a line, so that two of them end a paragraph.
    """
    lines = _lines(text)
    if all(lines):
        return lines
    return [" ".join(group) for is_text, group in groupby(lines, key=bool) if is_text]


def word_count(text: str, *, language: str) -> int:
    """Words between white space; in languages without spaces, characters that are not white space."""
    words = text.split()
    return sum(map(len, words)) if language in WITHOUT_SPACES else len(words)


def _lines(text: str) -> list[str]:
    """The lines, white space collapsed; empty ones occur only between others."""
    if "<" in text or "&" in text:
        text = HTML_BREAK.sub("\n", text)
    return [" ".join(line.split()) for line in text.strip().splitlines()]


def _split_spaced(line: str) -> list[str]:
    sentences = []
    start = 0
    for match in SPACED_END.finditer(line):
        if not _goes_on(line, match.end()) and not _is_abbreviation(line, match):
            sentences.append(line[start : match.end()].rstrip(" "))
            start = match.end()
    if start < len(line):
        sentences.append(line[start:])
    return sentences


def _goes_on(line: str, place: int) -> bool:
    """Whether a small letter follows, possibly after an opening mark."""
    while line[place : place + 1] and line[place] in OPENING:
        place += 1
    return line[place : place + 1].islower()


def _is_abbreviation(line: str, match: re.Match[str]) -> bool:
    """Whether the mark is one full stop that belongs to the word before it."""
    if match.group() != ". ":
        return False
    word = line[line.rfind(" ", 0, match.start()) + 1 : match.start()]
    if ABBREVIATION.fullmatch(word):
        return True
    return line[match.end() : match.end() + 1].isdigit() and BEFORE_A_NUMBER.fullmatch(word) is not None


def _split_chinese(line: str) -> list[str]:
    return [sentence for found in CHINESE_SENTENCE.findall(line) if (sentence := found.strip())]
