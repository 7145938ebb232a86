"""`[transfer]`: unlabelled text the teacher will label; the strongest lever there is."""

from typing import Literal, Self

from pydantic import Field, model_validator

from limbeck.recipe.base import Locate, Section
from limbeck.recipe.corpus import Column, FileFormat


class Transfer(Section):
    """Unlabelled text of the corpus's domain. The student learns from what the teacher says about it."""

    files: list[str] = Field(min_length=1)
    """Files of text; *, ? and ** may stand in a path."""
    text: Column = "text"
    """Column of the text (not asked for in files of plain lines)."""
    pair: Column | None = None
    """Column of the second text, for tasks about two texts."""
    format: FileFormat = "auto"
    """Kind of file; "auto" goes by the ending (.txt holds plain lines)."""
    header: bool = True
    """Whether the first line of csv and tsv files names the columns."""
    quoting: Literal["auto"] | bool = "auto"
    """Whether " quotes fields that hold delimiters. "auto": yes in csv, no in tsv."""
    encoding: str = "utf-8"
    """Encoding of text files."""
    where: dict[str, str] = {}
    """Take only rows whose columns hold these values: {source = "imdb"}."""
    split_sentences: bool = False
    """Cut every text into sentences (English and Chinese), each a row of its own."""
    min_words: int = Field(default=1, ge=1)
    """Shortest text to keep, in words (in Chinese: in characters)."""
    max_words: int = Field(default=400, ge=1)
    """Longest text to keep, in words (in Chinese: in characters)."""
    rows: int | None = Field(default=None, ge=1)
    """Keep so many rows, drawn at random from all; left out: keep all."""
    seed: int = 0
    """Seed of that draw."""
    overlap: Literal["report", "remove"] = "remove"
    """Rows that also stand in dev or test: only report them, or keep them out (do, unless you know why not)."""

    @model_validator(mode="after")
    def _window(self) -> Self:
        if self.min_words > self.max_words:
            raise ValueError(f"min_words ({self.min_words}) is larger than max_words ({self.max_words})")
        if self.split_sentences and self.pair is not None:
            raise ValueError("split_sentences works on single texts; leave it out for pairs")
        return self

    def located(self, locate: Locate) -> Self:
        """With every file as an absolute path."""
        return self.model_copy(update={"files": [locate(file) for file in self.files]})
