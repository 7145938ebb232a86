"""Runs a network on tokenised rows: in batches of similar length, in eval mode, on the network's device."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limbeck.progress import Bar
from limbeck.training.batches import token_budget_batches
from limbeck.training.device import sent
from limbeck.training.modes import evaluating

Places = npt.NDArray[np.int64]


class TokenisedRows(Protocol):
    """Rows as tokens, from which batches are made (limbeck.text.student_reader)."""

    @property
    def lengths(self) -> Places:
        """(rows): the number of tokens of each row."""

    def batch(self, places: Sequence[int] | Places, *, with_types: bool) -> dict[str, Places]:
        """(rows, tokens) for each input of the network."""


class AnsweredBatch(NamedTuple):
    """A batch, and the network's output for it."""

    places: Tensor  # of the rows
    batch: dict[str, Tensor]
    answer: Any


def answers_in_batches(
    network: Any,
    read: TokenisedRows,
    *,
    with_types: bool,
    tokens_per_batch: int,
    bar: Bar | None = None,
    **options: Any,
) -> Iterator[AnsweredBatch]:
    """Every row once, longest first; finished rows advance the bar. `options` are passed to the network each time."""
    device: torch.device = next(iter(network.parameters())).device
    with evaluating(network):
        for places in token_budget_batches(read.lengths, tokens_per_batch=tokens_per_batch):
            arrays = read.batch(places, with_types=with_types)
            batch = {name: sent(torch.from_numpy(array), device) for name, array in arrays.items()}
            yield AnsweredBatch(sent(torch.from_numpy(places), device), batch, network(**batch, **options))
            if bar:
                bar.advance(len(places))
