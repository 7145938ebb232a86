"""Linear classifiers of weighted tokens."""

import numpy as np
import pytest
import torch

from limbeck.distillation.linear_fit import FittedClassifier, fit_classifier, scaled_on, weighted_rows
from limbeck.training.skill import judged

IDS = [[3, 4], [3], [5], [5, 4], [6], [6, 4]] * 5
LABELS = np.array([0, 0, 1, 1, 2, 2] * 5)
WEIGHTS = np.zeros(8, dtype=np.float32)


def test_rows_have_the_length_1() -> None:
    weights = np.log(np.array([1, 1, 1, 3, 4, 1], dtype=np.float32))

    rows = weighted_rows([[3, 4], [5]], weights).toarray()

    assert rows.tolist() == [pytest.approx([0, 0, 0, 0.6, 0.8, 0]), pytest.approx([0, 0, 0, 0, 0, 1])]


def test_classes_that_tokens_tell_apart_are_told_apart() -> None:
    features = weighted_rows(IDS, WEIGHTS)

    fit = fit_classifier(features, LABELS, classes=4)

    assert fit.logits(features).argmax(axis=1).tolist() == LABELS.tolist()
    assert fit.bias[3] == -1.0  # no row has the fourth class


def test_two_classes_mirror_each_other() -> None:
    features = weighted_rows(IDS, WEIGHTS)

    fit = fit_classifier(features, LABELS % 2, classes=2)

    np.testing.assert_array_equal(fit.weight[:, 0], -fit.weight[:, 1])
    assert (fit.logits(features).argmax(axis=1) == LABELS % 2).all()


def test_rows_may_have_several_labels() -> None:
    features = weighted_rows(IDS, WEIGHTS)
    several = np.stack([LABELS == 0, LABELS > 0, LABELS >= 0], axis=1).astype(np.int64)

    fit = fit_classifier(features, several, classes=3, class_weights=[1.0, 2.0, 3.0])

    assert ((fit.logits(features) >= 0) == several).all()


def test_a_heavy_class_is_chosen_in_doubt() -> None:
    doubtful, labels = weighted_rows([[3]] * 10, WEIGHTS), np.array([0] * 6 + [1] * 4)

    plain = fit_classifier(doubtful, labels, classes=2)
    weighted = fit_classifier(doubtful, labels, classes=2, class_weights=[1.0, 5.0])

    assert (plain.logits(doubtful).argmax(axis=1) == 0).all()
    assert (weighted.logits(doubtful).argmax(axis=1) == 1).all()


def test_the_scale_suits_the_rows_that_it_is_chosen_on() -> None:
    """Three rows of four are right, so that a logit of ± ln(3) / 2 is best."""
    fit = FittedClassifier(np.array([[0.0, 0.0]] * 3 + [[-1.0, 1.0]], np.float32), np.zeros(2, np.float32))
    rows, labels = weighted_rows([[3]] * 4, WEIGHTS[:4]), np.array([1, 1, 1, 0])

    scaled = scaled_on(rows, labels, fit)

    assert scaled.weight[3].tolist() == pytest.approx([-np.log(3) / 2, np.log(3) / 2], rel=1e-2)
    assert judged(scaled.logits(rows), labels)["dev_loss"] < judged(fit.logits(rows), labels)["dev_loss"]


def test_fewer_numbers_than_classes_approximate_the_weights() -> None:
    fit = fit_classifier(weighted_rows(IDS, WEIGHTS), LABELS, classes=3)

    full, narrow = fit.of_width(7), fit.of_width(2)

    assert full["vectors"].shape == (8, 3)
    assert narrow["vectors"].shape == (8, 2)
    np.testing.assert_array_equal(full["classifier"], np.concatenate([np.eye(3), fit.bias[:, None]], axis=1))
    _, values, _ = torch.linalg.svd(torch.from_numpy(fit.weight).double())
    error = np.square(narrow["vectors"] @ narrow["classifier"][:, :2].T - fit.weight).sum()
    assert error == pytest.approx(float(values[2]) ** 2, rel=1e-3)
