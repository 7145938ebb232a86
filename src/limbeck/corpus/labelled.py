"""Labelled rows as read from a file: columns of equal length, labels not yet mapped to classes."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from limbeck.artifacts.rows import FIRST_UNKNOWN, Rows, content_key, folded_key
from limbeck.tables.label_cells import Label, LabelSet, as_label_set


@dataclass(frozen=True)
class Classes:
    """Names in class order, the class of every raw label, and where `label_names` does not match the data."""

    names: list[str]
    class_of: dict[str, int]
    unused_names: list[str]  # keys of label_names that no row has
    unnamed: list[str]  # raw labels that label_names does not rename, unless it only joins labels


def name_classes(raw: Iterable[str], *, label_names: Mapping[str, str], order: Sequence[str] = ()) -> Classes:
    """The classes of the labels found in train.

    Classes are in the order of `order` if the source has one (a hub data set's class names), else by number if all
    labels are integers, else alphabetical. Raw labels with the same name become one class.
    """
    ordered = _ordered(set(raw), order=order)
    names = list(dict.fromkeys(label_names.get(label, label) for label in ordered))
    only_joins = label_names and set(label_names.values()) <= set(ordered)
    return Classes(
        names=names,
        class_of={label: names.index(label_names.get(label, label)) for label in ordered},
        unused_names=[key for key in label_names if key not in ordered],
        unnamed=[] if only_joins else [label for label in ordered if label_names and label not in label_names],
    )


def _ordered(raw: set[str], *, order: Sequence[str]) -> list[str]:
    if order:
        place = {label: position for position, label in enumerate(order)}
        return sorted(raw, key=lambda label: (place.get(label, len(place)), label))
    if all(_is_integer(label) for label in raw):
        return sorted(raw, key=lambda label: (int(label), label))
    return sorted(raw)


MOST_DIGITS = 1_000  # of a label that is read as a number: Python reads up to 4,300


def _is_integer(label: str) -> bool:
    return label.removeprefix("-").isdecimal() and len(label) <= MOST_DIGITS


RowValues = tuple[str, *tuple[str, ...], Label]  # (text, label) or (text, pair, label)


@dataclass(frozen=True)
class LabelledRows:
    """Rows of one split with raw labels.

    Each row has a set of labels, with exactly one label unless a row may have several.
    """

    ids: list[str]
    texts: list[str]
    pairs: list[str] | None
    labels: list[LabelSet]

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def exact_keys(self) -> list[bytes]:
        """For every row the hash of its exact texts."""
        return [content_key(text, pair) for text, pair in zip(self.texts, self._pairs(), strict=True)]

    @cached_property
    def folded_keys(self) -> list[bytes]:
        """For every row the hash of its texts, ignoring case, white space and width."""
        return [folded_key(text, pair) for text, pair in zip(self.texts, self._pairs(), strict=True)]

    @cached_property
    def label_counts(self) -> Counter[str]:
        """The number of rows with each label; a row with several counts for each."""
        return Counter(chain.from_iterable(self.labels))

    @property
    def empty_count(self) -> int:
        """The number of rows whose text or second text is empty."""
        return sum(not text or pair == "" for text, pair in zip(self.texts, self._pairs(), strict=True))

    def select(self, positions: Iterable[int]) -> "LabelledRows":
        """The rows at these positions, in this order."""
        chosen = list(positions)
        return LabelledRows(
            ids=[self.ids[at] for at in chosen],
            texts=[self.texts[at] for at in chosen],
            pairs=None if self.pairs is None else [self.pairs[at] for at in chosen],
            labels=[self.labels[at] for at in chosen],
        )

    def as_rows(self, classes: Classes, *, is_multi_label: bool, unknown: Sequence[str] = ()) -> Rows:
        """The rows for an artifact, labelled with class numbers, or with 0 and 1 for every class.

        The labels `unknown`, which are no classes, are numbered from FIRST_UNKNOWN down.
        """
        number_of = {label: FIRST_UNKNOWN - at for at, label in enumerate(unknown)} | classes.class_of
        numbers = [[number_of[label] for label in labels] for labels in self.labels]
        if not is_multi_label:
            return Rows.of(ids=self.ids, texts=self.texts, pairs=self.pairs, labels=[number for (number,) in numbers])
        marks = np.zeros((len(self), len(classes.names)), dtype=np.int8)  # (rows, classes)
        for at, present in enumerate(numbers):
            marks[at, present] = 1
        return Rows.of(ids=self.ids, texts=self.texts, pairs=self.pairs, labels=marks)

    def unlabelled(self) -> Rows:
        """The rows for an artifact, without their labels."""
        return Rows.of(ids=self.ids, texts=self.texts, pairs=self.pairs)

    @classmethod
    def joined(cls, parts: Sequence["LabelledRows"]) -> "LabelledRows":
        """All rows of several parts of the same file or data set; there is at least one part."""
        return cls(
            ids=[row_id for part in parts for row_id in part.ids],
            texts=[text for part in parts for text in part.texts],
            pairs=None if parts[0].pairs is None else [pair for part in parts for pair in part.pairs or ()],
            labels=[labels for part in parts for labels in part.labels],
        )

    def _pairs(self) -> Sequence[str | None]:
        return [None] * len(self) if self.pairs is None else self.pairs


def labelled_rows(values: Iterable[RowValues | None], *, split: str, is_pair: bool) -> LabelledRows:
    """Rows from (text, label) or (text, pair, label); white space around texts is dropped. None is a dropped row.

    Ids are the split and the row's position among the rows of its source, from 0, dropped ones included. A row keeps
    its id if it moves to another split.
    """
    ids: list[str] = []
    texts: list[str] = []
    pairs: list[str] = []
    labels: list[LabelSet] = []
    kept: dict[LabelSet, LabelSet] = {}  # one object for all rows with the same labels
    for at, row in enumerate(values):
        if row is None:
            continue
        text, *pair, label = row
        ids.append(f"{split}-{at}")
        texts.append(text.strip())
        pairs.extend(second.strip() for second in pair)
        label_set = (label,) if isinstance(label, str) else label
        labels.append(kept.setdefault(label_set, label_set))
    return LabelledRows(ids=ids, texts=texts, pairs=pairs if is_pair else None, labels=labels)


SEPARATORS = ("|", ";", ",")
OTHER_SEPARATORS = (",", ";", "|", "/")  # if it is known that a row may have several labels
MOST_NAMES = 200  # distinct labels of a corpus; or a tenth of its rows, if that is more
LONGEST_LABEL = 40  # mean characters of a label
LEAST_SHARE = 0.01  # of the rows contain the separator


def find_separator(cells: Sequence[str], *, most: int, separators: Sequence[str] = SEPARATORS) -> str | None:
    """The separator that splits the cells into at most `most` recurring names, or None.

    Names recur if there are fewer distinct names than distinct sets of names, and at least half of the names appear in
    two different sets: "food|price", "food", "price" hold names, "yes, always", "no, never" do not.
    """
    times = Counter(cells)
    return next((separator for separator in separators if _cuts(times, separator, most=most)), None)


def find_other_separator(labels: Sequence[LabelSet]) -> str | None:
    """The separator that the cells seem to have, if with the recipe's nearly every row has at most one label."""
    uncut = [label_set[0] if label_set else "" for label_set in labels if len(label_set) < 2]
    if len(labels) - len(uncut) > LEAST_SHARE * len(labels):
        return None
    return find_separator(uncut, most=max(MOST_NAMES, len(labels) // 10), separators=OTHER_SEPARATORS)


def are_label_lists(lists: Sequence[tuple[str, ...]], *, most: int) -> bool:
    """Whether lists of values are labels: few distinct values that recur, and not a 0 or 1 for each class."""
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
        if len(names) > most:  # reached early in a column of texts
            return False
    cut = [cell for cell in times if separator in cell]
    if sum(times[cell] for cell in cut) < max(1, LEAST_SHARE * times.total()):
        return False
    if separator == "," and _are_decimals(cut, names):
        return False
    return _recur(names, sets - {()}) and _are_short(names)


def _recur(names: Collection[str], sets: Collection[LabelSet]) -> bool:
    sets_with = Counter(chain.from_iterable(sets))
    return 2 <= len(names) < len(sets) and 2 * sum(count > 1 for count in sets_with.values()) >= len(names)


def _are_decimals(cut: Iterable[str], names: Iterable[str]) -> bool:
    """Whether the comma may be a decimal comma: 1,5."""
    return all(name.isdecimal() for name in names) and all(cell.count(",") == 1 for cell in cut)


def _are_short(names: Collection[str]) -> bool:
    return sum(map(len, names)) <= LONGEST_LABEL * len(names)
