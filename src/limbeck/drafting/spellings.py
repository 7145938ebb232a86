"""Labels that are written in several ways, "Refund", "refund", "REFUND": one class, by its most frequent spelling."""

from collections import defaultdict
from collections.abc import Mapping

from limbeck.text.folding import folded


def names_of_spellings(counts: Mapping[str, int]) -> dict[str, str]:
    """For every rarer spelling of a label its most frequent one: they differ in case, width and white space alone."""
    groups: dict[str, list[str]] = defaultdict(list)
    for label in counts:
        groups[folded(label)].append(label)
    names: dict[str, str] = {}
    for spellings in groups.values():
        usual = max(spellings, key=lambda label: counts[label])
        names |= {label: usual for label in spellings if label != usual}
    return names
