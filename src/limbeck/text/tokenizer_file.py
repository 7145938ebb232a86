"""What the tokenizers of students have in common: each is one tokenizer.json."""

from pathlib import Path
from typing import Self


class TokenizerFile:
    """A tokenizer.json, which is written as it was read.

    The text is kept because the library reads a written number only to the last digit or so: a tokenizer that is
    written by it and read again may cut a text of two equally good cuts in the other way.
    """

    def __init__(self, json_text: str) -> None:
        self._json = json_text

    @classmethod
    def from_json(cls, text: str) -> Self:
        """From the contents of a tokenizer.json."""
        return cls(text)

    @classmethod
    def load(cls, path: Path) -> Self:
        """From a tokenizer.json."""
        return cls.from_json(path.read_text(encoding="utf-8"))

    def to_json(self) -> str:
        """The contents of its tokenizer.json."""
        return self._json

    def save(self, path: Path) -> None:
        """Write its tokenizer.json."""
        path.write_text(self.to_json(), encoding="utf-8")
