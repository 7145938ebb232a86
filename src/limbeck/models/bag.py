"""A text as the mean of its word vectors, each word with a learned weight: the fastest student."""

from collections.abc import Sequence
from typing import Any, Unpack

import torch
from torch import Tensor, nn

from limbeck.models.comparison import compared_size, comparison_multiply_adds
from limbeck.models.multiply_adds import Config, attends, two_texts, vector_size, word_head
from limbeck.models.word_student import (
    WordStudentConfig,
    WordStudentModel,
    WordTask,
    mean_inside,
    tokens_inside,
    word_config_values,
)
from limbeck.recipe.student import Bag


class BagConfig(WordStudentConfig):
    """The shape of a bag-of-words student."""

    model_type = "limbeck_bag"

    def __init__(self, *, word_weights: bool = True, **rest: Any) -> None:
        self.word_weights = word_weights
        super().__init__(**rest)


class BagForSequenceClassification(WordStudentModel):
    """Word vectors → their weighted mean, Σ exp(wᵢ)·vᵢ / Σ exp(wᵢ) → ReLU layer → classes.

    The parameters are the logarithms w, one per word. They start at 0, which gives the unweighted mean. One that
    compares two texts reads the vectors of their words (Parikh et al. 2016), and weighs the comparisons.
    """

    config_class = BagConfig
    base_model_prefix = "bag"

    def __init__(self, config: BagConfig) -> None:
        super().__init__(config)
        self.word_weights: nn.Embedding | None = None  # those of a comparison are its own
        if config.attends:
            self._complete_attending(width=config.vector_size, composed=config.compare_size)
            return
        if config.word_weights:
            self.word_weights = nn.Embedding(config.vocab_size, 1)
        self._complete(config.vector_size)

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.Embedding) and module is self.word_weights:
            nn.init.zeros_(module.weight)
        else:
            super()._init_weights(module)

    def _read(self, ids: Tensor, lengths: Tensor) -> Tensor:
        vectors = self._vectors(ids)  # (rows, tokens, width)
        if self.word_weights is None:
            return mean_inside(vectors, lengths)
        inside = tokens_inside(lengths, ids.shape[1])  # (rows, tokens)
        logarithms = self.word_weights(ids).squeeze(-1).masked_fill(~inside, float("-inf"))
        weights = logarithms.softmax(dim=1)  # exp(w) / Σ exp(w), without overflow for large w
        return torch.einsum("rt,rtw->rw", weights, vectors)

    def _word_states(self, ids: Tensor, lengths: Tensor) -> Tensor:
        del lengths
        return self._vectors(ids)

    def vector_readers(self) -> list[str]:
        if self.comparison is not None:
            return ["comparison.project.weight"]
        if self.config.pair:
            raise ValueError("with pairs, no weight reads word vectors directly: the two means are multiplied first")
        return ["classifier.weight" if self.dense is None else "dense.weight"]


def bag(section: Bag, **task: Unpack[WordTask]) -> BagForSequenceClassification:
    """A newly initialised student, as the recipe describes it."""
    return BagForSequenceClassification(
        BagConfig(
            word_weights=section.word_weights,
            pairing=section.pairing,
            compare_size=section.compare_size,
            **word_config_values(section, **task),
        )
    )


def bag_multiply_adds(config: Config, *, tokens: Sequence[int], classes: int, exported: bool) -> int:
    """Each word's vector times its weight, or the comparison of two texts; and the head after that."""
    del exported  # its graph computes the same
    width = vector_size(config)
    if attends(config):
        size = int(config["compare_size"])
        compared = comparison_multiply_adds(config, tokens=two_texts(tokens), width=width, states=size)
        return compared + word_head(config, features=compared_size(size), classes=classes)
    return sum(tokens) * width + word_head(config, features=width, classes=classes)
