"""`[corpus]`: the labelled rows, and how to read them."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from limbeck.recipe.base import Locate, Section
from limbeck.recipe.decisions import by_content
from limbeck.recipe.files import is_dir
from limbeck.tables.formats import Column as AnyColumn
from limbeck.tables.formats import FileFormat as AnyFormat

Column = AnyColumn
FileFormat = AnyFormat


# fmt: off
Language = Literal[
    "auto", "en", "zh", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "no", "fi", "pl", "cs", "ro", "hu", "tr", "id",
    "vi", "ru", "uk", "bg", "sr", "ar", "fa", "ur", "hi", "mr", "ne", "ko", "ja", "el", "he", "th", "hy", "ka", "ta",
    "te", "km", "lo",
]
# fmt: on
FILES = ("train", "dev", "test", "corrections", "labelled_by")


class CorpusSection(Section):
    """The labelled rows: `train`, and `dev` and `test` if there are any."""

    train: Annotated[str | None, by_content()] = None
    """File of training rows: csv, tsv, txt, jsonl or parquet, each also as .gz."""
    dev: Annotated[str | None, by_content()] = None
    """File of rows on which checkpoints are chosen. Default: a stratified part of train, see `dev_fraction`."""
    test: Annotated[str | None, by_content()] = None
    """File of rows on which nothing is chosen. The report is about these rows; without them, about dev."""
    hub: Annotated[str | None, by_content()] = None
    """A Hugging Face data set instead of files: "glue/sst2" is configuration sst2 of glue. A folder that
    `save_to_disk` wrote, or one of parquet files, works too."""
    corrections: Annotated[str | None, by_content("report")] = None
    """File that `limbeck review --apply` has written beside corrected rows; the report says what they changed."""
    labelled_by: Annotated[str | None, by_content("report")] = None
    """File that `limbeck run --endpoint` has written beside rows that a language model has labelled; the report says
    first that its numbers are agreement with that model, unless a person has checked the rows of test."""
    split: Column | None = None
    """Column of `train` that says to which split a row belongs: train, dev or test; also training, validation, val …"""
    text: Column = "text"
    """Column of the text: its name, or its number from 0 if the file has no header."""
    pair: Column | None = None
    """Column of the second text, for tasks about two texts."""
    task: Literal["classification", "regression"] = "classification"
    """What a row has: one of the classes (or several of them, with `multi_label`), or with "regression" a score: then
    `label` is a column of numbers, and every model has one output. See docs/scores.md."""
    label: Column | list[Column] = "label"
    """Column of the label, a name or a number. Several columns, one for each class: the class with the largest value is
    the label, so columns of probabilities work; with `multi_label`, all classes with a value of 0.5 or more are."""
    multi_label: bool = False
    """Whether a row may have several labels, or none: in one column with `label_separator` between them (in JSON lines
    also a list), or in one column of 0 and 1 for each class."""
    label_separator: str = Field(default="|", min_length=1)
    """Separator between the labels of a row, with `multi_label` and one column."""
    label_names: dict[str, str] = {}
    """Names for labels that are only numbers in the file: {"0" = "negative", "1" = "positive"}."""
    only_labels: list[str] = []
    """Use only the rows of these classes, by the names that `label_names` gives. Default: all classes."""
    out_of_scope: str | None = None
    """Label of rows that belong to no class, "oos" for instance. They are neither learned nor counted as wrong: those
    of train and dev help `[export.abstain]` to find a threshold, those of test are judged by it. Without any in test,
    every second one of the others is judged. Default: no label means this."""
    score_range: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    """The lowest and the highest score there can be, with task = "regression": a row outside of it is an error, and
    answers are kept inside (`export.clip_scores`). Default: from the lowest score of train to the highest."""
    slice: Column | None = None
    """Column of the files whose values part the judged rows in the report, such as the source of a row: a slice for
    each value. Default: the report has the slices by length, language and words alone."""
    format: FileFormat = "auto"
    """File format; "auto" depends on the file's extension (.txt is read like .tsv)."""
    header: bool = True
    """Whether the first line of csv and tsv files names the columns."""
    quoting: Literal["auto"] | bool = "auto"
    """Whether " quotes fields that contain delimiters. "auto": yes in csv, no in tsv (GLUE's tsv has stray quotes)."""
    encoding: str = "utf-8"
    """Encoding of text files. A byte order mark is skipped."""
    language: Language = "auto"
    """Language of the texts, by its code of two letters; "auto" detects it."""
    dev_fraction: float = Field(default=0.1, gt=0, lt=1)
    """Share of train that becomes dev if no dev is given."""
    test_fraction: float = Field(default=0.0, ge=0, lt=1)
    """Share of train that becomes test if no test is given."""
    split_seed: int = 0
    """Seed of these splits, and of the choice of `max_rows`."""
    max_rows: int | None = Field(default=None, ge=2)
    """Number of training rows to use, chosen at random with every class in proportion. Default: all."""
    class_weights: Literal["none", "balanced"] | dict[str, float] = "none"
    """Weights of the classes wherever labels are learned (teacher, baseline, loss on hard labels). "balanced": rare
    classes count more, so that all classes have the same total; or a weight by class name, {"spam" = 5.0}, 1 for all
    others."""
    overlap: Literal["report", "remove"] = "report"
    """What to do with training rows that also appear in dev or test: only report them, or remove them from train."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.train is None) == (self.hub is None):
            raise ValueError("give either `train` (a file) or `hub` (a data set's name)")
        if self.hub is not None and (self.dev or self.test):
            raise ValueError("`dev` and `test` come with the data set when `hub` is given")
        if self.split is not None and (self.hub or self.dev or self.test):
            raise ValueError("`split` divides the rows of `train`: leave out `hub`, `dev` and `test`, or `split`")
        if self.slice is not None and self.hub is not None:
            raise ValueError("`slice` names a column of files: it cannot be read from the data set that `hub` names")
        if self.dev_fraction + self.test_fraction >= 1:
            raise ValueError("dev_fraction and test_fraction leave nothing for train")
        return self

    @model_validator(mode="after")
    def _labels_that_can_be_read(self) -> Self:
        if isinstance(self.label, list) and len(self.label) < (1 if self.multi_label else 2):
            raise ValueError("`label` as a list needs one column per class")
        if self.only_labels and (self.multi_label or isinstance(self.label, list)):
            raise ValueError("only_labels needs rows with one label each, in one column")
        if self.out_of_scope is not None and (self.multi_label or isinstance(self.label, list)):
            raise ValueError("out_of_scope needs rows with one label each, in one column")
        if self.out_of_scope is not None and self.out_of_scope in (*self.only_labels, *self.label_names):
            raise ValueError(
                "the label that out_of_scope names is no class: leave it out of only_labels and label_names"
            )
        if len(self.only_labels) == 1:
            raise ValueError("only_labels must name two classes or more")
        if isinstance(self.class_weights, dict) and any(weight <= 0 for weight in self.class_weights.values()):
            raise ValueError("class_weights must be above 0")
        return self

    @model_validator(mode="after")
    def _scores_have_no_classes(self) -> Self:
        if self.task == "classification":
            if self.score_range is not None:
                raise ValueError('score_range is for scores: set task = "regression", or remove it')
            return self
        if isinstance(self.label, list):
            raise ValueError('task = "regression" needs one column of numbers: `label` names several')
        without_use = ("multi_label", "label_names", "only_labels", "class_weights")
        if wrong := [name for name in without_use if getattr(self, name) != type(self).model_fields[name].default]:
            raise ValueError(f'{", ".join(wrong)}: only for classes, and task = "regression" has none: remove it')
        if self.score_range is not None and self.score_range[0] >= self.score_range[1]:
            raise ValueError("score_range should be the lowest score and then the highest: [0.0, 5.0]")
        return self

    @property
    def is_score(self) -> bool:
        """Whether a row has a score instead of a label."""
        return self.task == "regression"

    def located(self, locate: Locate) -> Self:
        """With the paths of files as absolute paths, and `hub` if it is a local folder."""
        files = {key: locate(value) for key in FILES if (value := getattr(self, key))}
        if self.hub is not None and is_dir(Path(folder := locate(self.hub, required=False))):
            files["hub"] = folder
        return self.model_copy(update=files)
