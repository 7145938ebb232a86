"""What all students that read word vectors share: the vectors, the two texts of a pair, the head."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NotRequired, Self, TypedDict, Unpack

import torch
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

from limbeck.models.comparison import Comparison, TextStates, compared_size
from limbeck.recipe.student import WordStudent


@dataclass
class StudentOutput(SequenceClassifierOutput):  # type: ignore[misc]  # transformers is untyped
    """Logits (rows, classes), and the features (rows, width) that the head reads, for losses on them."""

    features: Tensor | None = None


PAD = 0  # the token id of padding in every vocabulary that a student does not share with its teacher
MULTI_LABEL = "multi_label_classification"  # transformers' name: its pipeline then applies a sigmoid
REGRESSION = "regression"  # its pipeline then applies nothing
SPREAD = 0.1  # standard deviation of random word vectors; PyTorch's default, 1, is too large for a network's inputs


class WordStudentConfig(PreTrainedConfig):  # type: ignore[misc]  # transformers is untyped
    """The fields that the configs of all these students share.

    The config of each kind needs its own `__init__`: without one, transformers makes one that does not call this.
    """

    def __init__(
        self,
        *,
        vocab_size: int = 8,
        embedding_size: int = 300,
        dense_size: int = 200,
        dropout: float = 0.3,
        dropout_on: Sequence[str] = ("vectors", "features"),
        tune_vectors: bool = True,
        static_channel: bool = False,
        vector_rank: int | None = None,
        pair: bool = False,
        pairing: str = "siamese",
        compare_size: int = 100,
        **rest: Any,
    ) -> None:
        self.vocab_size = vocab_size
        self.embedding_size = embedding_size
        self.dense_size = dense_size
        self.dropout = dropout
        self.dropout_on = list(dropout_on)
        self.tune_vectors = tune_vectors
        self.static_channel = static_channel
        self.vector_rank = vector_rank
        self.pair = pair
        self.pairing = pairing
        self.compare_size = compare_size
        super().__init__(pad_token_id=PAD, **{key: value for key, value in rest.items() if key != "pad_token_id"})

    @property
    def vector_size(self) -> int:
        """Width of the network's input for one word: both channels together."""
        return self.embedding_size * (2 if self.static_channel else 1)

    @property
    def attends(self) -> bool:
        """Whether it reads two texts and compares them word by word."""
        return self.pair and self.pairing == "attend"


