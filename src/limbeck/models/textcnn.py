"""The convolutional network of Kim 2014 (arXiv:1408.5882): windows of words, the largest value of each filter."""

from collections.abc import Sequence
from typing import Any, Unpack

import torch
from torch import Tensor, nn

from limbeck.models.multiply_adds import Config, vector_size, word_head
from limbeck.models.word_student import (
    WordStudentConfig,
    WordStudentModel,
    WordTask,
    tokens_inside,
    word_config_values,
)
from limbeck.recipe.student import TextCnn


class TextCnnConfig(WordStudentConfig):
    """The shape of a convolutional student."""

    model_type = "limbeck_textcnn"

    def __init__(
        self,
        *,
        windows: Sequence[int] = (3, 4, 5),
        filters: int = 100,
        dense_size: int = 0,
        dropout: float = 0.5,
        max_norm: float | None = None,
        **rest: Any,
    ) -> None:
        self.windows = list(windows)
        self.filters = filters
        self.max_norm = max_norm
        super().__init__(dense_size=dense_size, dropout=dropout, **rest)


class TextCnnForSequenceClassification(WordStudentModel):
    """Word vectors → filters over every window of words → the largest value of each → classes.

    A text is padded with window − 1 zeros on either side, so that every filter also applies to a text of one word.
    """

    config_class = TextCnnConfig
    base_model_prefix = "textcnn"

    def __init__(self, config: TextCnnConfig) -> None:
        super().__init__(config)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(config.vector_size, config.filters, window, padding=window - 1) for window in config.windows
        )
        self._complete(config.filters * len(config.windows))

    def _read(self, ids: Tensor, lengths: Tensor) -> Tensor:
        self._limit_norms()
        inside = tokens_inside(lengths, ids.shape[1])  # (rows, tokens)
        # A window at the end of a short row reads its padding, which must be the same zeros as after a long one.
        vectors = self._vectors(ids).masked_fill(~inside[..., None], 0.0).transpose(1, 2)  # (rows, width, tokens)
        return torch.cat([_largest(layer(vectors), lengths, window) for layer, window in self._filters()], dim=1)

    @torch.no_grad()
    def _limit_norms(self) -> None:
        """Scale the weights of a class down to the greatest length that they may have, whatever the last step did."""
        if self.config.max_norm is not None:
            weights = self.classifier.weight
            weights.copy_(torch.renorm(weights, p=2, dim=0, maxnorm=self.config.max_norm))

    def vector_readers(self) -> list[str]:
        return [f"convolutions.{number}.weight" for number in range(len(self.convolutions))]

    def _filters(self) -> Sequence[tuple[nn.Module, int]]:
        return list(zip(self.convolutions, self.config.windows, strict=True))


def _largest(values: Tensor, lengths: Tensor, window: int) -> Tensor:
    """(rows, filters): the largest of (rows, filters, positions), over the windows that hold a word; at least 0."""
    has_word = tokens_inside(lengths + window - 1, values.shape[2])  # (rows, positions)
    # Max, then ReLU: the same as ReLU everywhere, then max.
    return values.masked_fill(~has_word[:, None, :], float("-inf")).amax(dim=2).relu()


def textcnn(section: TextCnn, **task: Unpack[WordTask]) -> TextCnnForSequenceClassification:
    """A newly initialised student, as the recipe describes it."""
    values = word_config_values(section, **task)
    config = TextCnnConfig(windows=section.windows, filters=section.filters, max_norm=section.max_norm, **values)
    return TextCnnForSequenceClassification(config)


def textcnn_multiply_adds(config: Config, *, tokens: Sequence[int], classes: int, exported: bool) -> int:
    """n · width · Σ windows · filters, as every word meets every position of every filter; and the head after them."""
    del exported  # its graph computes the same
    of_word = vector_size(config) * sum(config["windows"]) * config["filters"]
    features = config["filters"] * len(config["windows"])
    return int(sum(tokens) * of_word) + word_head(config, features=features, classes=classes)
