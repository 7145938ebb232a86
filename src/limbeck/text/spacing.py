"""Separates punctuation and English contractions by spaces, as treebanks and SST-2 do: "don't!" becomes "do n't !"."""

import re
from functools import lru_cache

# Python's engine and that of the tokenizers library must read these expressions alike. Their classes of letters, digits
# and white space differ in rare characters, so none of them is used here.
SPACE = r" \t\n\x0b\x0c\r\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
LETTER = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f"
QUOTE = "['\u2019]"
BRACKET = r"()\[\]{}\"“”«»;$%#–—…"  # these marks are always separated
NOT = rf"[nN]{QUOTE}[tT]"
WORD_ENDS = rf"(?:(?![{LETTER}])|(?={NOT}))"
CUT_OFF = r"(?:[sSmMdD]|[lL][lL]|[rRvV][eE])"  # it's, I'm, he'd, we'll, they're, I've
# Words that keep an apostrophe before them: contractions, 'em, 'til, 'tis, 'cause, rock 'n' roll.
LEANING = rf"(?:{CUT_OFF}|[tTnN]|[eE][mM]|[tT][iI][lLsS]|[cC][aA][uU][sS][eE])"
# Words that keep their full stop: these, and initials (but I is a word, unless a stop precedes it).
WITH_STOP = (
    *("[mM][rR]", "[mM][rR][sS]", "[mM][sS]", "[dD][rR]", "[pP][rR][oO][fF]", "[jJ][rR]", "[sS][rR]", "[sS][tT]"),
    *("[vV][sS]", "[eE][tT][cC]", "[iI][nN][cC]", "[cC][oO]", "[aA][lL]", "[bB][rR][oO][sS]", "[A-HJ-Za-hj-z]"),
)
KEEPS_ITS_STOP = "".join(rf"(?<!^{word})(?<![^{LETTER}]{word})" for word in WITH_STOP)
KEEPS_ITS_STOP += rf"(?<!^\.[{LETTER}])(?<![^.]\.[{LETTER}])"

BEFORE = (
    rf"(?=[{BRACKET}])",
    r"(?=[,:](?![0-9]))|(?<![0-9])(?=[,:])",  # but 1,000 and 10:30
    r"(?<![!?])(?=[!?])",
    r"(?<!\.)(?=\.\.)",
    r"(?<!-)(?=--)",
    r"(?<!`)(?=`)",
    r"(?<!')(?='')",
    rf"(?<!\.){KEEPS_ITS_STOP}(?=\.(?:[{SPACE}{BRACKET},:!?`'\u2019]|--|$))",
    rf"(?<=[{LETTER}])(?={NOT})",
    rf"(?<!['\u2019])(?={QUOTE}{CUT_OFF}{WORD_ENDS})",
    # A quotation ends, or a plural's genitive (actors'); but not 'n'.
    rf"(?<!['\u2019])(?<!^{QUOTE}[nN])(?<![^'\u2019]{QUOTE}[nN])(?={QUOTE}(?:[{SPACE}{BRACKET},:!?.`]|--|''|$))",
    rf"(?<![{LETTER}0-9'\u2019])(?={QUOTE}(?!{LEANING}{WORD_ENDS})[{LETTER}])",  # a quotation begins
    rf"(?:(?<=^[cC][aA][nN])|(?<=[^{LETTER}][cC][aA][nN]))(?=[nN][oO][tT]{WORD_ENDS})",
)
AFTER = (
    rf"(?<=[{BRACKET}])",
    r"(?<=[,:])(?![0-9])|(?<![0-9][,:])(?<=[,:])",
    r"(?<=[!?])(?![!?])",
    r"(?<=\.\.)(?!\.)",
    r"(?<=--)(?!-)",
    r"(?<=`)(?!`)",
    r"(?<='')(?!')",
    rf"(?:(?<![{LETTER}0-9'\u2019]{QUOTE})|(?<=''{QUOTE}))(?<={QUOTE})(?!{LEANING}{WORD_ENDS})(?=[{LETTER}])",
)
# A position between two characters that are not white space; one character on each side rules out most of them.
PLACE = (
    rf"(?<=[^{SPACE}])(?=[^{SPACE}])"
    rf"(?:(?=[^A-Za-z0-9]|[nN]['\u2019oO])(?:{'|'.join(BEFORE)})|(?<=[^A-Za-z0-9])(?:{'|'.join(AFTER)}))"
)
WORDS_KNOWN, LONGEST_KNOWN = 1 << 17, 40  # cached words, and the most characters of one
_PLACE = re.compile(PLACE)


def spaced(text: str) -> str:
    """The text with punctuation and contractions separated by spaces; text that already is so does not change.

    Hyphens, slashes and full stops inside a word or a number stay, and so do those of abbreviations ("mr.", "u.s.").
    No rule looks beyond a space, so words are processed one by one, and most are cached.
    """
    return " ".join([_known(word) if len(word) <= LONGEST_KNOWN else _separated(word) for word in text.split(" ")])


def _separated(word: str) -> str:
    return _PLACE.sub(" ", word)


_known = lru_cache(maxsize=WORDS_KNOWN)(_separated)
