"""Whether the cells of a column hold several labels each: names that come again and again in ever other company."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import chain

from limbeck.corpus.labelled import LabelSet, as_label_set

SEPARATORS = ("|", ";", ",")
OTHER_SEPARATORS = (",", ";", "|", "/")  # where it is known that a row may have several labels
MOST_NAMES = 200  # of the labels of a corpus, or a tenth of its rows
LONGEST_LABEL = 40  # mean characters of a label
LEAST_SHARE = 0.01  # of the rows in which the separator stands


def find_separator(cells: Sequence[str], *, most: int, separators: Sequence[str] = SEPARATORS) -> str | None:
    """The separator that cuts the cells into at most `most` names which recur, or None.

    Names recur if there are fewer of them than there are different sets of them, and half of them or more stand in
    two different sets: "food|price", "food", "price" hold names, "yes, always", "no, never" do not.
    """
    times = Counter(cells)
    return next((separator for separator in separators if _cuts(times, separator, most=most)), None)


def find_other_separator(labels: Sequence[LabelSet]) -> str | None:
    """The separator that the cells seem to have, if the recipe's leaves (nearly) every row with one label at most."""
    uncut = [whole[0] if whole else "" for whole in labels if len(whole) < 2]
    if len(labels) - len(uncut) > LEAST_SHARE * len(labels):
        return None
    return find_separator(uncut, most=max(MOST_NAMES, len(labels) // 10), separators=OTHER_SEPARATORS)


def are_label_lists(lists: Sequence[tuple[str, ...]], *, most: int) -> bool:
    """Whether lists of values are labels: few values that recur, and not a 0 or 1 for each class."""
    counts = Counter(chain.from_iterable(lists))
    has_repeats = any(len(set(values)) < len(values) for values in lists)
    if not 2 <= len(counts) <= most or (has_repeats and set(counts) <= {"0", "1"}):
        return False
    return _are_short(counts) and counts.total() >= 2 * len(counts)


def _cuts(times: Counter[str], separator: str, *, most: int) -> bool:
    names: set[str] = set()
    sets: set[LabelSet] = set()
    for cell in times:
        sets.add(labels := as_label_set(cell.split(separator)))
        names.update(labels)
        if len(names) > most:  # soon so in a column of texts
            return False
    cut = [cell for cell in times if separator in cell]
    if sum(times[cell] for cell in cut) < max(1, LEAST_SHARE * times.total()):
        return False
    if separator == "," and _are_decimals(cut, names):
        return False
    return _recur(names, sets - {()}) and _are_short(names)


def _recur(names: Collection[str], sets: Collection[LabelSet]) -> bool:
    company = Counter(chain.from_iterable(sets))
    return 2 <= len(names) < len(sets) and 2 * sum(count > 1 for count in company.values()) >= len(names)


def _are_decimals(cut: Iterable[str], names: Iterable[str]) -> bool:
    """Whether the comma may be a decimal one: 1,5."""
    return all(name.isdecimal() for name in names) and all(cell.count(",") == 1 for cell in cut)


def _are_short(names: Collection[str]) -> bool:
    return sum(map(len, names)) <= LONGEST_LABEL * len(names)
