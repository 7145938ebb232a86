"""`[student] kind = "textgcn"`: a graph of words and documents (Yao et al. 2019), in a form that reads new texts."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from limbeck.recipe.base import Section
from limbeck.recipe.decisions import decides

if TYPE_CHECKING:
    from limbeck.recipe.recipe import Recipe

TRAINING = decides("students", "baseline")  # and not the vocabulary


class GraphVocabulary(Section):
    """The words that are nodes of the graph."""

    kind: Literal["words"] = "words"
    """Whole words; the graph has no other nodes beside documents."""
    max_size: int = Field(default=30_000, ge=8)
    """Maximum number of words; the most frequent ones are kept."""
    min_count: int = Field(default=5, ge=1)
    """Least number of times that a word must occur in the training text; 5 as Yao et al. have it."""
    lowercase: bool = True
    """Convert upper case to lower case."""
    segmenter: Literal["longest_match", "jieba"] = "longest_match"
    """How Chinese text is split into words, as for other students of words."""


def refuse_other_graphs(recipe: "Recipe") -> None:
    """Raise ValueError for a published set-up that is not the published one: it has labels alone, of single texts."""
    student = recipe.student
    if not isinstance(student, TextGcn) or not student.transductive:
        return
    corpus, distillation = recipe.corpus, recipe.distillation
    if corpus.pair is not None or corpus.multi_label:
        raise ValueError("student.transductive is for one text and one label a row: remove it")
    if distillation.stages or any(loss.kind != "hard_labels" for loss in distillation.losses) or distillation.baseline:
        raise ValueError(
            "student.transductive learns from labels alone, as published: set distillation.losses = [{kind = "
            '"hard_labels"}] and distillation.baseline = false, or teacher.kind = "none"'
        )


class TextGcn(Section):
    """The graph convolution of Yao et al. 2019 (arXiv:1809.05679) over words and training rows: words are linked by how
    often they meet in a window, words and rows by TF-IDF. The graph has training rows only, as that of InductTGCN
    (Wang et al. 2022), so new texts need no training: their logits are a sum over a table of words."""

    kind: Literal["textgcn"]
    """The kind of student."""
    hidden_size: int = Field(default=200, ge=1)
    """Width of the first layer."""
    window: int = Field(default=20, ge=2)
    """Words of a window: two words are linked if they meet in windows more often than by chance."""
    transductive: bool = False
    """The published set-up: dev and test texts are nodes of the graph too while it learns, and test is judged there.
    Numbers only: such a network has no answer for a text that was not in its graph, so that it is not exported."""
    dropout: Annotated[float, TRAINING] = Field(default=0.5, ge=0, lt=1)
    """Dropout on the input and on the first layer."""
    learning_rate: Annotated[float, TRAINING] = Field(default=0.02, gt=0)
    """Peak learning rate, in place of `distillation.learning_rate`."""
    batch_size: Annotated[int, TRAINING] = Field(default=8192, ge=1)
    """Rows per batch, in place of `distillation.batch_size`, drawn whatever their lengths: each step computes the
    states of all words, so few large steps are cheaper than many small ones. With all rows in a batch, as published,
    set `distillation.epochs` = 100 or more."""
    max_size_mb: Annotated[float | None, decides("vocabulary", "sized_vocabulary")] = Field(default=None, gt=0)
    """Largest size of the exported model on disk, in millions of bytes: of its int8 folder if `export.precisions` has
    int8, else of the fp32 one. Rare words are dropped until it fits. Default: no limit."""
    max_length: int = Field(default=512, ge=1)
    """Longest input in words; longer texts are truncated."""
    vocabulary: GraphVocabulary = GraphVocabulary()
    """The `[student.vocabulary]` table."""
