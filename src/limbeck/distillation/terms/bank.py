"""A bank with a vector of every training row, of student and teacher, from which contrastive losses draw others."""

from typing import Any

import torch
from torch import Tensor, nn

from limbeck.distillation.losses.features import agreements
from limbeck.distillation.losses.parts import unit_vectors
from limbeck.errors import StudentError


class NothingToDraw(StudentError):
    """Every row of a class has all other rows in its own class."""

    def __init__(self, *, rows: int) -> None:
        super().__init__(
            "crd draws rows of other classes, and there are none",
            found=f"training rows: {rows:,}, all of one class",
            advice='Set its negatives_of = "all".',
        )


class Bank(nn.Module):
    """Vectors of all rows, by the place of a row's id among all ids in sorted order: the order of rows does not matter.

    It belongs to the state of a training, as weights do: a checkpoint has the vectors and both constants Z.
    """

    student: Tensor  # (bank rows, width)
    teacher: Tensor
    constants: Tensor  # (2): Z of the student's vectors among the teacher's, and the reverse; 0 before the first batch
    order: Tensor  # (bank rows): all rows, group by group
    starts: Tensor  # (bank rows): where the group of a row begins in that order
    sizes: Tensor  # (bank rows): how many rows its group has
    draws: Tensor  # one number: what the next draw is seeded with, the same in all processes that train together

    def __init__(self, groups: Tensor, *, width: int, momentum: float) -> None:
        super().__init__()
        self._momentum = momentum
        limit = (3 / width) ** 0.5
        for name in ("student", "teacher"):
            self.register_buffer(name, torch.empty(len(groups), width).uniform_(-limit, limit))
        self.register_buffer("constants", torch.zeros(2))
        self.register_buffer("draws", torch.randint(2**62, ()))
        order, places, counts = _in_groups(groups.cpu())
        if len(groups) and int(counts.max()) == len(groups):
            raise NothingToDraw(rows=len(groups))
        self.register_buffer("order", order, persistent=False)
        self.register_buffer("starts", (counts.cumsum(0) - counts)[places], persistent=False)
        self.register_buffer("sizes", counts[places], persistent=False)

    def __len__(self) -> int:
        return len(self.order)

    def draw(self, numbers: Tensor, *, count: int) -> Tensor:
        """(rows, count): rows of other groups than each of these, all equally likely, some of them more than once."""
        sizes, starts = self.sizes[numbers][:, None], self.starts[numbers][:, None]
        others = len(self) - sizes
        dice = torch.Generator(numbers.device).manual_seed(int(self.draws))
        self.draws += 1
        drawn = torch.randint(2**62, (len(numbers), count), generator=dice, device=numbers.device) % others
        return self.order[drawn + sizes * (drawn >= starts)]

    def densities(self, student: Tensor, teacher: Tensor, chosen: Tensor, *, temperature: float) -> list[Tensor]:
        """(rows, chosen), twice: of the student's vectors among the teacher's, and the reverse. The first call fixes
        the constants Z."""
        found = [
            agreements(vectors, bank.clone(), chosen, temperature=temperature)  # it changes before the gradient is read
            for vectors, bank in ((student, self.teacher), (teacher, self.student))
        ]
        first = torch.stack([side.detach().mean() for side in found]).float() * len(self)
        self.constants.copy_(torch.where(self.constants > 0, self.constants, first))
        return [side / constant for side, constant in zip(found, self.constants.clone(), strict=True)]

    @torch.no_grad()
    def move(self, numbers: Tensor, *, student: Tensor, teacher: Tensor) -> None:
        """Move the vectors of these rows towards the new ones; they have unit length afterwards."""
        for bank, new in ((self.student, student), (self.teacher, teacher)):
            mixed = self._momentum * bank[numbers] + (1 - self._momentum) * new.float()
            bank.index_copy_(0, numbers, unit_vectors(mixed))


def _in_groups(groups: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """All rows in the order of their groups, the place of each row's group, and the size of every group."""
    _, places, counts = (part.long() for part in _distinct(groups))
    return places.argsort(stable=True), places, counts


def _distinct(groups: Tensor) -> Any:
    return torch.unique(groups, return_inverse=True, return_counts=True)