class WordStudentModel(PreTrainedModel):  # type: ignore[misc]  # transformers is untyped
    """Word vectors → the features of a text, which depend on the kind of student → ReLU layer → classes.

    A row of two texts is read twice by the same network and classified from [h1; h2; h1⊙h2; |h1−h2|], as Tang et al.
    2019 (arXiv:1903.12136) do. A kind of student makes its own layers, then calls `_complete` with the width of its
    features of a text, and implements `_read` and `vector_readers`. One that can compare two texts word by word calls
    `_complete_attending` in its place for them, and implements `_word_states` and perhaps `_composed`.

    With a `vector_rank`, the table has this many numbers per word, and the projection `widening` makes word vectors of
    them (as in ALBERT: Lan et al. 2020, arXiv:1909.11942, section 3.1).
    """

    def __init__(self, config: WordStudentConfig) -> None:
        super().__init__(config)
        self.comparison: Comparison | None = None

    def _complete_attending(self, *, width: int, composed: int) -> None:
        """Add a comparison of words with states of this width, whose results `_composed` makes that wide; then as
        `_complete`."""
        config = self.config
        self.comparison = Comparison(
            width=width, size=config.compare_size, words=config.vocab_size, dropout=config.dropout
        )
        self._complete(compared_size(composed))

    def _complete(self, features: int) -> None:
        """Add the word vectors and the head, which reads `features` numbers per text; then initialise all weights."""
        config = self.config
        rank = config.vector_rank
        self.embeddings = nn.Embedding(config.vocab_size, rank or config.embedding_size, padding_idx=PAD)
        self.widening = nn.Linear(rank, config.embedding_size, bias=False) if rank else None
        self.static_embeddings: nn.Embedding | None = None
        if config.static_channel:
            self.static_embeddings = nn.Embedding(config.vocab_size, config.embedding_size, padding_idx=PAD)
        self.dropout = nn.Dropout(config.dropout)
        self.features = features * (4 if config.pair else 1)
        self.dense = nn.Linear(self.features, config.dense_size) if config.dense_size else None
        self.classifier = nn.Linear(config.dense_size or self.features, config.num_labels)
        self.post_init()
        self._freeze_vectors()

    @classmethod
    def from_pretrained(cls, *arguments: Any, **options: Any) -> Any:
        """As in transformers, but frozen vectors are frozen again: transformers makes all loaded weights trainable."""
        found = super().from_pretrained(*arguments, **options)
        network: Self = found[0] if isinstance(found, tuple) else found  # a tuple with output_loading_info=True
        network._freeze_vectors()
        return found

    def _freeze_vectors(self) -> None:
        self.embeddings.weight.requires_grad_(self.config.tune_vectors)
        if self.widening is not None:
            self.widening.weight.requires_grad_(self.config.tune_vectors)
        if self.static_embeddings is not None:
            self.static_embeddings.weight.requires_grad_(False)

    def _init_weights(self, module: nn.Module) -> None:
        """PyTorch's own initial values, except for the word vectors."""
        if self.comparison is not None and module is self.comparison.word_weights:
            self.comparison.start_weights()
        elif isinstance(module, nn.Embedding):
            with torch.no_grad():
                module.weight.normal_(0.0, SPREAD)
                module.weight[PAD] = 0.0
        elif module is self.widening:
            nn.init.normal_(module.weight, 0.0, module.in_features**-0.5)  # word vectors get the table's spread

    @property
    def word_vectors(self) -> Tensor:
        """(words, embedding_size): the current word vectors."""
        table = self.embeddings.weight.detach()
        return table if self.widening is None else table @ self.widening.weight.detach().T

    def start_vectors(self, vectors: Tensor | None) -> None:
        """Initialise the word vectors with these (words, width), in both channels; None: with one random table.

        With a `vector_rank`, they get the best approximation of that rank.
        """
        with torch.no_grad():
            if vectors is not None:
                self._set_vectors(vectors)
            if self.static_embeddings is not None:
                self.static_embeddings.weight.copy_(self.embeddings.weight)

    def _set_vectors(self, vectors: Tensor) -> None:
        if self.widening is None:
            self.embeddings.weight.copy_(vectors)
            return
        table, axes = low_rank(vectors, rank=self.config.vector_rank)
        self.embeddings.weight.copy_(table)
        self.widening.weight.copy_(axes)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        pair_ids: Tensor | None = None,
        pair_mask: Tensor | None = None,
        labels: Tensor | None = None,
        **_ignored: Any,
    ) -> StudentOutput:
        """Logits of shape (rows, classes); ids are (rows, tokens), masks are 1 on tokens and 0 on padding.

        Labels are (rows) class numbers; where a row may have several, (rows, classes) of 0 and 1; or (rows) scores.
        """
        lengths = _lengths(input_ids, attention_mask)
        if self.config.pair:
            if pair_ids is None:
                raise ValueError("this student reads two texts: pair_ids are missing")
            one, other = self._read_both(input_ids, lengths, pair_ids, _lengths(pair_ids, pair_mask))
            features = torch.cat([one, other, one * other, (one - other).abs()], dim=-1)
        else:
            features = self._read(input_ids, lengths)
        active = self._dropped(features, "features")
        if self.dense is not None:
            active = self._dropped(torch.relu(self.dense(active)), "hidden")
        logits = self.classifier(active)
        loss = None if labels is None else self._loss(logits, labels)
        return StudentOutput(loss=loss, logits=logits, features=features)

    def _vectors(self, ids: Tensor) -> Tensor:
        """(rows, tokens, vector_size): the vectors of all channels, after dropout."""
        vectors: Tensor = self.embeddings(ids)
        if self.widening is not None:
            vectors = self.widening(vectors)
        if self.static_embeddings is not None:
            vectors = torch.cat([vectors, self.static_embeddings(ids)], dim=-1)
        return self._dropped(vectors, "vectors")

    def _dropped(self, values: Tensor, where: str) -> Tensor:
        """After dropout, if the student has it here."""
        dropped: Tensor = self.dropout(values) if where in self.config.dropout_on else values
        return dropped

    def _read(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """(rows, features) of one text per row; ids (rows, tokens) after a row's length must not change them."""
        raise NotImplementedError

    def _read_both(self, ids: Tensor, lengths: Tensor, pair_ids: Tensor, pair_lengths: Tensor) -> tuple[Tensor, Tensor]:
        """(rows, features) of both texts: each by itself, or compared word by word."""
        if self.comparison is None:
            return self._read(ids, lengths), self._read(pair_ids, pair_lengths)
        one, other = (
            TextStates(words, tokens_inside(many, words.shape[1]), self._word_states(words, many))
            for words, many in ((ids, lengths), (pair_ids, pair_lengths))
        )
        features: tuple[Tensor, Tensor] = self.comparison(one, other, compose=self._composed)
        return features

    def _word_states(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """(rows, tokens, width): what a comparison reads of each word, in the order of the words."""
        raise NotImplementedError

    def _composed(self, compared: Tensor, inside: Tensor) -> Tensor:
        """(rows, tokens, width): comparisons of a text's words, as they are or after further layers."""
        del inside
        return compared

    def vector_readers(self) -> list[str]:
        """The names of all weights that multiply word vectors: (outputs, vector_size, …)."""
        raise NotImplementedError

    def _loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        if self.config.problem_type == MULTI_LABEL:
            return nn.functional.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype))
        if self.config.problem_type == REGRESSION:
            return nn.functional.mse_loss(logits[:, 0], labels.to(logits.dtype))
        return nn.functional.cross_entropy(logits, labels)


