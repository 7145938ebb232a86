"""`[augmentation]`: changed copies of training rows and transfer text, for the teacher to label."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from limbeck.recipe.base import Locate, Section
from limbeck.recipe.decisions import by_content, decides_nothing
from limbeck.recipe.files import GENERAL, located_general

Share = Annotated[float, Field(ge=0, le=1)]


class Masking(Section):
    """Words are replaced by the mask token of teacher and student (Tang et al. 2019)."""

    kind: Literal["masking"]
    """The kind of method."""
    fraction: Share = 0.1
    """Probability that a word is changed."""


class PosSwap(Section):
    """Words are replaced by another word of the same part of speech, drawn by its frequency in the copied texts (Tang
    et al. 2019)."""

    kind: Literal["pos_swap"]
    """The kind of method."""
    fraction: Share = 0.1
    """Probability that a word is changed."""
    tagger: Literal["auto", "hanta", "jieba"] = "auto"
    """The part-of-speech tagger; "auto": jieba for Chinese, HanTa for all else (models: English, German, Dutch)."""


class Ngram(Section):
    """Only a few consecutive words of the text are kept (Tang et al. 2019)."""

    kind: Literal["ngram"]
    """The kind of method."""
    probability: Share = 0.25
    """Probability that a copy is changed this way."""
    shortest: int = Field(default=1, ge=1)
    """Fewest words that are kept."""
    longest: int = Field(default=5, ge=1)
    """Most words that are kept."""


class WordVectors(Section):
    """Words are replaced by one of their nearest neighbours among word vectors."""

    kind: Literal["word_vectors"]
    """The kind of method."""
    path: Annotated[str, by_content()]
    """A word2vec or GloVe file (text or .bin, also packed); or a general student, whose words and vectors are used:
    "general:english" comes with the package."""
    fraction: Share = 0.1
    """Probability that a word is changed, if the file has it."""
    neighbours: int = Field(default=15, ge=1)
    """Number of nearest words to draw from."""


class MaskedLm(Section):
    """Words are replaced by predictions of a masked language model (TinyBERT, Jiao et al. 2020): whole words, and for
    words that the model splits into pieces, a neighbour among word vectors."""

    kind: Literal["masked_lm"]
    """The kind of method."""
    checkpoint: Annotated[str, by_content()] = "bert-base-uncased"
    """A Hugging Face folder or hub name of a model with a masked-language-model head."""
    fraction: Share = 0.4
    """Probability that a word is changed."""
    candidates: int = Field(default=15, ge=1)
    """Number of most probable words to draw from."""
    beside: Literal["nothing", "original"] = "nothing"
    """What the model reads beside the text with the masked word: "nothing", as the paper has it, and the word itself is
    not among its predictions; or the original as the second text, as TinyBERT's code has it, where the word itself is
    allowed: fewer words change, and those to closer ones."""
    word_vectors: Annotated[str | None, by_content()] = None
    """A file of word vectors for words of several pieces. Default: these words are not changed."""
    max_length: int = Field(default=128, ge=8)
    """Longest input in the model's tokens."""


class Delete(Section):
    """Words are deleted (EDA, Wei & Zou 2019); at least one is kept."""

    kind: Literal["delete"]
    """The kind of method."""
    fraction: Share = 0.1
    """Probability that a word is changed."""


class Swap(Section):
    """Pairs of words swap places (EDA, Wei & Zou 2019)."""

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
    """Probability that a copy is changed this way."""
    neighbours: int = Field(default=10, ge=1)
    """Number of most similar texts to draw from."""
    checkpoint: Annotated[str | None, by_content()] = None
    """An encoder whose vectors say which texts are similar, by their cosine: a Hugging Face folder, an offline package
    or a hub name, best a sentence encoder ("all-MiniLM-L6-v2"). It finds the same meaning in other words. Default: by
    the rarer words that texts share, which finds other meanings in the same words. A recipe may have both."""


class Exchange(Section):
    """The two texts of a pair change places. Pairs only; for tasks where a pair and its mirror image have one label the
    student learns that they have. A copy is either such a pair or one changed by the other methods."""

    kind: Literal["exchange"]
    """The kind of method."""
    probability: Share = 0.1
    """Probability that a copy is changed this way."""


Method = Annotated[
    Masking | PosSwap | Ngram | WordVectors | MaskedLm | Delete | Swap | Pairing | Exchange,
    Field(discriminator="kind"),
]
PairMethods = Pairing | Exchange
WORD_METHODS = ("masking", "pos_swap", "word_vectors", "masked_lm", "delete")  # one draw per word chooses among them


class Augmentation(Section):
    """Changed copies of training rows and transfer text. One draw for each word decides which method changes it, if
    any; then methods on whole texts are applied, in the order given. Copies that repeat a row or another copy are
    dropped."""

    copies: int = Field(default=20, ge=0)
    """Copies to try for each training row."""
    transfer_copies: int = Field(default=0, ge=0)
    """Copies to try for each row that `[transfer]` gathers; a copy is used only if its row is."""
    methods: list[Method] = Field(min_length=1)
    """The changes: `[[augmentation.methods]]` tables."""
    rows: int | None = Field(default=None, ge=1)
    """Number of copies to keep, drawn at random. Default: all."""
    sides: Literal["one_or_both", "both"] = "one_or_both"
    """Which text of a pair is changed: the first, the second or both, equally often (Tang et al.); or always both."""
    processes: Annotated[int | None, decides_nothing()] = Field(default=None, ge=1)
    """Number of processes. Default: one for each CPU. The result does not depend on it."""
    seed: int = Field(default=0, ge=0)
    """Seed of all draws; together with a row's id it determines every copy."""

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        if not self.copies and not self.transfer_copies:
            raise ValueError("copies and transfer_copies are both 0: remove [augmentation]")
        shares = [method.fraction for method in self.methods if not isinstance(method, Ngram | Swap | PairMethods)]
        if sum(shares) > 1 + 1e-9:
            raise ValueError(
                f"the fractions of all methods on words must not exceed 1 in total (found {sum(shares):g})"
            )
        for method in self.methods:
            if isinstance(method, Ngram) and method.shortest > method.longest:
                raise ValueError(f"ngram: shortest ({method.shortest}) is larger than longest ({method.longest})")
        return self

    def located(self, locate: Locate) -> Self:
        """With files of word vectors, and checkpoints that are local folders, as absolute paths."""
        methods: list[Method] = []
        for method in self.methods:
            match method:
                case WordVectors():
                    is_general = method.path.startswith(GENERAL)
                    found_at = located_general(method.path, locate) if is_general else locate(method.path)
                    methods.append(method.model_copy(update={"path": found_at}))
                case MaskedLm():
                    found: dict[str, str] = {"checkpoint": locate(method.checkpoint, required=False)}
                    if method.word_vectors is not None:
                        found["word_vectors"] = locate(method.word_vectors)
                    methods.append(method.model_copy(update=found))
                case Pairing() if method.checkpoint is not None:
                    checkpoint = locate(method.checkpoint, required=False)
                    methods.append(method.model_copy(update={"checkpoint": checkpoint}))
                case _:
                    methods.append(method)
        return self.model_copy(update={"methods": methods})
