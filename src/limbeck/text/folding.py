"""One form for texts that differ only in case, width or spacing; used to find overlap and duplicates."""

import unicodedata


def folded(text: str) -> str:
    """The text in compatibility form (NFKC), case folded, with all white space removed."""
    return "".join(folded_letters(text).split())


def folded_letters(text: str) -> str:
    """The text in compatibility form (NFKC), case folded; white space stays."""
    if text.isascii():
        return text.casefold()
    # Case folding can undo the normal form (U+1E9E, Greek with iota subscript), so the text is normalised again.
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).casefold()
