"""The value of a scheduled number of the recipe at a given point of the training."""

import math
from typing import assert_never

from limbeck.recipe.schedule import Schedule


def value_at(schedule: float | Schedule, progress: float) -> float:
    """The value when `progress` of the training is done, from 0 at its first step to 1 at its end.

        done = progress / share, at most 1
        linear, warm_up:  start + (end - start) · done
        cosine:           start + (end - start) · (1 - cos(π · done)) / 2

    A plain number is constant.
    """
    if not isinstance(schedule, Schedule):
        return float(schedule)
    done = min(max(progress, 0.0) / schedule.share, 1.0)
    match schedule.kind:
        case "linear" | "warm_up":
            weight = done
        case "cosine":
            weight = (1 - math.cos(math.pi * done)) / 2
        case _:
            assert_never(schedule.kind)
    # A weighted sum and not start + (end - start) · weight: rounding would miss `end`.
    return schedule.start * (1 - weight) + schedule.end * weight
