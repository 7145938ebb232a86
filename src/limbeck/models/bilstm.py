"""The Bi-LSTM of Tang et al. 2019 (arXiv:1903.12136) and variants of it, without packed sequences."""

from collections.abc import Sequence
from typing import Any, Unpack

import torch
from torch import Tensor, nn

from limbeck.models.comparison import compared_size, comparison_multiply_adds
from limbeck.models.multiply_adds import Config, attends, chain, two_texts, vector_size, word_head
from limbeck.models.word_student import (
    WordStudentConfig,
    WordStudentModel,
    WordTask,
    mean_inside,
    tokens_inside,
    word_config_values,
)
from limbeck.recipe.student import BiLstm

CELLS: dict[str, type[nn.LSTM | nn.GRU]] = {"lstm": nn.LSTM, "gru": nn.GRU}
GATES = {"lstm": 4, "gru": 3}
FORWARDS, BACKWARDS = "forwards", "backwards"  # "forward" is already a method of PyTorch's modules


class BiLstmConfig(WordStudentConfig):
    """The shape of a Bi-LSTM student."""

    model_type = "limbeck_bilstm"

    def __init__(
        self, *, hidden_size: int = 150, layers: int = 1, cell: str = "lstm", pooling: str = "max", **rest: Any
    ) -> None:
        self.hidden_size = hidden_size
        self.layers = layers
        self.cell = cell
        self.pooling = pooling
        super().__init__(**rest)


class BiLstmForSequenceClassification(WordStudentModel):
    """Word vectors → stacked LSTM or GRU in both directions → pooling → ReLU layer → classes.

    One that compares two texts does so after the first level; those above it read the comparisons of each text.

    The backward direction is a second network that reads each row reversed within its own length, so the padding
    after a row never reaches a state that is used.
    """

    config_class = BiLstmConfig
    base_model_prefix = "bilstm"

    def __init__(self, config: BiLstmConfig) -> None:
        super().__init__(config)
        hidden = config.hidden_size
        cell = CELLS[config.cell]
        second = config.compare_size if config.attends else 2 * hidden
        widths = _input_widths(config.layers, first=config.vector_size, second=second, hidden=hidden)
        self.levels = nn.ModuleList(
            nn.ModuleDict({direction: cell(width, hidden, batch_first=True) for direction in (FORWARDS, BACKWARDS)})
            for width in widths
        )
        if config.pooling == "attention" and not config.attends:
            self.attention = nn.Linear(2 * hidden, 2 * hidden)
            self.question = nn.Linear(2 * hidden, 1, bias=False)
        if config.attends:
            composed = 2 * hidden if config.layers > 1 else config.compare_size
            self._complete_attending(width=2 * hidden, composed=composed)
        else:
            self._complete(2 * hidden)

    def _read(self, ids: Tensor, lengths: Tensor) -> Tensor:
        inside = tokens_inside(lengths, ids.shape[1])  # (rows, tokens)
        states = self._states(self._vectors(ids), lengths, inside)  # (rows, tokens, 2 · hidden)
        match self.config.pooling:
            case "max":
                return states.masked_fill(~inside[..., None], float("-inf")).amax(dim=1)
            case "last":  # the backward direction takes its last step at the same position, on the first token
                last = (lengths - 1)[:, None, None].expand(-1, 1, states.shape[-1])
                return states.gather(1, last).squeeze(1)
            case "mean":
                return mean_inside(states, lengths)
            case "attention":
                return self._attended(states, inside)
            case pooling:
                raise ValueError(f"unknown pooling: {pooling!r}")

    def vector_readers(self) -> list[str]:
        return [f"levels.0.{direction}.weight_ih_l0" for direction in (FORWARDS, BACKWARDS)]

    def _states(self, vectors: Tensor, lengths: Tensor, inside: Tensor) -> Tensor:
        """States of the top level, both directions side by side.

        The backward direction is put into the order of the tokens only where that matters: below another level, and for
        attention, which weighs both states of a token together. The other poolings do not depend on the order.
        """
        mirrored = _mirrored(inside, lengths)
        *lower, top = self.levels
        for level in lower:
            vectors = self.dropout(_both_ways(level, vectors, mirrored, in_order=True))
        return _both_ways(top, vectors, mirrored, in_order=self.config.pooling == "attention")

    def _word_states(self, ids: Tensor, lengths: Tensor) -> Tensor:
        mirrored = _mirrored(tokens_inside(lengths, ids.shape[1]), lengths)
        return _both_ways(self.levels[0], self._vectors(ids), mirrored, in_order=True)

    def _composed(self, compared: Tensor, inside: Tensor) -> Tensor:
        mirrored = _mirrored(inside, inside.sum(dim=1))
        for level in self.levels[1:]:
            compared = _both_ways(level, self.dropout(compared), mirrored, in_order=True)
        return compared

    def _attended(self, states: Tensor, inside: Tensor) -> Tensor:
        """Σ αₜ·hₜ with α = softmax over the row's tokens of q·tanh(W·hₜ + b) (Yang et al. 2016, N16-1174, eq. 5-7)."""
        relevance = self.question(torch.tanh(self.attention(states))).squeeze(-1)  # (rows, tokens)
        weights = relevance.masked_fill(~inside, float("-inf")).softmax(dim=1)
        return torch.einsum("rt,rth->rh", weights, states)


