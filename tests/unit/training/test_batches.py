"""Which rows go together in a step."""

import numpy as np

from limbeck.training.batches import length_batches, mixed_batches, token_budget_batches

LENGTHS = np.random.default_rng(3).integers(1, 60, size=1003)


def test_every_row_is_in_exactly_one_batch_the_last_partial_one_included() -> None:
    batches = length_batches(LENGTHS, batch_size=16, seed=0, epoch=0)

    assert sorted(np.concatenate(batches).tolist()) == list(range(len(LENGTHS)))
    assert max(len(batch) for batch in batches) == 16


def test_the_same_seed_and_epoch_give_the_same_order_and_another_epoch_does_not() -> None:
    first = length_batches(LENGTHS, batch_size=16, seed=5, epoch=1)
    again = length_batches(LENGTHS, batch_size=16, seed=5, epoch=1)
    later = length_batches(LENGTHS, batch_size=16, seed=5, epoch=2)
    other = length_batches(LENGTHS, batch_size=16, seed=6, epoch=1)

    assert all(np.array_equal(one, two) for one, two in zip(first, again, strict=True))
    assert not np.array_equal(np.concatenate(first), np.concatenate(later))
    assert not np.array_equal(np.concatenate(first), np.concatenate(other))


def test_rows_of_a_batch_are_alike_in_length() -> None:
    batches = length_batches(LENGTHS, batch_size=16, seed=0, epoch=0)

    padded = sum(len(batch) * LENGTHS[batch].max() for batch in batches)

    assert padded < 1.15 * LENGTHS.sum()


def test_a_token_budget_is_kept_and_every_row_is_asked_once() -> None:
    batches = token_budget_batches(LENGTHS, tokens_per_batch=256)

    assert sorted(np.concatenate(batches).tolist()) == list(range(len(LENGTHS)))
    assert all(len(batch) * LENGTHS[batch].max() <= 256 for batch in batches)


def test_a_row_longer_than_the_budget_gets_a_batch_of_its_own() -> None:
    batches = token_budget_batches(np.array([5, 900, 3]), tokens_per_batch=100)

    assert [batch.tolist() for batch in batches] == [[1], [0, 2]]


def test_mixed_batches_have_every_row_once_in_another_order_each_epoch() -> None:
    first, second = (mixed_batches(10, batch_size=4, seed=0, epoch=epoch) for epoch in (0, 1))

    assert [len(batch) for batch in first] == [4, 4, 2]
    assert sorted(np.concatenate(first).tolist()) == list(range(10))
    assert np.concatenate(first).tolist() != np.concatenate(second).tolist()
    again = mixed_batches(10, batch_size=4, seed=0, epoch=0)
    assert np.concatenate(first).tolist() == np.concatenate(again).tolist()
