"""Similarity by sketches: exact for short texts, close for long ones."""

import numpy as np
import pytest

from limbeck.transfer.near_duplicates import SKETCH, Sketches
from limbeck.transfer.shingles import Shingles


def sketches(*sets: set[int]) -> Sketches:
    hashes = [np.array(sorted(numbers), dtype=np.uint32) for numbers in sets]
    return Sketches.of(Shingles(np.concatenate(hashes), np.array([len(numbers) for numbers in sets])))


def similarity(one: set[int], other: set[int]) -> float:
    numbers = np.array([0])
    return float(sketches(one).similarity(numbers, sketches(other), numbers)[0])


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ({1, 2, 3}, {2, 3, 4}, 0.5),
        ({1, 2}, {1, 2}, 1.0),
        ({1}, {2}, 0.0),
        (set(), {2}, 0.0),
        (set(), set(), 0.0),
        (set(range(100)), set(range(50, 150)), 50 / 150),  # together more than a sketch, but each is complete
    ],
)
def test_similarity_of_short_texts_is_exact(one: set[int], other: set[int], expected: float) -> None:
    assert similarity(one, other) == expected


@pytest.mark.parametrize("shared", [0, 500, 800, 950, 1000])
def test_similarity_of_long_texts_is_close(shared: int) -> None:
    draw = np.random.default_rng(shared)
    numbers = draw.choice(2**32, size=2_000, replace=False).tolist()
    one, other = set(numbers[:1_000]), set(numbers[1_000 - shared : 2_000 - shared])
    expected = shared / (2_000 - shared)

    assert similarity(one, other) == pytest.approx(expected, abs=4 * (expected * (1 - expected) / SKETCH) ** 0.5 + 1e-9)


def test_many_pairs_are_answered_in_their_order() -> None:
    sets = [{number, number + 1, number + 2} for number in range(300)]
    known = Sketches()
    for start in range(0, 300, 100):  # in three blocks
        part = sets[start : start + 100]
        hashes = np.array([number for numbers in part for number in sorted(numbers)], dtype=np.uint32)
        known.add(Shingles(hashes, np.full(100, 3)))

    pairs = np.arange(300).repeat(300), np.tile(np.arange(300), 300)
    found = sketches(*sets).similarity(pairs[0], known, pairs[1]).reshape(300, 300)

    assert len(known) == 300
    distance = np.abs(np.arange(300)[:, None] - np.arange(300)[None, :])
    assert np.array_equal(found, np.select([distance == 0, distance == 1, distance == 2], [1.0, 0.5, 0.2], 0.0))


def test_no_pair_is_more_similar_than_its_sizes_allow() -> None:
    both = sketches(set(range(10)), set(range(8)), set())

    ratio = both.size_ratio(np.array([0, 0, 2]), both, np.array([1, 0, 2]))

    assert ratio.tolist() == [0.8, 1.0, 0.0]
