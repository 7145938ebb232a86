"""`[transfer]`: unlabelled text that the teacher labels; it improves students most."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from limbeck.recipe.base import Locate, Section
from limbeck.recipe.corpus import Column, FileFormat
from limbeck.recipe.decisions import by_content, decides
from limbeck.recipe.files import is_dir

FormStep = Literal["lowercase", "narrow", "spaced"]
CHOICE = decides("transfer", "chosen")


class Transfer(Section):
    """Unlabelled text of the corpus's domain. The teacher labels it, and the student learns from these labels."""

    files: Annotated[list[str], by_content()] = []
    """Text files, or folders of them; paths may contain *, ? and **. "package:NAME/PATH" is a file of an installed
    Python package."""
    hub: Annotated[list[str], by_content()] = []
    """Hugging Face data sets, each with all its splits or with one: "imdb", "imdb:unsupervised", "glue/sst2:train"."""
    text: Column = "text"
    """Column of the text (not used for files of plain lines)."""
    pair: Column | None = None
    """Column of the second text, for tasks about two texts."""
    format: FileFormat = "auto"
    """File format; "auto" depends on the file's extension (.txt contains plain lines)."""
    header: bool = True
    """Whether the first line of csv and tsv files names the columns."""
    quoting: Literal["auto"] | bool = "auto"
    """Whether " quotes fields that contain delimiters. "auto": yes in csv, no in tsv."""
    encoding: str = "utf-8"
    """Encoding of text files."""
    where: dict[str, str] = {}
    """Use only rows whose columns have these values: {source = "imdb"}; {label = ""} are those that have none. Default:
    all rows."""
    share: float = Field(default=1.0, gt=0, le=1)
    """Share of the texts to use, drawn at random before they are cut: a tenth of a large file is enough for some
    thousand rows, and is gathered ten times as fast."""
    split_sentences: bool = False
    """Split every text into sentences (English and Chinese); each becomes a row."""
    split_paragraphs: bool = False
    """Split every text at empty lines or, if it has none, at every line end; each paragraph becomes a row."""
    form: Literal["auto", "as_is"] | list[FormStep] = "auto"
    """How texts are normalised: "auto" converts them to the form of the corpus if it differs (lower case, spaces around
    punctuation, full-width letters made narrow), "as_is" keeps them, a list names the steps. The student's tokenizer
    applies the same steps, so that texts it classifies later are read in the same form."""
    min_words: int = Field(default=1, ge=1)
    """Shortest text to keep, in words (in Chinese: in characters)."""
    max_words: int = Field(default=400, ge=1)
    """Longest text to keep, in words (in Chinese: in characters)."""
    near_duplicates: float = Field(default=0.8, gt=0, le=1)
    """Rows whose Jaccard similarity to an earlier row, or to a row of dev or test, reaches this value are dropped. 1.0
    drops only rows that are equal except for case, width and white space."""
    rows: Annotated[int | None, CHOICE] = Field(default=None, ge=1)
    """Number of rows to keep. Default: all."""
    choice: Annotated[Literal["random", "nearest", "balanced"], CHOICE] = "random"
    """Which rows to keep: drawn at random; nearest to the corpus by the teacher's features; or the same number of each
    class, by the teacher's labels."""
    pool: int | None = Field(default=None, ge=1)
    """Number of rows, drawn at random, that the teacher labels to choose from. Default: four times `rows`."""
    least_confidence: Annotated[float, CHOICE] = Field(default=0.0, ge=0, lt=1)
    """Drop rows where the teacher's best class has less than this probability."""
    seed: Annotated[int, CHOICE] = 0
    """Seed of all draws."""
    overlap: Literal["report", "remove"] = "remove"
    """What to do with rows that also appear in dev or test: only report them, or remove them. With "report", results
    look better than they are."""

    @model_validator(mode="after")
    def _window(self) -> Self:
        if self.min_words > self.max_words:
            raise ValueError(f"min_words ({self.min_words}) is larger than max_words ({self.max_words})")
        if (self.split_sentences or self.split_paragraphs) and self.pair is not None:
            raise ValueError("split_sentences and split_paragraphs are for single texts; remove them for pairs")
        if self.split_sentences and self.split_paragraphs:
            raise ValueError("set only one of split_sentences and split_paragraphs: sentences never span paragraphs")
        if not self.files and not self.hub:
            raise ValueError("give `files` or `hub`")
        if self.choice != "random" and self.rows is None:
            raise ValueError(f'choice = "{self.choice}" needs `rows`: the number to choose')
        if self.pool is not None and self.rows is not None and self.pool < self.rows:
            raise ValueError(f"pool ({self.pool}) is smaller than rows ({self.rows})")
        return self

    def located(self, locate: Locate) -> Self:
        """With every file, and every data set that is a local folder, as an absolute path."""
        files = [locate(file) for file in self.files]
        return self.model_copy(update={"files": files, "hub": [_located(name, locate) for name in self.hub]})


def named_split(name: str) -> tuple[str, str | None]:
    """The data set and the split in a name such as "imdb:unsupervised"; None means all splits."""
    data_set, colon, split = name.rpartition(":")
    is_split = colon and data_set and split and not {"/", "\\"} & set(split) and not is_dir(Path(name))
    return (data_set, split) if is_split else (name, None)


def _located(name: str, locate: Locate) -> str:
    data_set, split = named_split(name)
    folder = locate(data_set, required=False)
    if not is_dir(Path(folder)):
        return name
    return folder if split is None else f"{folder}:{split}"
