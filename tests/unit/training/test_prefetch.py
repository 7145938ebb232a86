"""Making the next item on another thread."""

import threading
from collections.abc import Iterator

import pytest

from limbeck.training.batches import prefetched

PATIENCE = 30.0  # seconds, only ever waited where the code is wrong


def threads_of_ours() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("prefetch")]


def test_items_come_in_their_order_and_no_thread_stays() -> None:
    assert list(prefetched(range(5))) == [0, 1, 2, 3, 4]
    assert list(prefetched([])) == []
    assert threads_of_ours() == []


def test_the_next_item_is_made_elsewhere_while_the_present_one_is_in_use() -> None:
    is_made = threading.Event()
    makers = []

    def making() -> Iterator[str]:
        yield "first"
        makers.append(threading.current_thread())
        is_made.set()
        yield "second"

    items = prefetched(making())
    assert next(items) == "first"

    assert is_made.wait(PATIENCE)
    assert next(items) == "second"
    assert makers[0] is not threading.main_thread()
    items.close()


def test_no_more_than_one_item_waits() -> None:
    made = []

    def making() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            yield number

    items = prefetched(making())
    taken = [next(items), next(items)]
    items.close()

    assert taken == [0, 1]
    assert made in ([0, 1], [0, 1, 2])


def test_what_goes_wrong_is_raised_where_the_item_would_have_come() -> None:
    def making() -> Iterator[int]:
        yield 1
        raise LookupError("no more of these")

    items = prefetched(making())

    assert next(items) == 1
    with pytest.raises(LookupError, match="no more of these"):
        next(items)
    assert threads_of_ours() == []


def test_an_interrupted_reader_leaves_no_thread() -> None:
    def read() -> None:
        items = prefetched(range(100))
        try:
            for _ in items:
                raise KeyboardInterrupt
        finally:
            items.close()

    with pytest.raises(KeyboardInterrupt):
        read()

    assert threads_of_ours() == []
