"""Cutting splits off train, and choosing a part of it."""

from collections import Counter

import pytest

from limbeck.corpus.labelled import LabelledRows, labelled_rows
from limbeck.corpus.splits import choose_rows, cut_off
from limbeck.errors import TooFewRows


def rows(**counts: int) -> LabelledRows:
    """So many rows of each label, every text its own."""
    values = [(f"{label} {number}", label) for label, count in counts.items() for number in range(count)]
    return labelled_rows(values, split="train", is_pair=False)


def labels_at(source: LabelledRows, positions: list[int]) -> Counter[str]:
    return Counter(source.labels[at] for at in positions)


def test_every_class_is_cut_in_proportion() -> None:
    source = rows(a=60, b=30, c=10)

    stays, cut = cut_off(source, count=10, seed=0, name="dev")

    assert labels_at(source, cut) == {"a": 6, "b": 3, "c": 1}
    assert sorted(stays + cut) == list(range(100))


def test_the_same_rows_are_cut_whatever_order_they_come_in() -> None:
    source = rows(a=30, b=30)
    turned = source.select(reversed(range(60)))

    _, cut = cut_off(source, count=12, seed=3, name="dev")
    _, cut_turned = cut_off(turned, count=12, seed=3, name="dev")

    assert {source.ids[at] for at in cut} == {turned.ids[at] for at in cut_turned}


def test_the_cut_is_the_same_on_every_machine() -> None:
    """Worked out with `b2sum -l 128`: if these change, everybody's dev split changes."""
    _, cut = cut_off(rows(a=20), count=4, seed=0, name="dev")

    assert cut == [1, 6, 11, 12]


def test_another_seed_cuts_other_rows() -> None:
    source = rows(a=100)

    assert cut_off(source, count=10, seed=0, name="dev") != cut_off(source, count=10, seed=1, name="dev")


def test_the_last_row_of_a_class_stays_in_train() -> None:
    source = rows(a=3, b=1)

    stays, cut = cut_off(source, count=2, seed=0, name="dev")

    assert labels_at(source, stays)["b"] == 1
    assert labels_at(source, cut) == {"a": 2}


def test_rows_with_the_same_text_go_to_the_same_side() -> None:
    values = [(text, "ab"[number % 2]) for number in range(50) for text in (f"Text {number}", f"text{number}")]
    source = labelled_rows(values, split="train", is_pair=False)

    stays, cut = cut_off(source, count=20, seed=0, name="dev")

    assert len(cut) == 20
    assert not {source.folded_keys[at] for at in cut} & {source.folded_keys[at] for at in stays}


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(TooFewRows, match="at least 4 are needed"):
        cut_off(rows(a=1, b=1, c=1), count=1, seed=0, name="dev")


def test_rows_that_are_all_the_same_text_cannot_be_cut() -> None:
    source = labelled_rows([("same", "a")] * 5 + [("same", "b")] * 5, split="train", is_pair=False)

    with pytest.raises(TooFewRows, match="equal texts"):
        cut_off(source, count=1, seed=0, name="dev")


def test_chosen_rows_keep_the_proportions_and_the_order_of_the_file() -> None:
    source = rows(a=90, b=10)

    chosen = choose_rows(source, count=20, seed=0)

    assert labels_at(source, chosen) == {"a": 18, "b": 2}
    assert chosen == sorted(chosen)


def test_a_rare_class_keeps_a_row() -> None:
    source = rows(a=1000, b=1)

    assert labels_at(source, choose_rows(source, count=10, seed=0)) == {"a": 9, "b": 1}


def test_more_rows_are_chosen_by_adding_to_the_fewer() -> None:
    source = rows(a=50, b=50)

    assert set(choose_rows(source, count=10, seed=0)) < set(choose_rows(source, count=20, seed=0))


def test_fewer_rows_than_classes_are_refused() -> None:
    with pytest.raises(TooFewRows):
        choose_rows(rows(a=5, b=5, c=5), count=2, seed=0)
