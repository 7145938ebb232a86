"""The numbers of one line of the report."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from limbeck.judging.answers import ModelAnswers, TeacherAnswers
from limbeck.judging.quality import LengthGroups, gain, mcnemar_tests, quality

LABELS = np.array([1, 1, 0, 0])
# The teacher is right on all rows, the student's seeds on three and on two of them.
TEACHER = ModelAnswers(labels=LABELS, logits=np.array([[[0, 2], [0, 2], [2, 0], [2, 0]]], dtype=np.float32))
STUDENT = ModelAnswers(
    labels=LABELS,
    logits=np.array([[[0, 1], [0, 1], [1, 0], [0, 1]], [[0, 1], [1, 0], [1, 0], [0, 1]]], dtype=np.float32),
)
# Rows that may have two labels: right in all of them are the first and the last.
SETS = ModelAnswers(
    labels=np.array([[1, 1], [0, 0], [0, 1]]),
    logits=np.array([[[1, 2], [3, -1], [-1, 0]]], dtype=np.float32),
)


def asked(places: list[int], answers: ModelAnswers) -> TeacherAnswers:
    """A teacher that knows the rows at these places only."""
    return TeacherAnswers(places=np.array(places, dtype=np.int64), answers=answers.at(np.array(places, dtype=np.int64)))


def numbers(answers: ModelAnswers) -> dict[str, Any]:
    """The quality of these answers; the first two rows are short, the others long."""
    groups = LengthGroups(bounds=[(1, 2), (3, 9)], of_row=np.array([0, 0, 1, 1])[: len(answers.labels)])
    return quality(answers, names=["no", "yes"], groups=groups, samples=200)


def test_accuracy_is_the_mean_over_seeds_with_its_spread() -> None:
    found = numbers(STUDENT)

    assert found["seed_count"] == 2
    assert found["accuracy"] == pytest.approx((3 / 4 + 2 / 4) / 2)
    assert found["accuracy_per_seed"] == [0.75, 0.5]
    assert found["accuracy_sd"] == pytest.approx(np.std([0.75, 0.5], ddof=1))


def test_a_teacher_that_is_silent_has_no_numbers() -> None:
    found = numbers(asked([], TEACHER).answers)

    assert found["seed_count"] == 1
    assert {key: value for key, value in found.items() if value is not None} == {"seed_count": 1}
    assert set(found) == set(numbers(TEACHER))
    assert set(numbers(asked([], SETS).answers)) == set(numbers(SETS))


def test_a_row_of_several_labels_is_right_if_all_of_them_are() -> None:
    found = numbers(SETS)

    assert SETS.predicted.tolist() == [[[1, 1], [1, 0], [0, 1]]]
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["hamming_loss"] == pytest.approx(1 / 6)
    assert found["micro_f1"] == pytest.approx(2 * 3 / (3 + 4))
    assert [row["support"] for row in found["per_class"]] == [1, 2]


def test_numbers_of_sets_stand_only_where_a_row_may_have_several_labels() -> None:
    assert set(numbers(SETS)) - set(numbers(STUDENT)) == {"micro_f1", "hamming_loss"}


def test_calibration_is_that_of_the_probabilities() -> None:
    confidence = 1 / (1 + np.exp(-2))  # of every row of the teacher, all right

    assert numbers(TEACHER)["ece"] == pytest.approx(1 - confidence, abs=1e-6)


def test_the_gain_is_the_difference_of_the_means() -> None:
    found = gain(TEACHER, baseline=STUDENT, samples=200)

    assert found is not None
    assert found["accuracy"] == pytest.approx(1 - 0.625)
    assert found["ci95"][0] <= found["accuracy"] <= found["ci95"][1]


def test_without_a_baseline_there_is_no_gain() -> None:
    assert gain(STUDENT, baseline=None, samples=200) is None


def test_accuracy_by_length_is_a_mean_over_seeds() -> None:
    found = numbers(STUDENT)["by_length"]

    assert found == [
        {"words": [1, 2], "rows": 2, "accuracy": (2 + 1) / 4},
        {"words": [3, 9], "rows": 2, "accuracy": (1 + 1) / 4},
    ]


def test_numbers_of_classes_are_means_over_seeds_and_the_confusion_is_that_of_the_seed_that_ships() -> None:
    found = numbers(replace(STUDENT, shipped_place=1))

    precisions = [(1 / 1 + 2 / 3) / 2, (1 / 2 + 1 / 2) / 2]
    assert found["macro"]["precision"] == pytest.approx(np.mean(precisions))
    assert found["macro"]["f1"] == found["macro_f1"]
    assert found["weighted"] == pytest.approx(found["macro"])  # both classes have two rows
    assert found["confusion"] == [[1, 1], [1, 1]]
    assert found["mcc"] == pytest.approx((1 / 3**0.5 + 0) / 2)
    assert found["roc_auc"] == pytest.approx((3 / 4 + 1 / 2) / 2)


def test_with_several_labels_there_is_no_confusion_and_no_correlation() -> None:
    found = numbers(SETS)

    assert (found["confusion"], found["mcc"]) == (None, None)
    assert found["roc_auc"] == pytest.approx(np.mean([1 / 2, 1]))
    assert found["macro"]["f1"] == found["macro_f1"]


def test_calibrated_numbers_go_by_the_temperature_of_each_file() -> None:
    hot = replace(STUDENT, temperatures=(0.5, 2.0), shipped_place=1)

    found = numbers(hot)

    sure, unsure = 1 / (1 + np.exp(-2.0)), 1 / (1 + np.exp(-0.5))
    assert found["ece"] == numbers(STUDENT)["ece"]
    assert found["ece_calibrated"] == pytest.approx(((sure - 0.75) + (unsure - 0.5)) / 2)
    assert found["temperature"] == 2.0
    assert found["reliability"] == [{"confidence": pytest.approx(1 / (1 + np.exp(-1))), "accuracy": 0.5, "rows": 4}]
    assert found["reliability_calibrated"] == [{"confidence": pytest.approx(unsure), "accuracy": 0.5, "rows": 4}]


def test_a_teacher_has_no_temperature_and_nothing_calibrated() -> None:
    found = numbers(TEACHER)

    assert (found["temperature"], found["ece_calibrated"], found["reliability_calibrated"]) == (None, None, None)
    assert found["reliability"][0]["rows"] == 4


def test_rows_of_one_class_alone_have_neither_correlation_nor_auc() -> None:
    found = numbers(STUDENT.at(np.array([0, 1])))

    assert (found["mcc"], found["roc_auc"]) == (None, None)
    assert found["confusion"] == [[0, 0], [0, 2]]


def test_where_no_copy_ships_nothing_is_said_about_it() -> None:
    found = numbers(replace(STUDENT, temperatures=(1.0, 1.0), shipped_place=None))

    assert (found["confusion"], found["reliability"], found["temperature"]) == (None, None, None)
    assert found["ece_calibrated"] == found["ece"]
    tests = mcnemar_tests(replace(STUDENT, shipped_place=None), baseline=STUDENT, teacher=asked([0], TEACHER))
    assert tests == {"baseline": None, "teacher": None, "rival": None}


def test_the_copy_that_ships_is_tested_against_the_baselines_and_against_the_teacher() -> None:
    baseline = replace(STUDENT, shipped_place=1)

    found = mcnemar_tests(STUDENT, baseline=baseline, teacher=asked([0, 1, 2, 3], TEACHER))

    assert found["baseline"] == {"only_this": 1, "only_other": 0, "p": 1.0, "test": "exact"}
    assert found["teacher"] == {"only_this": 0, "only_other": 1, "p": 1.0, "test": "exact"}


def test_the_test_against_the_teacher_goes_by_the_rows_it_knows() -> None:
    found = mcnemar_tests(STUDENT, baseline=None, teacher=asked([0, 1], TEACHER))

    assert found["baseline"] is None
    assert found["teacher"]["only_other"] == 0
    assert mcnemar_tests(STUDENT, baseline=None, teacher=asked([], TEACHER))["teacher"] is None
