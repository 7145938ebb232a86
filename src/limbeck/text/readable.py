"""Makes text safe for the tokenizers library: no lone surrogates, and a limited length."""

MOST_CHARACTERS = 1_000_000  # of one text, when a vocabulary is counted


def readable(text: str, *, most_characters: int) -> str:
    """The text's first characters, surrogate pairs joined, lone surrogates replaced by U+FFFD.

    The tokenizers library refuses surrogates, and its regular expressions fail on runs of many millions of letters.
    White space at the start of a text that has to be truncated is dropped first.
    """
    if len(text) > most_characters:
        text = text.lstrip()[:most_characters]
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
