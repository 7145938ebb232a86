"""The classes: which there are, in which order, and by which names."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Classes:
    """Names in class order, the class of every raw label, and what of `label_names` did not fit the data."""

    names: list[str]
    class_of: dict[str, int]
    unused_names: list[str]  # keys of label_names that no row carries
    unnamed: list[str]  # raw labels that label_names leaves as they are


def name_classes(raw: Iterable[str], *, label_names: Mapping[str, str], order: Sequence[str] = ()) -> Classes:
    """The classes of the labels found in train.

    Classes stand in the order of `order` where the source has one (a hub data set's class names), else by number
    if all labels are whole numbers, else by the alphabet. Raw labels with the same name become one class.
    """
    ordered = _ordered(set(raw), order=order)
    names = list(dict.fromkeys(label_names.get(label, label) for label in ordered))
    return Classes(
        names=names,
        class_of={label: names.index(label_names.get(label, label)) for label in ordered},
        unused_names=[key for key in label_names if key not in ordered],
        unnamed=[label for label in ordered if label_names and label not in label_names],
    )


def _ordered(raw: set[str], *, order: Sequence[str]) -> list[str]:
    if order:
        place = {label: position for position, label in enumerate(order)}
        return sorted(raw, key=lambda label: (place.get(label, len(place)), label))
    if all(_is_integer(label) for label in raw):
        return sorted(raw, key=lambda label: (int(label), label))
    return sorted(raw)


def _is_integer(label: str) -> bool:
    return label.removeprefix("-").isdecimal()
