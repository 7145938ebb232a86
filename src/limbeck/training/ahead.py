"""Making the next thing on another thread while the present one is in use."""

from collections.abc import Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

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
