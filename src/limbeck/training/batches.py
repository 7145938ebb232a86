"""Which rows form a batch: similar lengths, so that there is little padding, or any; the order depends on a seed."""

from collections.abc import Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

BATCHES_PER_POOL = 50  # rows are sorted by length only within such pools, so that the order stays random enough


def length_batches(
    lengths: npt.NDArray[np.int64], *, batch_size: int, seed: int, epoch: int
) -> list[npt.NDArray[np.int64]]:
    """Row positions of every batch of an epoch. Every row is in exactly one batch; the last batch may be smaller."""
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(lengths))
    pool_size = batch_size * BATCHES_PER_POOL
    batches = []
    for start in range(0, len(order), pool_size):
        pool = order[start : start + pool_size]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        batches += [pool[first : first + batch_size] for first in range(0, len(pool), batch_size)]
    return [batches[position] for position in random.permutation(len(batches))]


def mixed_batches(rows: int, *, batch_size: int, seed: int, epoch: int) -> list[npt.NDArray[np.int64]]:
    """Row positions of every batch of an epoch, drawn at random whatever their lengths; the last batch may be smaller.

    A loss that compares the rows of a batch with each other then sees all kinds of rows; padding costs more time.
    """
    order = np.random.default_rng([seed, epoch]).permutation(rows)
    return [order[first : first + batch_size] for first in range(0, rows, batch_size)]


def token_budget_batches(lengths: npt.NDArray[np.int64], *, tokens_per_batch: int) -> list[npt.NDArray[np.int64]]:
    """All rows sorted by length, longest first, cut so that rows × longest row stays within the budget."""
    order = np.argsort(-lengths, kind="stable")
    batches, start = [], 0
    while start < len(order):
        longest = max(int(lengths[order[start]]), 1)
        size = max(tokens_per_batch // longest, 1)
        batches.append(order[start : start + size])
        start += size
    return batches


Item = TypeVar("Item")
END: Any = object()


def prefetched(items: Iterable[Item]) -> Generator[Item, None, None]:
    """The items in their order. While one is in use, a thread makes the next one, and no more.

    An exception from making an item is raised in the place of that item. If the iterator may be left early, close it:
    this waits for the thread, which ends after its current item.
    """
    source = iter(items)
    with ThreadPoolExecutor(1, thread_name_prefix="prefetch") as thread:
        pending = thread.submit(next, source, END)
        while (item := pending.result()) is not END:
            pending = thread.submit(next, source, END)
            yield item
