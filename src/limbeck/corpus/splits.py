"""Cutting dev and test off train, and choosing a part of train: seeded, every class in proportion.

The order in which rows are taken is that of blake2b over the seed and the row's id, so that the same rows are
chosen on every machine and with every version of every library.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

from limbeck.corpus.labelled import LabelledRows
from limbeck.errors import TooFewRows


def draw_order(seed: int, row_id: str) -> bytes:
    """Where a row stands in the seeded random order."""
    return blake2b(f"{seed}:{row_id}".encode(), digest_size=16).digest()


def cut_off(rows: LabelledRows, *, count: int, seed: int, name: str) -> tuple[list[int], list[int]]:
    """Positions that stay and about `count` positions that are cut off to the split `name`, both in file order.

    Rows with the same text go to the same side, else the new split would stand in train from the start. Every
    class keeps a row. Raises TooFewRows where that leaves too little to cut.
    """
    classes = len(rows.label_counts)
    what = f"train, {count:,} rows to be cut off as {name} and all {classes:,} classes to stay in train"
    if len(rows) < classes + count:
        raise TooFewRows(what=what, rows=len(rows), needed=classes + count)
    cut = _take_groups(rows, _groups_in_order(rows, seed=seed), _quotas(rows.label_counts, count))
    if not cut:
        raise TooFewRows(what=f"{what} (equal texts stay together)", rows=len(rows), needed=len(rows) + 1)
    return [at for at in range(len(rows)) if at not in cut], sorted(cut)


def choose_rows(rows: LabelledRows, *, count: int, seed: int) -> list[int]:
    """Positions of `count` rows in file order, every class in proportion and with at least one row."""
    if count >= len(rows):
        return list(range(len(rows)))
    classes = len(rows.label_counts)
    if count < classes:
        raise TooFewRows(what=f"max_rows with {classes:,} classes", rows=count, needed=classes)
    quotas = _quotas(rows.label_counts, count)
    for label in [label for label, quota in quotas.items() if quota == 0]:
        quotas[label] = 1
        quotas[max(quotas, key=lambda other: (quotas[other], other))] -= 1
    members = defaultdict(list)
    for at, label in enumerate(rows.labels):
        members[label].append(at)
    chosen = []
    for label, positions in members.items():
        ranked = sorted(positions, key=lambda at: draw_order(seed, rows.ids[at]))
        chosen += ranked[: quotas[label]]
    return sorted(chosen)


def _quotas(counts: Mapping[str, int], wanted: int) -> dict[str, int]:
    """Shares of `wanted` in proportion to the counts, rounded by largest remainder."""
    total = sum(counts.values())
    quotas = {label: count * wanted // total for label, count in counts.items()}
    by_remainder = sorted(counts, key=lambda label: (-(counts[label] * wanted % total), label))
    for label in by_remainder[: wanted - sum(quotas.values())]:
        quotas[label] += 1
    return quotas


def _groups_in_order(rows: LabelledRows, *, seed: int) -> list[list[int]]:
    """Positions of rows with the same text, in the order in which they are drawn."""
    groups: dict[bytes, list[int]] = {}
    for at, key in enumerate(rows.folded_keys):
        groups.setdefault(key, []).append(at)
    return sorted(groups.values(), key=lambda group: draw_order(seed, rows.ids[group[0]]))


def _take_groups(rows: LabelledRows, groups: Iterable[Sequence[int]], quotas: Mapping[str, int]) -> set[int]:
    left, missing = Counter(rows.label_counts), Counter(quotas)
    cut: set[int] = set()
    for group in groups:
        sizes = Counter(rows.labels[at] for at in group)
        # A group may overshoot a quota by what it holds beyond the first row; single rows never do.
        fits = missing[rows.labels[group[0]]] >= 1 and all(left[label] > size for label, size in sizes.items())
        if fits:
            left -= sizes
            missing.subtract(sizes)
            cut.update(group)
    return cut