def _mirrored(inside: Tensor, lengths: Tensor) -> Tensor:
    """(rows, tokens): the place of each token once its row is reversed within its own length."""
    positions = torch.arange(inside.shape[1], device=inside.device)[None, :]  # (1, tokens)
    return torch.where(inside, lengths[:, None] - 1 - positions, positions)


def _both_ways(level: nn.Module, vectors: Tensor, mirrored: Tensor, *, in_order: bool) -> Tensor:
    """(rows, tokens, 2 · hidden); the backward half reversed, or `in_order` of the tokens."""
    forwards, backwards = level.get_submodule(FORWARDS), level.get_submodule(BACKWARDS)
    back = backwards(_reversed(vectors, mirrored))[0]
    return torch.cat([forwards(vectors)[0], _reversed(back, mirrored) if in_order else back], dim=-1)


def _reversed(states: Tensor, mirrored: Tensor) -> Tensor:
    """(rows, tokens, width) with each row reversed within its own length."""
    return states.gather(1, mirrored[..., None].expand_as(states))


def bilstm(section: BiLstm, **task: Unpack[WordTask]) -> BiLstmForSequenceClassification:
    """A newly initialised student, as the recipe describes it."""
    config = BiLstmConfig(
        hidden_size=section.hidden_size,
        layers=section.layers,
        cell=section.cell,
        pooling=section.pooling,
        pairing=section.pairing,
        compare_size=section.compare_size,
        **word_config_values(section, **task),
    )
    return BiLstmForSequenceClassification(config)


def bilstm_multiply_adds(config: Config, *, tokens: Sequence[int], classes: int, exported: bool) -> int:
    """The recurrent levels over the words of each text, the comparison of two texts, if any, and the head."""
    del exported  # its graph computes the same
    of_texts = sum(_recurrent(config, tokens=count) for count in tokens)
    both = 2 * int(config["hidden_size"])
    if not attends(config):
        return of_texts + word_head(config, features=both, classes=classes)
    composed = both if config["layers"] > 1 else int(config["compare_size"])
    compared = comparison_multiply_adds(config, tokens=two_texts(tokens), width=both, states=composed)
    return of_texts + compared + word_head(config, features=compared_size(composed), classes=classes)


def _input_widths(levels: int, *, first: int, second: int, hidden: int) -> list[int]:
    """What each level reads: word vectors, states or comparisons, then the states below."""
    return [first, second, *[2 * hidden] * levels][:levels]


def _recurrent(config: Config, *, tokens: int) -> int:
    """levels · 2n · gates · hidden · (inputs + hidden), plus the attention over the states, if any."""
    hidden, levels, gates = int(config["hidden_size"]), int(config["layers"]), GATES[config["cell"]]
    second = int(config["compare_size"]) if attends(config) else 2 * hidden
    widths = _input_widths(levels, first=vector_size(config), second=second, hidden=hidden)
    of_levels = sum(2 * tokens * gates * hidden * (width + hidden) for width in widths)
    if config["pooling"] != "attention" or attends(config):
        return of_levels
    both = 2 * hidden
    return of_levels + tokens * chain(both, both, 1) + tokens * both
