"""`[transfer]`: unlabelled text the teacher will label; the strongest lever there is."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from limbeck.recipe.base import Locate, Section
from limbeck.recipe.corpus import Column, FileFormat
from limbeck.recipe.decisions import by_content, decides

FormStep = Literal["lowercase", "narrow", "spaced"]
CHOICE = decides("transfer", "chosen")


class Transfer(Section):
    """Unlabelled text of the corpus's domain. The student learns from what the teacher says about it."""

    files: Annotated[list[str], by_content()] = []
    """Files of text, or folders of them; *, ? and ** may stand in a path."""
    hub: Annotated[list[str], by_content()] = []
    """Hugging Face data sets, each with all its splits or with one: "imdb", "imdb:unsupervised", "glue/sst2:train"."""
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
    split_paragraphs: bool = False
    """Cut every text where a line is empty or, if none is, at every line end; each paragraph is a row of its own."""
    form: Literal["auto", "as_is"] | list[FormStep] = "auto"
    """How texts are written: "auto" brings them to the form of the corpus where it differs (lower case, punctuation
    set apart by spaces, full-width letters made narrow), "as_is" leaves them, a list names the steps. The student's
    tokenizer takes the same steps, so that texts it is asked about later are read in that form too."""
    min_words: int = Field(default=1, ge=1)
    """Shortest text to keep, in words (in Chinese: in characters)."""
    max_words: int = Field(default=400, ge=1)
    """Longest text to keep, in words (in Chinese: in characters)."""
    near_duplicates: float = Field(default=0.8, gt=0, le=1)
    """Rows that share so much of their text (Jaccard similarity) with a row before them are left out, and so are rows
    that share it with a row of dev or test; 1.0 leaves out only those that are the same but for case, width and white
    space."""
    rows: Annotated[int | None, CHOICE] = Field(default=None, ge=1)
    """Keep so many rows; left out: keep all."""
    choice: Annotated[Literal["random", "nearest", "balanced"], CHOICE] = "random"
    """Which rows: drawn at random; nearest to the corpus by the teacher's features; or as many of each class as the
    teacher sees it."""
    pool: int | None = Field(default=None, ge=1)
    """Rows, drawn at random, that the teacher is asked about to choose from; left out: four times `rows`."""
    least_confidence: Annotated[float, CHOICE] = Field(default=0.0, ge=0, lt=1)
    """Drop rows of which the teacher's best class has less than this probability: it is torn there."""
    seed: Annotated[int, CHOICE] = 0
    """Seed of all draws."""
    overlap: Literal["report", "remove"] = "remove"
    """Rows that also stand in dev or test: only report them, or keep them out (do, unless you know why not)."""

    @model_validator(mode="after")
    def _window(self) -> Self:
        if self.min_words > self.max_words:
            raise ValueError(f"min_words ({self.min_words}) is larger than max_words ({self.max_words})")
        if (self.split_sentences or self.split_paragraphs) and self.pair is not None:
            raise ValueError("split_sentences and split_paragraphs work on single texts; leave them out for pairs")
        if self.split_sentences and self.split_paragraphs:
            raise ValueError("give split_sentences or split_paragraphs: sentences are cut within paragraphs anyway")
        if not self.files and not self.hub:
            raise ValueError("give `files` or `hub`")
        if self.choice != "random" and self.rows is None:
            raise ValueError(f'choice = "{self.choice}" needs `rows`: how many to choose')
        if self.pool is not None and self.rows is not None and self.pool < self.rows:
            raise ValueError(f"pool ({self.pool}) is smaller than rows ({self.rows})")
        return self

    def located(self, locate: Locate) -> Self:
        """With every file as an absolute path, and every data set that is a folder here."""
        files = [locate(file) for file in self.files]
        return self.model_copy(update={"files": files, "hub": [_located(name, locate) for name in self.hub]})


def named_split(name: str) -> tuple[str, str | None]:
    """The data set and the split that "imdb:unsupervised" names; None: all its splits."""
    data_set, colon, split = name.rpartition(":")
    is_split = colon and data_set and split and not {"/", "\\"} & set(split) and not Path(name).is_dir()
    return (data_set, split) if is_split else (name, None)


def _located(name: str, locate: Locate) -> str:
    data_set, split = named_split(name)
    folder = locate(data_set, required=False)
    if not Path(folder).is_dir():
        return name
    return folder if split is None else f"{folder}:{split}"
