"""Rows of dev and test that appear in train."""

from limbeck.corpus.findings import find_overlap, find_repeats
from limbeck.corpus.labelled import LabelledRows, labelled_rows


def single(*texts: str, labels: str = "") -> LabelledRows:
    return labelled_rows(zip(texts, labels or "x" * len(texts), strict=True), split="train", is_pair=False)


def test_texts_that_differ_in_case_width_or_spacing_are_found_and_verbatim_ones_counted_separately() -> None:
    train = single("A fine film", "其他", "nothing like it")
    dev = single("a  fine FILM", "Ａ fine film", "A fine film", "new")

    found = find_overlap(train, {"dev": dev}).splits["dev"]

    assert (found.rows, found.found, found.verbatim) == (4, 3, 1)


def test_the_positions_of_all_overlapping_training_rows_are_given() -> None:
    train = single("one", "two", "ONE", "three")

    overlap = find_overlap(train, {"dev": single("one"), "test": single("three", "four")})

    assert overlap.train_positions == [0, 2, 3]
    assert overlap.splits["test"].found == 1


def test_a_pair_is_the_same_only_if_both_texts_are() -> None:
    train = labelled_rows([("a b", "c", "x")], split="train", is_pair=True)
    dev = labelled_rows([("ab", "C", "x"), ("a", "bc", "x"), ("c", "a b", "x")], split="dev", is_pair=True)

    assert find_overlap(train, {"dev": dev}).splits["dev"].found == 1


def test_repeated_and_contradicting_texts_are_counted() -> None:
    train = single("one", "One", "two", "two", "two", "three", labels="xyxxxx")

    repeats = find_repeats(train)

    assert (repeats.duplicates, repeats.conflicts) == (3, 1)


def test_sets_of_labels_contradict_each_other_unless_they_are_the_same() -> None:
    values = [
        ("one", ("a", "b")),
        ("One", ("a", "b")),
        ("two", ("a",)),
        ("two", ("a", "b")),
        ("three", ()),
        ("three", ()),
    ]

    repeats = find_repeats(labelled_rows(values, split="train", is_pair=False))

    assert (repeats.duplicates, repeats.conflicts) == (3, 1)
