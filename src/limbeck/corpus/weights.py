"""How much each class counts wherever labels are learned."""

from collections.abc import Mapping
from typing import Literal

from limbeck.errors import WeightedClassUnknown

LARGEST_WEIGHT = 100.0  # of a rare class, where a row may have several labels


def weigh_classes(
    wanted: Literal["none", "balanced"] | Mapping[str, float],
    *,
    rows_per_class: Mapping[str, int],
    rows: int,
    is_multi_label: bool,
) -> list[float] | None:
    """A weight for each class in class order; None: all count the same.

    "balanced", one label a row:  n / (k · n_c)     n rows, k classes that have rows, n_c rows of class c
    "balanced", several labels:   (n - n_c) / n_c   what a row with the class counts against one without it

    The first makes all classes weigh the same in a mean over rows whose weights have the mean 1 (scikit-learn's rule);
    the second is `pos_weight` of PyTorch's BCEWithLogitsLoss, here at most LARGEST_WEIGHT. A class without rows
    gets 1, and so does one that every row has.
    """
    if wanted == "none":
        return None
    if wanted == "balanced":
        present = sum(count > 0 for count in rows_per_class.values())
        counts = rows_per_class.values()
        return [_positive(count, rows) if is_multi_label else _balanced(count, rows, present) for count in counts]
    unknown = [name for name in wanted if name not in rows_per_class]
    if unknown:
        raise WeightedClassUnknown(unknown=unknown, classes=list(rows_per_class))
    return [wanted.get(name, 1.0) for name in rows_per_class]


def _balanced(count: int, rows: int, classes: int) -> float:
    return rows / (classes * count) if count else 1.0


def _positive(count: int, rows: int) -> float:
    """A weight of 0 would make a class that every row has one that nothing is learned about."""
    return min(LARGEST_WEIGHT, (rows - count) / count) if 0 < count < rows else 1.0
