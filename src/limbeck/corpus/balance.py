"""How even the classes are, and how their labels were told apart: the lines that a person sees about it."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from limbeck.errors import DataError, did_you_mean, some

UNEVEN = 10  # times as many rows of the most frequent class as of the rarest


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


def rarest_and_most_frequent(rows_per_class: Mapping[str, int]) -> tuple[str, str] | None:
    """The two, if the rarest of the classes that have rows has less than a tenth of the other's; else None."""
    present = {name: count for name, count in rows_per_class.items() if count}
    if not present:
        return None
    rarest, most = min(present, key=lambda name: present[name]), max(present, key=lambda name: present[name])
    return (rarest, most) if present[rarest] * UNEVEN < present[most] else None


def balance_lines(facts: Mapping[str, Any]) -> list[str]:
    """What there is to say of the training rows of each class, from the facts of the corpus."""
    counts, rows = facts["rows_per_label"]["train"], facts["rows"]["train"]
    lines = []
    if nowhere := [name for name, count in counts.items() if not count]:
        lines.append(f"  no training row has {_names(nowhere)}; still classes, as they have columns")
    if facts["multi_label"]:
        lines += _set_lines(facts, everywhere=[name for name, count in counts.items() if count == rows])
    if ties := facts["rows_with_equal_values"]:
        lines.append(f"  in {ties:,} rows several classes share the largest value; the first of them is the label")
    if facts["class_weights"] is None and (uneven := rarest_and_most_frequent(counts)):
        lines.append(
            f"  classes are uneven, from {_with_rows(uneven[0], counts)} to {_with_rows(uneven[1], counts)}; "
            'class_weights = "balanced" in [corpus] makes rare ones count more'
        )
    return lines


def _set_lines(facts: Mapping[str, Any], *, everywhere: list[str]) -> list[str]:
    lines = []
    if everywhere:
        lines.append(f"  every training row has {_names(everywhere)}: there is nothing to tell apart")
    if without := facts["rows_without_label"]["train"]:
        lines.append(f"  {without:,} training rows have no label")
    if capped := facts["class_weights_capped"]:
        lines.append(f"  the weight of {_names(capped)} is held at {LARGEST_WEIGHT:g}: so few training rows have it")
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
