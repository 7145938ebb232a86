"""Magnitude pruning: the smallest weights of every matrix become zero while the student learns, and stay so."""

from typing import Any

import torch
from torch import Tensor, nn

from limbeck.recipe.pruning import Pruning

LEVELS = 20  # to choose the smallest of millions of weights takes longer than a step, so it is done so often
ANY = -1.0  # below every magnitude


def sparsity_at(section: Pruning, done: float) -> float:
    """The share of weights that is zero when `done` of the training is over.

        gradual: s · (1 - (1 - u)³),  u = (done - start) / (end - start), from 0 to 1, in steps of a twentieth
        once:    0 before `start`, then s

    Zhu & Gupta 2017 (arXiv:1710.01878, equation 1, from a sparsity of 0); Han et al. 2015 (arXiv:1506.02626).
    """
    if section.schedule == "once":
        return section.sparsity if done >= section.start else 0.0
    share = min(max((done - section.start) / (section.end - section.start), 0.0), 1.0)
    level = int(share * LEVELS) / LEVELS
    return section.sparsity * (1 - (1 - level) ** 3)


def matrices_of(student: nn.Module) -> dict[str, nn.Parameter]:
    """What is pruned: all weights but biases, norms, and tables of one number a word; shared ones once."""
    return {name: one for name, one in student.named_parameters() if one.ndim > 1 and min(one.shape) > 1}


def share_of_zeros(student: nn.Module) -> float:
    """Of all weights in its matrices."""
    matrices = list(matrices_of(student).values())
    zeros = sum(int((matrix == 0).sum()) for matrix in matrices)
    return zeros / max(sum(matrix.numel() for matrix in matrices), 1)


class Pruner(nn.Module):
    """Which weights are pruned: part of the state of a training, so that a checkpoint has it.

    A pruned weight is never chosen again: optimisers move it, and it becomes zero before it is next used.
    """

    done: Tensor
    reached: Tensor  # the sparsity that was last chosen

    def __init__(self, section: Pruning, student: nn.Module, *, steps: int) -> None:
        super().__init__()
        self._section, self._step = section, 1 / max(steps, 1)
        self._names = list(matrices_of(student))
        self.register_buffer("done", torch.zeros((), dtype=torch.float64))
        self.register_buffer("reached", torch.zeros((), dtype=torch.float64))
        for number, matrix in enumerate(matrices_of(student).values()):
            self.register_buffer(f"kept_{number}", torch.ones(matrix.shape, dtype=torch.bool))

    @property
    def sparsity(self) -> float:
        """The share of each matrix that is pruned so far."""
        return float(self.reached)

    def before_step(self, student: nn.Module, done: float) -> None:
        """Prune to the sparsity of this point of the training."""
        self.done.fill_(done)
        self._prune(student, done)

    def after_step(self, student: nn.Module) -> None:
        """Prune what is to be judged and kept: the step since has moved all weights."""
        self._prune(student, float(self.done) + self._step)

    @torch.no_grad()
    def _prune(self, student: nn.Module, done: float) -> None:
        wanted, matrices = sparsity_at(self._section, done), dict(student.named_parameters())
        is_more = wanted > self.sparsity
        for number, name in enumerate(self._names):
            kept = self.get_buffer(f"kept_{number}")
            if is_more:
                _drop_smallest(matrices[name], kept, share=wanted)
            matrices[name].mul_(kept)
        if is_more:
            self.reached.fill_(wanted)


def _drop_smallest(matrix: Any, kept: Tensor, *, share: float) -> None:
    """Those dropped before are dropped first."""
    sizes = matrix.abs().float().masked_fill(~kept, ANY).flatten()
    dropped = sizes.topk(round(share * len(sizes)), largest=False).indices
    kept.view(-1)[dropped] = False
