"""Token ids of many rows in one contiguous tensor, from which padded batches are made without a loop."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limbeck.training.device import sent


@dataclass(frozen=True)
class TokenRows:
    """All ids one after the other, and where each row starts, on the training device.

    The lengths stay in CPU memory: the width of every batch depends on them, and reading from a GPU would wait for it.
    """

    flat: Tensor  # (all tokens)
    bounds: Tensor  # (rows + 1): where each row starts and the one before it ends
    lengths: npt.NDArray[np.int64]  # (rows)

    @classmethod
    def of(cls, blocks: Iterable[Sequence[Sequence[int]]], *, device: torch.device) -> "TokenRows":
        """From lists of ids, block by block: a large corpus as lists would take ten times the memory.

        No row may be empty.
        """
        return cls.together(((block,) for block in blocks), columns=1, device=device)[0]

    @classmethod
    def together(
        cls, blocks: Iterable[Sequence[Sequence[Sequence[int]]]], *, columns: int, device: torch.device
    ) -> "list[TokenRows]":
        """The first columns of blocks that have several, each as from `of`; blocks may have more columns."""
        lengths = [[np.zeros(0, dtype=np.int64)] for _ in range(columns)]
        flat = [[np.zeros(0, dtype=np.int32)] for _ in range(columns)]
        for block in blocks:
            for number, column in enumerate(block[:columns]):
                own = np.fromiter(map(len, column), dtype=np.int64, count=len(column))
                lengths[number].append(own)
                flat[number].append(np.fromiter(chain.from_iterable(column), dtype=np.int32, count=int(own.sum())))
        return [
            cls._joined(np.concatenate(ids), np.concatenate(own), device=device)
            for ids, own in zip(flat, lengths, strict=True)
        ]

    @classmethod
    def of_arrays(
        cls, blocks: Iterable[tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]], *, device: torch.device
    ) -> "TokenRows":
        """From all ids of a block one after the other, and the lengths of its rows; no row may be empty."""
        found = [(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64)), *blocks]
        ids, lengths = (np.concatenate(column) for column in zip(*found, strict=True))
        return cls._joined(ids, lengths, device=device)

    @classmethod
    def _joined(
        cls, flat: npt.NDArray[np.int32], lengths: npt.NDArray[np.int64], *, device: torch.device
    ) -> "TokenRows":
        bounds = np.concatenate([[0], np.cumsum(lengths)])
        return cls(torch.from_numpy(flat).to(device), torch.from_numpy(bounds).to(device), lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def width(self, rows: npt.NDArray[np.int64]) -> int:
        """Tokens of the longest of these rows."""
        return int(self.lengths[rows].max())

    def batch(self, rows: npt.NDArray[np.int64], *, pad: int) -> tuple[Tensor, Tensor]:
        """(rows, tokens) ids and mask, padded to the longest of these rows."""
        return self.padded(sent(torch.from_numpy(rows), self.flat.device), width=self.width(rows), pad=pad)

    def padded(self, chosen: Tensor, *, width: int, pad: int) -> tuple[Tensor, Tensor]:
        """(rows, width) ids and mask of the rows with these numbers, which are already on the device."""
        device = self.flat.device
        starts, ends = self.bounds[:-1][chosen], self.bounds[1:][chosen]
        places = starts[:, None] + torch.arange(width, device=device)
        inside = places < ends[:, None]
        ids = torch.where(inside, self.flat[places.clamp(max=self.flat.shape[0] - 1)].long(), pad)
        return ids, inside.long()
