"""Proposing pairs by the bands of MinHash signatures."""

import sys

import numpy as np
import pytest

from limbeck.errors import DependencyMissing
from limbeck.transfer import near_duplicates
from limbeck.transfer.near_duplicates import Bands, Entries, proposed_among, select_entries
from limbeck.transfer.shingles import Shingles


def similar_pairs(similarity: float, *, count: int, size: int = 40, seed: int = 0) -> tuple[Shingles, Shingles]:
    """Sets of `size` numbers in pairs of this similarity."""
    draw = np.random.default_rng(seed)
    shared = round(2 * size * similarity / (1 + similarity))
    numbers = draw.choice(2**32, size=(count, 2 * size - shared), replace=True).astype(np.uint32)
    counts = np.full(count, size)
    first, second = numbers[:, :size], numbers[:, -size:]
    return Shingles(np.sort(first).ravel(), counts), Shingles(np.sort(second).ravel(), counts)


@pytest.mark.parametrize("threshold", [0.5, 0.7, 0.8, 0.9, 0.95])
def test_nearly_all_pairs_at_the_threshold_are_proposed_and_few_others(threshold: float) -> None:
    known = Bands(threshold)
    first, second = similar_pairs(threshold, count=2_000)
    _, distant = similar_pairs(0.05, count=2_000, seed=1)
    known.add(known.entries(first), first=0)

    positions, numbers = known.proposed(known.entries(second))
    wrong = known.proposed(known.entries(distant))

    assert (positions == numbers).sum() > 0.93 * 2_000
    assert len(wrong[0]) < 0.05 * 2_000


def entries(*bands_of_texts: list[int]) -> Entries:
    keys = np.array(bands_of_texts, dtype=np.uint64)
    return np.sort((keys << np.uint64(32) | np.arange(len(keys), dtype=np.uint64)[:, None]).ravel())


def test_texts_are_found_by_any_band_whatever_the_number_of_blocks() -> None:
    known = Bands(0.8)
    for start in range(0, 70, 7):
        known.add(entries(*([100 + number, 200 + number] for number in range(start, start + 7))), first=start)

    positions, numbers = known.proposed(entries([100, 269], [7, 7], [133, 233]))

    assert list(zip(positions.tolist(), numbers.tolist(), strict=True)) == [(0, 0), (0, 69), (2, 33)]


def test_nothing_is_proposed_while_nothing_is_known() -> None:
    assert [part.tolist() for part in Bands(0.8).proposed(entries([1, 2]))] == [[], []]


def test_texts_of_one_block_are_proposed_with_those_before_them() -> None:
    later, earlier = proposed_among(entries([1, 2], [3, 4], [1, 4], [5, 6]))

    assert list(zip(later.tolist(), earlier.tolist(), strict=True)) == [(2, 0), (2, 1)]


def test_of_many_with_the_same_band_the_first_are_proposed() -> None:
    known = Bands(0.8)
    known.add(entries(*([1, number] for number in range(1_000, 1_100))), first=0)

    _, numbers = known.proposed(entries([1, 2]))

    assert numbers.tolist() == list(range(near_duplicates.MOST_PROPOSED))


def test_selected_entries_have_their_new_positions() -> None:
    some = select_entries(entries([1, 2], [3, 4], [5, 6]), np.array([True, False, True]))

    assert some.tolist() == entries([1, 2], [5, 6]).tolist()


def test_without_rensa_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rensa", None)

    with pytest.raises(DependencyMissing) as caught:
        Bands(0.8).entries(similar_pairs(0.5, count=1)[0])

    assert (caught.value.package, caught.value.extra) == ("rensa", "train")
