"""Teachers with classes in another order, teachers that guess, and teachers that change their minds are found."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from limbeck.artifacts.rows import Rows
from limbeck.doctor.known import Asked, AskedTwice
from limbeck.doctor.teacher import confusion, label_order, near_chance, steady, swapped

Make = Callable[..., Any]
Corpus = Any
NAMES = ["bad", "fine", "good"]


class OfNames:
    """A corpus of which only the classes are looked at."""

    labels = NAMES


def asked(labels: Sequence[int], said: Sequence[int], *, sure: float = 3.0) -> list[Asked]:
    """A teacher that gives each dev row this class."""
    ids = [f"dev-{number}" for number in range(len(labels))]
    logits = np.full((len(labels), len(NAMES)), -sure, dtype=np.float32)
    logits[np.arange(len(labels)), said] = sure
    return [Asked("tiny", "encoder", Rows.of(ids=ids, texts=ids, labels=list(labels)), logits)]


def test_confusion_is_counted_by_true_and_given_class() -> None:
    counts = confusion(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 0]), classes=3)

    assert counts.tolist() == [[1, 1, 0], [0, 1, 0], [1, 0, 0]]


@pytest.mark.parametrize(
    ("counts", "rings"),
    [
        ([[9, 1], [1, 9]], []),
        ([[1, 9], [8, 2]], [[0, 1]]),
        ([[5, 5], [5, 5]], []),  # guessing is no order
        ([[0, 9, 1], [0, 1, 9], [8, 1, 1]], [[0, 1, 2]]),
        ([[9, 0, 0], [0, 1, 9], [1, 9, 0]], [[1, 2]]),
        ([[0, 10], [0, 100]], []),  # one class is taken for the other, and not the other for it
        ([[0, 2], [2, 0]], []),  # too few rows to tell
    ],
)
def test_classes_that_replace_each_other_form_a_ring(counts: list[list[int]], rings: list[list[int]]) -> None:
    assert swapped(np.array(counts)) == rings


def test_swapped_classes_are_an_error_that_says_which(make_known: Make) -> None:
    labels = [0] * 10 + [1] * 10 + [2] * 10
    said = [2] * 9 + [0] + [1] * 10 + [0] * 8 + [2] * 2
    known = make_known(corpus=OfNames(), asked=asked(labels, said))

    (finding,) = label_order(known)

    assert finding.level == "error"
    assert finding.what == "the teacher tiny has bad, good in another order"
    assert finding.evidence == (
        "90% of the 10 dev rows of 'bad' get 'good', 80% of the 10 dev rows of 'good' get 'bad'"
    )
    assert near_chance(known) == []  # it is shown once


def test_a_teacher_that_always_says_the_same_is_near_chance(make_known: Make) -> None:
    known = make_known(corpus=OfNames(), asked=asked([0] * 20 + [1] * 5 + [2] * 5, [0] * 30))

    (finding,) = near_chance(known)

    assert label_order(known) == []
    assert finding.level == "error"
    assert finding.evidence.startswith("Cohen's kappa 0.00 on 30 dev rows")
    assert "never fine-tuned" in finding.evidence


def test_a_good_teacher_gives_no_findings(make_known: Make) -> None:
    labels = [0, 1, 2] * 10
    known = make_known(corpus=OfNames(), asked=asked(labels, [*labels[:-2], 0, 0]))

    assert [*label_order(known), *near_chance(known)] == []


def test_sets_of_labels_are_judged_by_skill_alone(make_known: Make) -> None:
    marks = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
    rows = Rows.of(ids=list("abcd"), texts=list("abcd"), labels=marks)
    good, bad = (
        Asked("tiny", "file", rows, np.float32(sign) * (2.0 * marks - 1).astype(np.float32)) for sign in (1, -1)
    )

    assert near_chance(make_known(corpus=OfNames(), asked=[good])) == []
    assert label_order(make_known(corpus=OfNames(), asked=[bad])) == []
    assert [finding.level for finding in near_chance(make_known(corpus=OfNames(), asked=[bad]))] == ["error"]


@pytest.mark.parametrize(
    ("between", "from_kept", "what"),
    [
        (0.0, 0.0, []),
        (0.0009, 0.0009, []),
        (0.0, None, []),
        (0.2, 0.3, ["the teacher tiny gives different answers each time it is asked"]),
        (0.0, 0.3, ["the stored labels differ from the answers of the teacher tiny"]),
    ],
)
def test_answers_that_change_are_an_error(
    make_known: Make, between: float, from_kept: float | None, what: list[str]
) -> None:
    twice = AskedTwice("tiny", rows=32, between=between, from_kept=from_kept, tolerance=1e-3)

    findings = steady(make_known(asked_twice=[twice]))

    assert [finding.what for finding in findings] == what
    assert all(finding.level == "error" for finding in findings)
