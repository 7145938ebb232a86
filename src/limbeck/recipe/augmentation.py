"""`[augmentation]`: changed copies of training rows and transfer text, for the teacher to label."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from limbeck.recipe.base import Locate, Section
from limbeck.recipe.decisions import by_content, decides_nothing

Share = Annotated[float, Field(ge=0, le=1)]


class Masking(Section):
    """Words become the mask: what teacher and student each call one (Tang et al. 2019)."""

    kind: Literal["masking"]
    """The kind of method."""
    fraction: Share = 0.1
    """Chance of each word."""


class PosSwap(Section):
    """Words become another word of the same part of speech, drawn as often as it occurs in the texts that are copied
    (Tang et al. 2019)."""

    kind: Literal["pos_swap"]
    """The kind of method."""
    fraction: Share = 0.1
    """Chance of each word."""
    tagger: Literal["auto", "hanta", "jieba"] = "auto"
    """Who tells the parts of speech; "auto": HanTa for English, jieba for Chinese."""


class Ngram(Section):
    """Only a few words in a row stay of the text (Tang et al. 2019)."""

    kind: Literal["ngram"]
    """The kind of method."""
    probability: Share = 0.25
    """Chance of each copy."""
    shortest: int = Field(default=1, ge=1)
    """Fewest words that stay."""
    longest: int = Field(default=5, ge=1)
    """Most words that stay; never more than there are."""


class WordVectors(Section):
    """Words become one of their nearest neighbours among word vectors."""

    kind: Literal["word_vectors"]
    """The kind of method."""
    path: Annotated[str, by_content()]
    """A word2vec or GloVe file (text or .bin, also gzipped)."""
    fraction: Share = 0.1
    """Chance of each word that the file knows."""
    neighbours: int = Field(default=15, ge=1)
    """How many of them are drawn from."""


class MaskedLm(Section):
    """Words become what a masked language model would put there (TinyBERT, Jiao et al. 2020): whole words, and where
    the model has no single piece for a word, a neighbour among word vectors."""

    kind: Literal["masked_lm"]
    """The kind of method."""
    checkpoint: Annotated[str, by_content()] = "bert-base-uncased"
    """A Hugging Face folder or hub name of a model with a masked-language-model head."""
    fraction: Share = 0.4
    """Chance of each word."""
    candidates: int = Field(default=15, ge=1)
    """How many of the most probable words are drawn from."""
    word_vectors: Annotated[str | None, by_content()] = None
    """A file of word vectors for words of several pieces; left out: these stay as they are."""
    max_length: int = Field(default=128, ge=8)
    """Longest input in the model's tokens."""


class Delete(Section):
    """Words are left out (EDA, Wei & Zou 2019); one always stays."""

    kind: Literal["delete"]
    """The kind of method."""
    fraction: Share = 0.1
    """Chance of each word."""


class Swap(Section):
    """Words change places, two at a time (EDA, Wei & Zou 2019)."""

    kind: Literal["swap"]
    """The kind of method."""
    fraction: Share = 0.1
    """Swaps for each word of the text."""


class Pairing(Section):
    """One text of a pair gets another partner: a text of the copied rows that shares its rarer words (Augmented SBERT,
    Thakur et al. 2021). A copy is either such a new pair or one changed by the other methods. Pairs only."""

    kind: Literal["pairing"]
    """The kind of method."""
    probability: Share = 0.5
    """Chance of each copy."""
    neighbours: int = Field(default=10, ge=1)
    """How many of the most similar texts are drawn from."""


Method = Annotated[
    Masking | PosSwap | Ngram | WordVectors | MaskedLm | Delete | Swap | Pairing,
    Field(discriminator="kind"),
]
WORD_METHODS = ("masking", "pos_swap", "word_vectors", "masked_lm", "delete")  # share one draw a word


class Augmentation(Section):
    """Changed copies of training rows and transfer text. One draw for each word decides which method changes it, if
    any; then methods on the whole text have their turn, in the order given. Copies that repeat a row or a copy are
    dropped."""

    copies: int = Field(default=20, ge=0)
    """Copies tried of each training row."""
    transfer_copies: int = Field(default=0, ge=0)
    """Copies tried of each row that `[transfer]` gathers; they are learned from only if the row they are of is."""
    methods: list[Method] = Field(min_length=1)
    """What is done to them: `[[augmentation.methods]]` tables."""
    rows: int | None = Field(default=None, ge=1)
    """Keep so many copies, drawn at random from all; left out: keep all."""
    sides: Literal["one_or_both", "both"] = "one_or_both"
    """Of a pair: the first text, the second, or both are changed, each as often (Tang et al.); or always both."""
    processes: Annotated[int | None, decides_nothing()] = Field(default=None, ge=1)
    """Processes at work; left out: one for each CPU. The result does not depend on it."""
    seed: int = Field(default=0, ge=0)
    """Seed of all draws; with the row's id it fixes every copy."""

    @model_validator(mode="after")
    def _can_be_made(self) -> Self:
        if not self.copies and not self.transfer_copies:
            raise ValueError("copies and transfer_copies are both 0: leave [augmentation] out")
        shares = [method.fraction for method in self.methods if not isinstance(method, Ngram | Swap | Pairing)]
        if sum(shares) > 1 + 1e-9:
            raise ValueError(
                f"the fractions of methods on words share one draw and cannot exceed 1 together ({sum(shares):g})"
            )
        for method in self.methods:
            if isinstance(method, Ngram) and method.shortest > method.longest:
                raise ValueError(f"ngram: shortest ({method.shortest}) is larger than longest ({method.longest})")
        return self

    def located(self, locate: Locate) -> Self:
        """With files of word vectors, and a checkpoint that is a folder here, as absolute paths."""
        methods: list[Method] = []
        for method in self.methods:
            match method:
                case WordVectors():
                    methods.append(method.model_copy(update={"path": locate(method.path)}))
                case MaskedLm():
                    found: dict[str, str] = {"checkpoint": locate(method.checkpoint, required=False)}
                    if method.word_vectors is not None:
                        found["word_vectors"] = locate(method.word_vectors)
                    methods.append(method.model_copy(update=found))
                case _:
                    methods.append(method)
        return self.model_copy(update={"methods": methods})
