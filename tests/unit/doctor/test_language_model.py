"""Classes that a language model never answers, and answers that depend on their position."""

from collections.abc import Callable
from typing import Any

import numpy as np

from limbeck.doctor.language_model import LanguageModelAnswers, answers_of_model

Make = Callable[..., Any]
TEACHER = {"teacher": {"kind": "endpoint", "url": "http://localhost", "model": "m"}}


class OfNames:
    """A corpus of which only the classes are looked at."""

    labels = ("cheap", "dear", "free")
    scale = None


def found(make_known: Make, classes: list[int], positions: list[int] | None, labelled: list[int]) -> list[str]:
    places = None if positions is None else np.array(positions)
    answers = LanguageModelAnswers("m", np.array(classes), places, np.array(labelled))
    known = make_known(TEACHER, corpus=OfNames(), model_answers=answers)
    return [finding.what for finding in answers_of_model(known)]


def test_a_class_is_missed_only_where_there_should_be_answers(make_known: Make) -> None:
    even = [100, 100, 100]

    assert found(make_known, [200, 100, 0], even, [0, 0, 0]) == ["m never uses 1 of the classes"]
    assert found(make_known, [200, 100, 0], even, [50, 40, 10]) == ["m never uses 1 of the classes"]
    assert found(make_known, [200, 100, 0], even, [50, 49, 1]) == []  # three would be expected
    assert found(make_known, [60, 30, 0], None, [0, 0, 0]) == []  # too few answers


def test_a_preferred_position_is_found_and_noise_is_not(make_known: Make) -> None:
    even = [100, 100, 100]

    assert found(make_known, even, [180, 60, 60], even) == ["m answers by the position of a class"]
    assert found(make_known, even, [112, 96, 92], even) == []
    assert found(make_known, [40_000] * 3, [42_000, 39_000, 39_000], even) == []  # certain, and small
    assert found(make_known, even, None, even) == []


def test_other_teachers_are_not_concerned(make_known: Make) -> None:
    assert answers_of_model(make_known(corpus=OfNames())) == []
