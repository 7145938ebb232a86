"""Which rows go together in a step: similar lengths, so that little is padded, in an order that a seed fixes."""

from collections.abc import Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

BATCHES_PER_POOL = 50  # rows are sorted by length only within such pools, so that the order stays random enough


def length_batches(
    lengths: npt.NDArray[np.int64], *, batch_size: int, seed: int, epoch: int
) -> list[npt.NDArray[np.int64]]:
    """Row positions of every batch of an epoch. Every row stands in exactly one; the last batch may be smaller."""
    order_of = np.random.default_rng([seed, epoch])
    order = order_of.permutation(len(lengths))
    pool_size = batch_size * BATCHES_PER_POOL
    batches = []
    for start in range(0, len(order), pool_size):
        pool = order[start : start + pool_size]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        batches += [pool[first : first + batch_size] for first in range(0, len(pool), batch_size)]
    return [batches[position] for position in order_of.permutation(len(batches))]


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


def ahead(items: Iterable[Item]) -> Generator[Item, None, None]:
    """The items in their order. While one is in use, the next one is made on a thread, and none after it.

    What making an item raises is raised where that item would have come. Close the iterator where it may be left early:
    the thread then ends with the item that it is at, and is waited for.
    """
    making = iter(items)
    with ThreadPoolExecutor(1, thread_name_prefix="ahead") as thread:
        waiting = thread.submit(next, making, END)
        while (item := waiting.result()) is not END:
            waiting = thread.submit(next, making, END)
            yield item
