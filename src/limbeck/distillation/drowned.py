"""Noticing a term of the objective that hardly counts beside another."""

from collections.abc import Mapping, Sequence
from typing import Any

LEAST_SHARE = 0.01  # of the sum of all terms, over the whole training


def drowned_terms(history: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line for each term that makes less than a hundredth of the sum, in the stage where it stands."""
    notes = []
    stages = dict.fromkeys(epoch.get("stage", 1) for epoch in history)
    for stage in stages:
        epochs = [epoch["losses"] for epoch in history if epoch.get("stage", 1) == stage]
        means = {name: sum(abs(losses[name]) for losses in epochs) / len(epochs) for name in epochs[0]}
        total, largest = sum(means.values()), max(means, key=lambda name: means[name])
        notes += [
            f"{name} is {mean / total:.2%} of the loss and {largest} is {means[largest] / total:.0%}: "
            f"raise the weight of {name}, or lower that of {largest}"
            for name, mean in means.items()
            if len(means) > 1 and total > 0 and mean / total < LEAST_SHARE
        ]
    return notes
