"""What a process of a group does of a batch: its rows, how much they count, and the outputs for the rows of all."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Places = npt.NDArray[np.int64]
Found = TypeVar("Found")


@dataclass(frozen=True)
class Share:
    """Every `processes`-th row of a batch, from the row `rank` on: a group shares out what one process would do."""

    rank: int = 0
    processes: int = 1

    @property
    def is_all(self) -> bool:
        """Whether there is nobody to share with."""
        return self.processes == 1

    def count(self, rows: int) -> int:
        """How many of so many rows are its own."""
        return len(range(self.rank, rows, self.processes))

    def own(self, places: Places) -> Places:
        """Its rows; the first row of the batch, which must then count nothing, if there are too few for all."""
        if self.is_all:
            return places
        found = places[self.rank :: self.processes]
        return found if len(found) else places[:1]

    def weight(self, units: npt.NDArray[Any]) -> float:
        """The factor for a mean over its own part of a batch of which each row has so many units (tokens, say):

            processes · own units / all units

        The mean of all processes' means, each times this, is the mean over the batch.
        """
        if self.is_all:
            return 1.0
        return float(self.processes * units[self.rank :: self.processes].sum() / max(units.sum(), 1))

    def weights(self, lengths: npt.NDArray[np.int64]) -> dict[str, float]:
        """The factors for means over rows, over tokens, and over pairs of tokens of rows of these lengths, by name;
        empty if there is nobody to share with."""
        if self.is_all:
            return {}
        units = {"rows": np.ones(len(lengths)), "tokens": lengths, "pairs": lengths**2}
        return {name: self.weight(each) for name, each in units.items()}

    def whole(self, own: Tensor, *, rows: int) -> Tensor:
        """(rows, …): the outputs of all processes for a batch of so many rows, in its order, from its own (…, …).

        A loss on them is the loss on the batch, also if it compares rows with each other. Gradients reach the own rows,
        times the number of processes: their mean over processes, which is what torch's DDP makes, is the gradient of
        the batch; and so it is for weights of the loss itself, of which every process has the whole gradient.
        """
        if self.is_all:
            return own
        found: Tensor = _Gathered.apply(own, self, rows)  # type: ignore[no-untyped-call]
        return found


ALONE = Share()


def share_of_group() -> Share:
    """That of this process; all rows, if it is in no group."""
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return ALONE
    return Share(torch.distributed.get_rank(), torch.distributed.get_world_size())


def from_first_process(find: Callable[[], Found]) -> Found:
    """What the first process of the group finds; the others wait for it and use it, so that all decide the same."""
    share = share_of_group()
    found: list[Any] = [find() if share.rank == 0 else None]
    if not share.is_all:
        torch.distributed.broadcast_object_list(found)
    first: Found = found[0]
    return first


def wait_for_first_process() -> None:
    """Until the first process of the group has come as far as here."""
    from_first_process(lambda: None)


class _Gathered(torch.autograd.Function):
    """Rows of all processes. Sizes need not be exchanged: everybody knows the batch."""

    @staticmethod
    def forward(context: Any, own: Tensor, share: Share, rows: int) -> Tensor:
        """(rows, …) from this process's; what it has beyond its count is not looked at."""
        context.share, context.shape, count = share, own.shape, share.count(rows)
        padded = own.new_zeros(-(-rows // share.processes), *own.shape[1:])
        padded[:count] = own[:count]
        parts = [torch.empty_like(padded) for _ in range(share.processes)]
        torch.distributed.all_gather(parts, padded)
        whole = own.new_empty(rows, *own.shape[1:])
        for rank, part in enumerate(parts):
            whole[rank :: share.processes] = part[: Share(rank, share.processes).count(rows)]
        return whole

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        """Of the own rows; zero for a row that counts nothing."""
        share: Share = context.share
        own = gradient.new_zeros(context.shape)
        mine = gradient[share.rank :: share.processes]
        own[: len(mine)] = mine * share.processes
        return own, None, None
