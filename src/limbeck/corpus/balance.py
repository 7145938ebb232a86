"""Class balance: what is reported about it, and the weight of each class in the loss."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from limbeck.artifacts.corpus import rarest_and_most_frequent
from limbeck.errors import DataError, did_you_mean, some


class WeightedClassUnknown(DataError):
    """`class_weights` gives a weight to a class that the corpus does not have."""

    def __init__(self, *, unknown: Sequence[str], classes: Sequence[str]) -> None:
        self.unknown, self.classes = tuple(unknown), tuple(classes)
        names = some([repr(name) for name in unknown])
        super().__init__(
            f"class_weights names classes that the corpus does not have: {names}{did_you_mean(unknown[0], classes)}",
            found=f"the classes: {some([repr(name) for name in classes], most=12)}",
            advice="Use the names of the classes; where label_names gives a name, that one.",
        )


def balance_lines(facts: Mapping[str, Any]) -> list[str]:
    """The lines to print about the training rows of each class, from the facts of the corpus."""
    counts, rows = facts["rows_per_label"]["train"], facts["rows"]["train"]
    lines = []
    if without_rows := [name for name, count in counts.items() if not count]:
        lines.append(f"  no training row has {_names(without_rows)}; still classes, because they have columns")
    if facts["multi_label"]:
        lines += _multi_label_lines(facts, in_every_row=[name for name, count in counts.items() if count == rows])
    if ties := facts["rows_with_equal_values"]:
        lines.append(f"  in {ties:,} rows several classes have the same largest value; the first of them is the label")
    if facts["class_weights"] is None and (uneven := rarest_and_most_frequent(counts)):
        lines.append(
            f"  classes are uneven, from {_with_rows(uneven[0], counts)} to {_with_rows(uneven[1], counts)}; "
            'class_weights = "balanced" in [corpus] gives rare ones a larger weight'
        )
    return lines


def _multi_label_lines(facts: Mapping[str, Any], *, in_every_row: list[str]) -> list[str]:
    lines = []
    if in_every_row:
        lines.append(f"  every training row has {_names(in_every_row)}: there is nothing to learn about it")
    if without := facts["rows_without_label"]["train"]:
        lines.append(f"  {without:,} training rows have no label")
    if capped := facts["class_weights_capped"]:
        lines.append(
            f"  the weight of {_names(capped)} is capped at {LARGEST_WEIGHT:g}: very few training rows have it"
        )
    return lines


def _names(names: list[str]) -> str:
    return some([f"'{name}'" for name in names])


def _with_rows(name: str, counts: Mapping[str, int]) -> str:
    return f"{name} with {counts[name]:,} training rows"


LARGEST_WEIGHT = 100.0  # of a rare class, where a row may have several labels


def weigh_classes(
    wanted: Literal["none", "balanced"] | Mapping[str, float],
    *,
    rows_per_class: Mapping[str, int],
    rows: int,
    is_multi_label: bool,
) -> list[float] | None:
    """A weight for each class in class order; None: all have the same weight.

    "balanced", one label a row:  n / (k · n_c)     n rows, k classes that have rows, n_c rows of class c
    "balanced", several labels:   (n - n_c) / n_c   weight of a row with the class, relative to one without it

    The first gives all classes the same total weight, and rows a mean weight of 1 (scikit-learn's rule); the second is
    `pos_weight` of PyTorch's BCEWithLogitsLoss, here at most LARGEST_WEIGHT. A class that no row has, or that every row
    has, gets 1.
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
    """A class that every row has would get weight 0, and nothing would be learned about it; it gets 1."""
    return min(LARGEST_WEIGHT, (rows - count) / count) if 0 < count < rows else 1.0
