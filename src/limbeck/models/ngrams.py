"""A text as the weighted sum of the vectors of its n-grams: a linear model, as TF-IDF with a linear classifier is."""

from collections.abc import Sequence
from typing import Any, Unpack

import torch
from torch import Tensor, nn

from limbeck.models.multiply_adds import Config, vector_size, word_head
from limbeck.models.word_student import (
    WordStudentConfig,
    WordStudentModel,
    WordTask,
    task_config_values,
    tokens_inside,
)
from limbeck.recipe.student import Ngrams


class NgramsConfig(WordStudentConfig):
    """The shape of a student of n-grams; its vocabulary is the buckets that they are hashed into."""

    model_type = "limbeck_ngrams"

    def __init__(self, *, dense_size: int = 0, dropout: float = 0.2, **rest: Any) -> None:
        super().__init__(dense_size=dense_size, dropout=dropout, **rest)


class NgramsForSequenceClassification(WordStudentModel):
    """Vectors of n-grams → their weighted sum, Σ exp(wᵢ)·vᵢ / √Σ exp(2wᵢ) → classes.

    With the logarithm of an n-gram's inverse document frequency as w, the weights are those of TF-IDF, and the sum of a
    text's vectors is a linear function of its TF-IDF vector of length 1. The parameters are the logarithms w. In
    training, n-grams are left out as a whole: the rest is read as a text of its own.
    """

    config_class = NgramsConfig
    base_model_prefix = "ngrams"

    def __init__(self, config: NgramsConfig) -> None:
        super().__init__(config)
        self.word_weights = nn.Embedding(config.vocab_size, 1)
        self._complete(config.vector_size)
        self.dropout = nn.Dropout(0.0)  # of single numbers: they may be the logits themselves
        self.left_out = nn.Dropout(config.dropout)

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.Embedding) and module is self.word_weights:
            nn.init.zeros_(module.weight)
        else:
            super()._init_weights(module)

    def _read(self, ids: Tensor, lengths: Tensor) -> Tensor:
        inside = tokens_inside(lengths, ids.shape[1])  # (rows, tokens)
        logarithms = self.word_weights(ids).squeeze(-1).masked_fill(~inside, float("-inf"))
        weights = self.left_out(logarithms.softmax(dim=1))  # in proportion to exp(w), without overflow for large w
        weights = nn.functional.normalize(weights, dim=1)
        return torch.einsum("rt,rtw->rw", weights, self._vectors(ids))

    @torch.no_grad()
    def start(
        self,
        *,
        word_weights: Tensor | None = None,
        vectors: Tensor | None = None,
        classifier: Tensor | None = None,
    ) -> None:
        """Initialise the weights w (words), and with a fit the vectors (words, width) and the classifier (classes,
        width + 1), bias last, that reads them. Vectors may be wider than the fit's, and are then completed by zeros.
        """
        if word_weights is not None:
            self.word_weights.weight.copy_(word_weights[:, None])
        if vectors is None or classifier is None:
            return
        width = vectors.shape[1]
        self.embeddings.weight.zero_()
        self.embeddings.weight[:, :width] = vectors
        if self.dense is None:
            self.classifier.weight[:, :width] = classifier[:, :width]
            self.classifier.bias.copy_(classifier[:, width])

    def train_vectors_alone(self) -> None:
        """Train vectors and bias, and not how they are weighted and read: logits are then linear in what is trained."""
        self.word_weights.weight.requires_grad_(False)
        self.classifier.weight.requires_grad_(False)

    def vector_readers(self) -> list[str]:
        return ["classifier.weight" if self.dense is None else "dense.weight"]


def ngrams(section: Ngrams, **task: Unpack[WordTask]) -> NgramsForSequenceClassification:
    """A newly initialised student, as the recipe describes it."""
    values = task_config_values(**task)
    return NgramsForSequenceClassification(
        NgramsConfig(dense_size=section.dense_size, dropout=section.dropout, **values)
    )


def ngrams_multiply_adds(config: Config, *, tokens: Sequence[int], classes: int, exported: bool) -> int:
    """Each n-gram's vector times its weight, and the head after their sum."""
    del exported  # its graph computes the same
    width = vector_size(config)
    return sum(tokens) * width + word_head(config, features=width, classes=classes)
