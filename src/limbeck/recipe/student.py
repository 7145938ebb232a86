"""`[student]`: the small model, its vocabulary and its word vectors."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from limbeck.errors import did_you_mean
from limbeck.recipe.base import Locate, Section
from limbeck.recipe.decisions import by_content, decides, fields_marked, has_effect_if
from limbeck.recipe.files import GENERAL, general_folder, located_general
from limbeck.recipe.student_vocabulary import NgramVocabulary, TransformerVocabulary, Vocabulary
from limbeck.recipe.textgcn import TextGcn

WITHOUT_FILE = ("teacher", "random")  # where word vectors come from if not from a file
NETWORK = decides("students", "baseline")  # and not the vocabulary
SHAPE = decides(
    "students", "baseline", "sized_vocabulary"
)  # the space that max_size_mb leaves for tokens depends on it
VOCABULARY = decides("vocabulary", "sized_vocabulary")  # and students only through the vocabulary
LIMIT = decides("vocabulary", "sized_vocabulary", "report")  # only models within it can be the best
WORDS_ARE_COMPARED = has_effect_if('`pairing` is "attend"')
LAYERS = 4  # of a transformer, if nothing else says how many
SHARING = "albert"  # the family whose layers share weights
SHORTEST = 4  # input of a transformer: two special tokens of a text, three of a pair, and a token


def source_kind(source: str) -> str:
    """ "teacher", "random", or "file" for a path."""
    return source if source in WITHOUT_FILE else "file"


class WordStudent(Section):
    """What students that read word vectors have in common. Each has its own `kind`."""

    if TYPE_CHECKING:
        kind: str

    start: Annotated[str, by_content()] = "random"
    """Initial weights of the network, and of word vectors: "random" (vectors as in `word_vectors`), or a student that
    `limbeck pretrain` has taught general language: "general:english" comes with the package, "general:NAME" is in the
    folder general/, or a path. Its words keep its vectors; other words get theirs from `word_vectors` by a linear map
    that is fitted to the words in common. The body is taken over if it has the same shape; the run says so if it is
    not. With few rows this is worth most."""
    dense_size: int = Field(default=200, ge=0)
    """Width of the ReLU layer before the classes; 0: without this layer."""
    dropout: Annotated[float, NETWORK] = Field(default=0.3, ge=0, lt=1)
    """Share of numbers that a training step leaves out."""
    dropout_on: Annotated[list[Literal["vectors", "features", "hidden"]], NETWORK] = ["vectors", "features"]
    """Where: word vectors, the features of a text (as in Kim 2014), the ReLU layer (as in Tang et al.'s code)."""
    word_vectors: Annotated[str | Annotated[list[str], Field(min_length=1)], by_content()] = "teacher"
    """Initial word vectors: "teacher" (each word through the teacher, then principal components), "random", or a
    word2vec/GloVe file (text or .bin, also packed). The vectors of a list of sources are concatenated."""
    embedding_size: int = Field(default=300, ge=1)
    """Width of word vectors that come from the teacher or are random; a file has its own width."""
    vector_rank: int | None = Field(default=None, ge=1)
    """Rank of the word vectors: this many numbers per word, and one matrix that expands them to vectors. They start as
    the best approximation of `word_vectors`, and are trained unless `tune_vectors` is false. After training the matrix
    is merged into the next layer, so that the exported vectors have this width. Default: full rank."""
    tune_vectors: Annotated[bool, NETWORK] = True
    """Whether word vectors are trained."""
    static_channel: bool = False
    """Add a second copy of the word vectors that is not trained: twice as wide (Kim 2014; Tang et al. 2019)."""
    max_size_mb: Annotated[float | None, LIMIT] = Field(default=None, gt=0)
    """Largest size of the exported model on disk, in millions of bytes: of its int8 folder if `export.precisions` has
    int8, else of the fp32 one. Rare words are dropped until it fits. Default: no limit."""
    max_length: Annotated[int, NETWORK] = Field(default=256, ge=1)
    """Longest input in the student's tokens; longer texts are truncated."""
    vocabulary: Vocabulary = Vocabulary()
    """The `[student.vocabulary]` table."""

    @field_validator("word_vectors")
    @classmethod
    def _each_source_once(cls, named: str | list[str]) -> str | list[str]:
        if isinstance(named, str):
            return named
        if twice := [source for number, source in enumerate(named) if source in named[:number]]:
            raise ValueError(f"'{twice[0]}' appears twice: name each source once")
        return named if named[1:] else named[0]

    @model_validator(mode="after")
    def _channels_differ(self) -> Self:
        if self.static_channel and not self.tune_vectors:
            raise ValueError("static_channel adds fixed vectors to trained ones: set tune_vectors = true")
        if self.is_general and (self.static_channel or self.vector_sources[1:] or self.vocabulary.kind != "words"):
            raise ValueError(
                f'start = "{self.start}" has one vector for a word: use it without static_channel, with one source of '
                'word_vectors, and with vocabulary.kind = "words"'
            )
        if self.vocabulary.general_words and not self.is_general:
            raise ValueError(
                "vocabulary.general_words are those of a general student: remove the key, or set start = "
                '"general:english"'
            )
        if self.static_channel and self.vector_rank:
            raise ValueError("static_channel doubles the vectors, and vector_rank makes them smaller: choose one")
        return self

    @property
    def why_not_pairs(self) -> str | None:
        """Why a student with these settings cannot read rows of two texts; None if it can."""
        return None

    @property
    def is_general(self) -> bool:
        """Whether it starts from a general student."""
        return self.start != "random"

    @property
    def vector_sources(self) -> list[str]:
        """The sources in `word_vectors`: names from WITHOUT_FILE, and paths."""
        return [self.word_vectors] if isinstance(self.word_vectors, str) else self.word_vectors

    def located(self, locate: Locate) -> Self:
        """With files of word vectors as absolute paths."""
        found = [
            source if source in WITHOUT_FILE else locate(source, instead=did_you_mean(source, WITHOUT_FILE))
            for source in self.vector_sources
        ]
        start = located_general(self.start, locate) if self.is_general else self.start
        vectors = found if found[1:] else found[0]
        listed = {} if self.vocabulary.path is None else {"path": locate(self.vocabulary.path, what="list of words")}
        words = self.vocabulary.model_copy(update=listed)
        return self.model_copy(update={"word_vectors": vectors, "start": start, "vocabulary": words})


class PairStudent(WordStudent):
    """What students share that can compare two texts word by word."""

    pairing: Literal["siamese", "attend"] = "siamese"
    """How two texts meet (pairs only). "siamese": each is read by itself, and the features of both are compared (Tang
    et al.). "attend": each word is compared with those of the other text that are most like it, and with itself where
    it occurs there too (ESIM, Chen et al. 2017; Parikh et al. 2016): better for pairs, and slower."""
    compare_size: Annotated[int, WORDS_ARE_COMPARED] = Field(default=100, ge=1)
    """Width of the comparison of a word with the other text (`pairing = "attend"` only)."""

    @property
    def fields_without_effect(self) -> frozenset[str]:
        """The width of comparisons, without any."""
        return frozenset() if self.attends else fields_marked(type(self), WORDS_ARE_COMPARED)

    @property
    def attends(self) -> bool:
        """Whether it compares two texts word by word."""
        return self.pairing == "attend"

    @property
    def why_not_single(self) -> str | None:
        """Why a student with these settings cannot read rows of one text; None if it can."""
        if not self.attends:
            return None
        return (
            'student.pairing = "attend" compares two texts, but the corpus has no pairs: remove it, or set corpus.pair'
        )


class BiLstm(PairStudent):
    """The Bi-LSTM of Tang et al. 2019 (arXiv:1903.12136): word vectors, one Bi-LSTM, a ReLU layer, the classes."""

    kind: Literal["bilstm"] = "bilstm"
    """The kind of student."""
    hidden_size: int = Field(default=150, ge=1)
    """Width of the recurrent layer in each direction."""
    layers: int = Field(default=1, ge=1)
    """Number of recurrent layers; each reads both directions of the one below. With `pairing = "attend"` texts are
    compared after the first one, and the others read the comparisons of a text, as ESIM does."""
    cell: Literal["lstm", "gru"] = "lstm"
    """The recurrent cell."""
    pooling: Annotated[Literal["max", "last", "mean", "attention"], NETWORK] = "max"
    """How the states of the words become features of the text: the largest value over all words, the last state of each
    direction (Tang et al.), the mean over all words, or a mean with learned attention weights. Not used with `pairing =
    "attend"`, whose features are the weighted mean and the largest value of the comparisons."""


class TextCnn(WordStudent):
    """The convolutional network of Kim 2014 (arXiv:1408.5882): windows of words, the largest value of each filter."""

    kind: Literal["textcnn"]
    """The kind of student."""
    windows: list[Annotated[int, Field(ge=1)]] = Field(default=[3, 4, 5], min_length=1)
    """Widths of the filters, in words; one set of filters for each."""
    filters: int = Field(default=100, ge=1)
    """Number of filters for each window."""
    dense_size: int = Field(default=0, ge=0)
    """Width of the ReLU layer before the classes; 0: without this layer, as in Kim 2014."""
    dropout: Annotated[float, NETWORK] = Field(default=0.5, ge=0, lt=1)
    """Share of numbers that a training step leaves out."""
    max_norm: Annotated[float | None, NETWORK] = Field(default=None, gt=0)
    """Greatest length of the weights of a class; longer ones are scaled down to it in training (3 in Kim 2014)."""


class Bag(PairStudent):
    """The mean of a text's word vectors, each word with a learned weight, then a ReLU layer: takes microseconds."""

    kind: Literal["bag"]
    """The kind of student."""
    word_weights: bool = True
    """Whether each word has a learned weight in the mean; otherwise all words count the same. Comparisons of pairs
    (`pairing = "attend"`) always have weights."""

    @property
    def why_not_pairs(self) -> str | None:
        """A reason if it has a rank: the rank needs a layer after the word vectors, and a siamese bag has none."""
        if not self.vector_rank or self.attends:
            return None
        return (
            "student.vector_rank is not possible for a bag that reads pairs, as it has no layer between its word "
            'vectors and their products: lower student.embedding_size, or set student.pairing = "attend"'
        )


class Ngrams(Section):
    """Hashed n-grams of words and characters, a vector for each, their weighted sum, the classes: a linear model, as
    fast as a bag and as good as TF-IDF with a linear classifier."""

    kind: Literal["ngrams"]
    """The kind of student."""
    start: Literal["fit", "random"] = "fit"
    """Initial vectors. "fit": a linear classifier (a support vector machine) on the labelled rows, whose weights the
    training starts from; kept if no epoch is better on dev. Pairs of texts always start at random."""
    start_share: Annotated[float, NETWORK] = Field(default=0.5, ge=0, lt=1)
    """Share of the fit in the weights that are judged, kept and exported; the rest is that of the trained ones. Used if
    there is a number for each class and no `dense_size`, as logits are then linear in the weights; and without
    `distillation.stages` or `distillation.average`."""
    embedding_size: int | None = Field(default=None, ge=1)
    """Width of the vectors. Default: the number of classes, at most 512; for pairs 64."""
    dense_size: int = Field(default=0, ge=0)
    """Width of a ReLU layer before the classes; 0: without this layer, a linear model."""
    dropout: Annotated[float, NETWORK] = Field(default=0.2, ge=0, lt=1)
    """Share of a text's n-grams that a training step leaves out."""
    learning_rate: Annotated[float, NETWORK] = Field(default=0.03, gt=0)
    """Peak learning rate, in place of `distillation.learning_rate`: a table of vectors alone needs a higher one."""
    max_size_mb: Annotated[float | None, VOCABULARY] = Field(default=None, gt=0)
    """Largest size of the exported model on disk, in millions of bytes: of its int8 folder if `export.precisions` has
    int8, else of the fp32 one. There are as many buckets as fit. Default: no limit."""
    max_length: int = Field(default=256, ge=1)
    """Longest input in words; longer texts are truncated."""
    vocabulary: NgramVocabulary = NgramVocabulary()
    """The `[student.vocabulary]` table."""


class Transformer(Section):
    """A small transformer: TinyBERT's shape, DistilBERT's, or any other, initialised from layers of the teacher."""

    kind: Literal["transformer"]
    """The kind of student."""
    family: Literal["teacher", "bert", "distilbert", "albert"] = "teacher"
    """Architecture of the layers: the teacher's own, BERT's, DistilBERT's (no token types, no pooler), or ALBERT's,
    whose layers share weights and whose word vectors are narrow."""
    layers: Annotated[int | None, SHAPE] = Field(default=None, ge=1)
    """Number of transformer layers. Default: 4, or those of the checkpoint in `start`."""
    width: Annotated[int | None, SHAPE] = Field(default=None, ge=1)
    """Width of the states. Default: the teacher's, or that of the checkpoint in `start`; so are the two below."""
    heads: Annotated[int | None, SHAPE] = Field(default=None, ge=1)
    """Number of attention heads, which must divide the width. Default: the teacher's, or one per 64 of the width."""
    inner_size: Annotated[int | None, SHAPE] = Field(default=None, ge=1)
    """Width of the feed-forward layers. Default: four times `width`."""
    layer_groups: Annotated[int, SHAPE] = Field(default=1, ge=1)
    """With family = "albert": layers with weights of their own, each of which is used for several layers in a row. 1:
    all share the same weights, as in ALBERT; as many as `layers`: none share."""
    embedding_size: Annotated[int | None, SHAPE] = Field(default=None, ge=1)
    """With family = "albert": width of the tables of words and positions, which are then projected to `width`. Default:
    128, at most `width`; of an ALBERT as the teacher its own."""
    start: Annotated[Literal["teacher", "random"] | str, by_content()] = "teacher"
    """Initial weights. "teacher": layers and embeddings of the teacher if the widths are equal; otherwise its
    embeddings, reduced to their principal components, and random layers. "random": none. Or a checkpoint that was
    distilled on general text: "general:NAME" (made by `limbeck pretrain`), a Hugging Face folder, or a name on the hub.
    It is taken in the place of the teacher, with its own tokens; the run says what does not fit."""
    teacher_layers: Annotated[Literal["uniform", "first", "last"] | list[Annotated[int, Field(ge=0)]], NETWORK] = (
        "uniform"
    )
    """Which layers of the teacher, or of the checkpoint, it starts from: evenly spaced (0, 2, 4, 7, 9, 11 for 6 of 12,
    as DistilBERT does), the first ones, the last ones, or a list of their numbers from 0. One for each of
    `layer_groups`, if layers share weights."""
    max_size_mb: Annotated[float | None, LIMIT] = Field(default=None, gt=0)
    """Largest size of the exported model on disk, in millions of bytes: of its int8 folder if `export.precisions` has
    int8, else of the fp32 one. Rare pieces are dropped until it fits, so `vocabulary.kind` must be "pieces". Default:
    no limit."""
    dropout: Annotated[float, NETWORK] = Field(default=0.1, ge=0, lt=1)
    """Dropout on states, attention and the classifier's input."""
    max_length: Annotated[int, NETWORK] = Field(default=128, ge=SHORTEST)
    """Longest input in tokens, special tokens included; longer texts are truncated. Default: `teacher.max_length`, if
    the recipe gives it."""
    vocabulary: TransformerVocabulary = TransformerVocabulary()
    """The `[student.vocabulary]` table."""

    @model_validator(mode="before")
    @classmethod
    def _layers_of_its_own(cls, given: Any) -> Any:
        """Four layers, unless a checkpoint or a list says how many."""
        if not isinstance(given, Mapping) or given.get("layers") is not None:
            return given
        listed = given.get("teacher_layers")
        if isinstance(listed, list) and listed and given.get("family") != SHARING:
            return {**given, "layers": len(listed)}
        return {**given, "layers": LAYERS} if given.get("start", "teacher") in WITHOUT_FILE else given

    @model_validator(mode="after")
    def _shape_is_possible(self) -> Self:
        if self.width and self.heads and self.width % self.heads:
            raise ValueError(f"heads must divide width: {self.width} is not a multiple of {self.heads}")
        own, what = (self.layer_groups, "layer_groups") if self.shares_layers else (self.layers, "layers")
        if isinstance(self.teacher_layers, list) and len(self.teacher_layers) != own:
            raise ValueError(f"teacher_layers names {len(self.teacher_layers)} layers of the teacher for {own} {what}")
        if self.max_size_mb is not None and self.vocabulary.kind == "teacher":
            raise ValueError('max_size_mb drops rare tokens: set vocabulary.kind = "pieces"')
        return self

    @model_validator(mode="after")
    def _sharing_is_possible(self) -> Self:
        if not self.shares_layers and (self.layer_groups != 1 or self.embedding_size is not None):
            raise ValueError(f'layer_groups and embedding_size need family = "{SHARING}": set that, or remove them')
        if self.layers is not None and self.layer_groups > self.layers:
            raise ValueError(
                f"layer_groups must not be more than layers: {self.layer_groups} is more than {self.layers}"
            )
        return self

    @property
    def shares_layers(self) -> bool:
        """Whether layers use the same weights, and word vectors are narrow."""
        return self.family == SHARING

    @property
    def fields_without_effect(self) -> frozenset[str]:
        """What only a family with shared layers has."""
        return frozenset() if self.shares_layers else frozenset({"layer_groups", "embedding_size"})

    @property
    def checkpoint(self) -> str | None:
        """The checkpoint that it starts from in the place of its teacher: a folder, or a name on the hub."""
        if self.start in WITHOUT_FILE:
            return None
        return str(general_folder(self.start)) if self.start.startswith(GENERAL) else self.start

    def located(self, locate: Locate) -> Self:
        """With a checkpoint that is a folder as an absolute path; other names are packages, or on the hub."""
        if self.checkpoint is None:
            return self
        is_general = self.start.startswith(GENERAL)
        return self.model_copy(
            update={"start": located_general(self.start, locate) if is_general else locate(self.start, required=False)}
        )


AnyStudent = WordStudent | Ngrams | TextGcn | Transformer
