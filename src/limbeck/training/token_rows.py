"""Token ids of many rows in one contiguous tensor, from which padded batches are cut without a loop."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor


@dataclass(frozen=True)
class TokenRows:
    """All ids one after the other, and where each row starts; lives on the device that trains."""

    flat: Tensor  # (all tokens)
    starts: Tensor  # (rows)
    lengths: Tensor  # (rows)

    @classmethod
    def of(cls, ids: Sequence[Sequence[int]], *, device: torch.device) -> "TokenRows":
        """From lists of ids; no row may be empty."""
        lengths = np.fromiter((len(row) for row in ids), dtype=np.int64, count=len(ids))
        flat = np.fromiter((token for row in ids for token in row), dtype=np.int32, count=int(lengths.sum()))
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]) if len(ids) else np.zeros(0, dtype=np.int64)
        return cls(*(torch.from_numpy(array).to(device) for array in (flat, starts, lengths)))

    def __len__(self) -> int:
        return int(self.lengths.shape[0])

    def batch(self, rows: npt.NDArray[np.int64], *, pad: int) -> tuple[Tensor, Tensor]:
        """(rows, tokens) ids and mask, padded to the longest of these rows."""
        chosen = torch.from_numpy(rows).to(self.flat.device)
        lengths, starts = self.lengths[chosen], self.starts[chosen]
        steps = torch.arange(int(lengths.max()), device=self.flat.device)[None, :]
        inside = steps < lengths[:, None]
        places = (starts[:, None] + steps).clamp(max=self.flat.shape[0] - 1)
        ids = torch.where(inside, self.flat[places].long(), pad)
        return ids, inside.long()
