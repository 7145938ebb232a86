"""Terms on labels and logits: each the formula it names, with the settings of the recipe."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from limbeck.distillation.losses.logits import (
    dist,
    dkd,
    hard_labels,
    jensen_shannon,
    logit_mse,
    soft_targets,
    standardised_logits,
)
from limbeck.distillation.losses.temperatures import cwsm_temperatures, flsw_temperatures
from limbeck.distillation.objective import term_of
from limbeck.distillation.terms.term import Batch, Shapes
from limbeck.recipe.losses import Dist, Dkd, HardLabels, JensenShannon, LogitMse, SoftTargets, StandardisedLogits

Formula = Callable[[Tensor, Tensor, Tensor], Tensor]


@pytest.mark.parametrize(
    ("loss", "formula"),
    [
        (LogitMse(kind="logit_mse"), lambda student, teacher, _labels: logit_mse(student, teacher)),
        (
            HardLabels(kind="hard_labels", smoothing=0.3),
            lambda student, _teacher, labels: hard_labels(student, labels, smoothing=0.3),
        ),
        (
            SoftTargets(kind="soft_targets", temperature=3.0),
            lambda student, teacher, _labels: soft_targets(student, teacher, temperature=3.0),
        ),
        (
            SoftTargets(kind="soft_targets", temperature=3.0, row_temperatures="flsw", spread=2.0, power=0.5),
            lambda student, teacher, _labels: soft_targets(
                student,
                teacher,
                temperature=flsw_temperatures(student, teacher, temperature=3.0, spread=2.0, power=0.5),
            ),
        ),
        (
            SoftTargets(kind="soft_targets", temperature=3.0, row_temperatures="cwsm", spread=2.0),
            lambda student, teacher, _labels: soft_targets(
                student, teacher, temperature=cwsm_temperatures(student, temperature=3.0, spread=2.0)
            ),
        ),
        (
            JensenShannon(kind="jensen_shannon", temperature=3.0),
            lambda student, teacher, _labels: jensen_shannon(student, teacher, temperature=3.0),
        ),
        (
            StandardisedLogits(kind="standardised_logits", temperature=3.0),
            lambda student, teacher, _labels: standardised_logits(student, teacher, temperature=3.0),
        ),
        (
            Dkd(kind="dkd", temperature=3.0, target_weight=0.5, other_weight=2.0),
            lambda student, teacher, labels: dkd(
                student, teacher, labels, temperature=3.0, target_weight=0.5, other_weight=2.0
            ),
        ),
        (
            Dist(kind="dist", temperature=3.0, between_classes=0.5, within_classes=2.0),
            lambda student, teacher, _labels: dist(
                student, teacher, temperature=3.0, between_classes=0.5, within_classes=2.0
            ),
        ),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_it_is_its_formula_with_the_settings_of_the_recipe(
    loss: Any, formula: Formula, make_batch: Callable[..., Batch]
) -> None:
    batch = make_batch(Shapes())

    found = term_of(loss, Shapes())(batch)

    expected = formula(batch.student.logits, batch.teacher.logits, batch.labels)
    torch.testing.assert_close(found, expected)
    assert not list(term_of(loss, Shapes()).parameters())
