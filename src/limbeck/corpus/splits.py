"""Cutting dev and test off train, and choosing a subset of train: seeded and stratified by class.

Rows are taken in the order of blake2b over the seed and the row's id, so that the same rows are chosen on every
machine and with every version of every library.

If a row may have several labels, a stratum is a set of labels, provided that its share of the rows to take is one row
or more; rows of rarer sets are grouped by their rarest label. That is iterative stratification in its simplest form
(Sechidis et al. 2011: the rarest label first), in a single pass.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from limbeck.artifacts.rows import draw_order
from limbeck.corpus.labelled import LabelledRows
from limbeck.errors import TooFewRows
from limbeck.tables.label_cells import LabelSet

SPLIT_WORDS = {  # as people and data sets write them, without case and signs
    "train": ("train", "training", "trn"),
    "dev": ("dev", "development", "valid", "validation", "validate", "val", "eval"),
    "test": ("test", "testing", "tst", "holdout"),
}


def split_named(word: str) -> str | None:
    """The split that a cell names: "Training" is "train"; None if it names none."""
    letters = "".join(character for character in word.casefold() if character.isalpha())
    return next((split for split, words in SPLIT_WORDS.items() if letters in words), None)


def cut_off(rows: LabelledRows, *, count: int, seed: int, name: str) -> tuple[list[int], list[int]]:
    """Positions that stay and about `count` positions that are cut off to the split `name`, both in file order.

    Rows with the same text stay together, otherwise the new split would overlap with train. Every class keeps at least
    one row in train. Raises TooFewRows if that leaves too few rows to cut.
    """
    classes = len(rows.label_counts)
    what = f"train, with {count:,} rows cut off as {name} and all {classes:,} classes kept in train"
    most_labels = max(map(len, rows.labels), default=0)
    fewest = -(-classes // max(1, most_labels))  # rows needed to hold all classes
    if len(rows) < fewest + count:
        raise TooFewRows(what=what, rows=len(rows), needed=fewest + count)
    cut = _take_groups(rows, _groups_in_order(rows, seed=seed), strata=_strata(rows, wanted=count), wanted=count)
    if not cut:
        raise TooFewRows(what=f"{what} (rows with the same text stay together)", rows=len(rows), needed=len(rows) + 1)
    return [at for at in range(len(rows)) if at not in cut], sorted(cut)


def choose_rows(rows: LabelledRows, *, count: int, seed: int) -> list[int]:
    """Positions of `count` rows in file order, stratified by class, each class with at least one row."""
    if count >= len(rows):
        return list(range(len(rows)))
    ranked = sorted(range(len(rows)), key=lambda at: draw_order(seed, rows.ids[at]))
    needed = _one_of_each(rows, ranked)
    if count < len(needed):
        raise TooFewRows(what=f"max_rows with {len(rows.label_counts):,} classes", rows=count, needed=len(needed))
    strata = _strata(rows, wanted=count)
    quotas = _quotas(Counter(strata), count, at_least=Counter(strata[at] for at in needed))
    missing = Counter(quotas)
    missing.subtract(strata[at] for at in needed)
    chosen = set(needed)
    for at in ranked:
        if at not in chosen and missing[strata[at]] > 0:
            missing[strata[at]] -= 1
            chosen.add(at)
    return sorted(chosen)


def _strata(rows: LabelledRows, *, wanted: int) -> list[LabelSet]:
    """The stratum of every row: its set of labels, or only the rarest label if the set is rare."""
    counts, set_counts = rows.label_counts, Counter(rows.labels)

    def stratum(labels: LabelSet) -> LabelSet:
        is_rare = set_counts[labels] * wanted < len(rows)
        return (min(labels, key=lambda label: (counts[label], label)),) if labels and is_rare else labels

    strata = {labels: stratum(labels) for labels in set_counts}
    return [strata[labels] for labels in rows.labels]


def _one_of_each(rows: LabelledRows, ranked: Iterable[int]) -> list[int]:
    """A small set of rows with every class: for each, rarest first, the first row drawn, unless one taken has it."""
    first: dict[str, int] = {}
    for at in ranked:
        for label in rows.labels[at]:
            first.setdefault(label, at)
    taken: dict[int, None] = {}
    covered: set[str] = set()
    for label in sorted(first, key=lambda label: (rows.label_counts[label], label)):
        if label not in covered:
            taken[first[label]] = None
            covered.update(rows.labels[first[label]])
    return list(taken)


def _quotas(
    counts: Mapping[LabelSet, int], wanted: int, *, at_least: Mapping[LabelSet, int] | None = None
) -> dict[LabelSet, int]:
    """Shares of `wanted` in proportion to the counts, rounded by largest remainder.

    Where `at_least` asks for more, it is taken from the strata with the largest shares.
    """
    total = sum(counts.values())
    quotas = {stratum: count * wanted // total for stratum, count in counts.items()}
    by_remainder = sorted(counts, key=lambda stratum: (-(counts[stratum] * wanted % total), stratum))
    for stratum in by_remainder[: wanted - sum(quotas.values())]:
        quotas[stratum] += 1
    least = Counter(at_least or {})
    quotas = {stratum: max(quota, least[stratum]) for stratum, quota in quotas.items()}
    for _ in range(sum(quotas.values()) - wanted):
        can_give = [stratum for stratum, quota in quotas.items() if quota > least[stratum]]
        quotas[max(can_give, key=lambda stratum: (quotas[stratum], stratum))] -= 1
    return quotas


def _groups_in_order(rows: LabelledRows, *, seed: int) -> list[list[int]]:
    """Positions of rows with the same text, in the order in which they are drawn."""
    groups: dict[bytes, list[int]] = {}
    for at, key in enumerate(rows.folded_keys):
        groups.setdefault(key, []).append(at)
    return sorted(groups.values(), key=lambda group: draw_order(seed, rows.ids[group[0]]))


def _take_groups(
    rows: LabelledRows, groups: Iterable[Sequence[int]], *, strata: Sequence[LabelSet], wanted: int
) -> set[int]:
    left, missing = Counter(rows.label_counts), Counter(_quotas(Counter(strata), wanted))
    cut: set[int] = set()
    for group in groups:
        sizes = Counter(label for at in group for label in rows.labels[at])
        # A group of several rows may exceed its quota; single rows never do.
        fits = missing[strata[group[0]]] >= 1 and all(left[label] > size for label, size in sizes.items())
        if fits:
            left -= sizes
            missing.subtract(strata[at] for at in group)
            cut.update(group)
    return cut