def tokens_inside(lengths: Tensor, tokens: int) -> Tensor:
    """(rows, tokens): true on the tokens of a row, false on the padding after them."""
    return torch.arange(tokens, device=lengths.device)[None, :] < lengths[:, None]


def mean_inside(values: Tensor, lengths: Tensor) -> Tensor:
    """(rows, width): the mean of (rows, tokens, width) over each row's own tokens."""
    inside = tokens_inside(lengths, values.shape[1])
    return values.masked_fill(~inside[..., None], 0.0).sum(dim=1) / lengths[:, None]


def _lengths(ids: Tensor, mask: Tensor | None) -> Tensor:
    """(rows): the number of tokens of each row. An empty row is read as one token of padding."""
    real = ids != PAD if mask is None else mask
    return real.sum(dim=1).clamp(min=1)


class WordTask(TypedDict):
    """What a student reads and predicts: the part of its shape that is not in the recipe."""

    vocabulary_size: int
    embedding_size: int
    labels: list[str]
    pair: bool
    problem_type: NotRequired[str | None]  # as transformers says it; None: one label a row


def word_config_values(section: WordStudent, **task: Unpack[WordTask]) -> dict[str, Any]:
    """The config values of a student that come from its section and its task.

    A rank that is not smaller than the width of the vectors has no effect.
    """
    rank = section.vector_rank
    return {
        **task_config_values(**task),
        "dense_size": section.dense_size,
        "dropout": section.dropout,
        "dropout_on": section.dropout_on,
        "tune_vectors": section.tune_vectors,
        "static_channel": section.static_channel,
        "vector_rank": rank if rank and rank < task["embedding_size"] else None,
    }


def task_config_values(**task: Unpack[WordTask]) -> dict[str, Any]:
    """The config values of a student that come from its task alone."""
    labels = task["labels"]
    return {
        "vocab_size": task["vocabulary_size"],
        "embedding_size": task["embedding_size"],
        "pair": task["pair"],
        "id2label": dict(enumerate(labels)),
        "label2id": {label: number for number, label in enumerate(labels)},
        "problem_type": task.get("problem_type"),
    }


def low_rank(vectors: Tensor, *, rank: int) -> tuple[Tensor, Tensor]:
    """(words, rank) and (width, rank) with `first @ second.T` ≈ vectors (words, width).

    No other product of that shape has a smaller sum of squared differences (Eckart and Young 1936): the second is the
    leading right singular vectors, the first the vectors' coordinates along them. A vector of zeros stays zero. Signs
    are fixed (the largest weight of each axis is positive), so that equal vectors give equal factors.
    """
    exact = vectors.double()
    # Eigenvectors of a matrix whose size is the vectors' width, for any number of words.
    _, axes = torch.linalg.eigh(exact.T @ exact)
    axes = axes.flip(1)[:, :rank]  # the largest first
    axes = axes * axes.gather(0, axes.abs().argmax(dim=0)[None, :]).sign()
    return (exact @ axes).to(vectors.dtype), axes.to(vectors.dtype)
