"""Rows that are labelled as belonging to no class."""

from typing import TYPE_CHECKING

import pytest

from limbeck.corpus.source import OutOfScopeUnknown
from limbeck.errors import TooFewRows

if TYPE_CHECKING:
    from tests.unit.conftest import ReadCorpus, RememberingReporter

TRAIN = [(f"text number {number}", "good" if number % 2 else "bad") for number in range(40)]
OUTSIDE = [(f"other {number}", "oos") for number in range(6)]


def test_they_are_in_no_split_and_no_class(read_rows: "ReadCorpus", reporter: "RememberingReporter") -> None:
    corpus = read_rows(
        train=[*TRAIN, *OUTSIDE[:2]], dev=[*TRAIN[:4], OUTSIDE[2]], test=[OUTSIDE[3], *TRAIN[:6]], out_of_scope="oos"
    )

    assert corpus.labels == ["bad", "good"]
    assert {split: len(rows) for split, rows in corpus.splits.items()} == {"train": 40, "dev": 4, "test": 6}
    assert corpus.foreign["dev"].texts == ["other 0", "other 1", "other 2"]
    assert corpus.foreign["test"].texts == ["other 3"]
    assert not corpus.foreign["dev"].is_labelled.any()
    assert corpus.facts["unknown_in_test"] == {}
    assert corpus.facts["out_of_scope"] == {"label": "oos", "rows": {"dev": 3, "test": 1}}
    assert any("4 rows are out of scope (oos): 3 to fit a threshold, 1 to judge it" in one for one in reporter.notes)


def test_without_any_in_test_every_second_one_is_judged(read_rows: "ReadCorpus") -> None:
    corpus = read_rows(train=[*TRAIN, *OUTSIDE], out_of_scope="oos")

    assert corpus.foreign["dev"].texts == ["other 0", "other 2", "other 4"]
    assert corpus.foreign["test"].texts == ["other 1", "other 3", "other 5"]


def test_they_change_nothing_that_is_trained(read_rows: "ReadCorpus") -> None:
    files = {"dev": TRAIN[:4], "test": TRAIN[4:8]}

    plain = read_rows(train=TRAIN, **files)
    before, without = (plain.training_fingerprint, plain.fingerprint), plain.foreign
    kept = read_rows(train=[*TRAIN, *OUTSIDE], out_of_scope="oos", **files)

    assert kept.training_fingerprint == before[0]
    assert kept.fingerprint != before[1]
    assert (without, len(kept.foreign)) == ({}, 2)


def test_a_label_that_no_row_has_is_refused(read_rows: "ReadCorpus") -> None:
    with pytest.raises(OutOfScopeUnknown, match=r"'goof'.*good"):
        read_rows(train=TRAIN, out_of_scope="goof")


def test_a_split_needs_other_rows(read_rows: "ReadCorpus") -> None:
    with pytest.raises(TooFewRows, match="dev without the rows labelled 'oos'"):
        read_rows(train=TRAIN, dev=OUTSIDE, out_of_scope="oos")
