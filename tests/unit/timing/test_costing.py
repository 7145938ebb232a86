"""The texts that are timed."""

from limbeck.artifacts.rows import Rows
from limbeck.timing.costing import timed_rows


def test_timed_rows_are_all_rows_in_an_order_of_their_own() -> None:
    rows = Rows.of(ids=[str(n) for n in range(50)], texts=[str(n) for n in range(50)])

    order = timed_rows(rows)

    assert order != rows.texts
    assert sorted(map(str, order)) == sorted(rows.texts)
    assert order == timed_rows(rows)
