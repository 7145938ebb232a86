"""Rows to label next: uncertain, spread over clusters, and different from each other."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.rows import Rows
from limbeck.progress import SilentReporter
from limbeck.review.next_rows import clusters_of, different, spread, uncertainty


def test_two_classes_that_are_equally_probable_are_most_uncertain() -> None:
    found = uncertainty(np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.6, 0.3, 0.1]]), multi_label=False)

    assert found == pytest.approx([1.0, 0.0, 0.7])


def test_of_several_labels_the_least_sure_decision_counts() -> None:
    assert uncertainty(np.array([[0.99, 0.6], [0.01, 0.99]]), multi_label=True) == pytest.approx([0.8, 0.02])


def test_every_cluster_has_a_row_before_any_has_two() -> None:
    doubt, clusters = np.array([0.9, 0.8, 0.7, 0.1]), np.array([0, 0, 1, 2])

    assert spread(doubt, clusters, count=3).tolist() == [0, 2, 3]
    assert spread(doubt, clusters, count=4).tolist() == [0, 1, 2, 3]


def test_vectors_that_point_the_same_way_are_one_cluster() -> None:
    dice = np.random.default_rng(0)
    vectors = np.repeat(np.eye(3), 10, axis=0) + dice.normal(0, 0.01, (30, 3))

    found = clusters_of(vectors, count=3)

    assert [len(set(found[start : start + 10].tolist())) for start in (0, 10, 20)] == [1, 1, 1]
    assert len(set(found.tolist())) == 3


def test_near_duplicates_of_the_corpus_and_of_each_other_are_left_out(tmp_path: Path) -> None:
    train = Rows.of(
        ids=["train-0"], texts=["a long sentence about the weather of last week in the old town"], labels=[0]
    )
    corpus = cast(Corpus, SimpleNamespace(language="en", splits={"train": train}, folder=tmp_path))
    texts = [
        "A long sentence about the weather of last week, in the old town!",
        "nothing like it was ever seen before on any stage of this city",
        "nothing like it was ever seen before, on any stage of this city",
        "short one",
    ]
    pool: Any = Rows.of(ids=list("abcd"), texts=texts)

    with SilentReporter().bar("", total=5, unit="") as bar:
        found = different(pool, corpus, bar=bar)

    assert found.tolist() == [False, True, False, True]
