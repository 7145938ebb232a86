"""What characters are to n-grams: letters of words, Han, marks or nothing; and which of them can be read one by one."""

import unicodedata

HAN = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x323AF))
JAMO = (0x1100, 0x11FF)  # letters that become Hangul syllables together
VARIATION = "\N{VARIATION SELECTOR-16}"  # behind many emoji
BASIC_PLANE = 0xFFFF
PAGE = 256  # characters

Reading = tuple[str, str]  # what a character becomes, and the kinds of that: one of LETTERS or SPACE for each of it
LETTERS = {"word": "w", "han": "h", "mark": "m", "": "-"}
SPACE = " "


class _Kinds(dict[str, str]):
    """What a character belongs to, looked up once: "word", "han", "mark", or "" (white space, control characters)."""

    def __missing__(self, character: str) -> str:
        category = unicodedata.category(character)
        if is_han(character):
            kind = "han"
        elif category[0] in "LMN" and character != VARIATION:
            kind = "word"
        else:
            kind = "" if category[0] in "ZC" or character == VARIATION else "mark"
        self[character] = kind
        return kind


def is_han(character: str) -> bool:
    """Whether it is a word of its own."""
    return any(first <= ord(character) <= last for first, last in HAN)


KINDS = _Kinds()


def page_of_characters(number: int) -> list[Reading | None]:
    """The characters from 256 · number on: each in compatibility form (NFKC) and lower case, as in any text.

    None: what it becomes depends on its neighbours.
    """
    return [_reading(chr(character)) for character in range(PAGE * number, PAGE * (number + 1))]


def _reading(character: str) -> Reading | None:
    if character.isspace():
        return character, SPACE
    form = unicodedata.normalize("NFKC", character)
    if not all(map(is_independent, form)):
        return None
    lower = form.lower()
    return lower, "".join(LETTERS[KINDS[each]] for each in lower)


def is_independent(character: str) -> bool:
    """Whether NFKC and lower case treat it in the same way next to any others that are independent too.

    Only a sigma is lowered by its place in a word. Only marks (M), Jamo and letters of a few scripts beyond the basic
    plane are composed with the character before them.
    """
    if character == VARIATION:
        return True
    number, category = ord(character), unicodedata.category(character)
    is_composed = JAMO[0] <= number <= JAMO[1] or (number > BASIC_PLANE and category[0] == "L")
    return category[0] != "M" and character != "Σ" and (not is_composed or is_han(character))
